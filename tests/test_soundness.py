"""What was once answered wrongly, and what must never be: verdicts attacked where nobody would look first."""

from pathlib import Path

import msgspec
import pytest
import torch
from laws import generic, inputs, tensors
from test_cli import limen

from limen.api import audit
from limen.check.bound import check_bound
from limen.check.composition import levels_of
from limen.check.fits import check_fits, fits
from limen.check.formal import formal
from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.certificate import Bound, Fits, encode
from limen.core.construction import construct
from limen.core.errors import BadInput
from limen.core.mixer import Mixer, Streaming
from limen.core.proof import Claim
from limen.core.task import Task
from limen.core.verdict import Answer, Verdict
from limen.decide import decide, theorems
from limen.design.cost import cost
from limen.mixers.gated_delta import GatedDelta


def verdict(task: str, architecture: str, steps: int = 0) -> Verdict:
    return decide(Task.parse(task), Architecture.parse(architecture), steps)


NEGATIVE = "steps of chain of thought must be at least 0, got -"


def test_negative_steps_are_refused_by_every_theorem() -> None:
    """Below 0 every count of bits would be 0: any stack would be ruled out."""
    task, stack = Task.parse("composition(m=64,n1=16)"), Architecture.parse("3*softmax(h=1,d=64)")
    for name, theorem in theorems():
        for said in (theorem.bound, theorem.ceiling):
            if name == "composition_depth" or said == theorem.bound:
                with pytest.raises(BadInput, match=NEGATIVE):
                    said(task, stack, -1)
    with pytest.raises(BadInput, match=NEGATIVE):
        levels_of(stack, 100, 2, -5)


def test_a_certificate_with_negative_steps_is_refused() -> None:
    """The stack does the task (its weights are known), and -9 steps would say that it cannot."""
    task, stack = "composition(m=64,n1=16)", "3*softmax(h=1,d=64)"
    way = verdict(task, stack).evidence
    assert way is not None and isinstance(way.certificate, Fits)
    forged = Bound(task=task, architecture=stack, theorem="composition_depth", steps=-9, route="C")
    for sizes in ({"mu0": 0, "x0": 1, "v": 1, "hops": 1}, {"hops": 2, "mu0": 0, "y": 1, "h": 1, "b": 1}):
        with pytest.raises(BadInput, match=NEGATIVE):
            check_bound(msgspec.structs.replace(forged, sizes=sizes, needs_bits=6, has_bits=0))
    construction = construct(Task.parse(task), way.certificate.construction)
    with pytest.raises(BadInput, match=NEGATIVE):
        check_fits(msgspec.structs.replace(way.certificate, steps=-1), construction)
    with pytest.raises(BadInput, match=NEGATIVE):
        fits(construction, Architecture.parse(stack), -1)
    claim = Claim(task=task, architecture="softmax(h=1,d=64)", steps=-1, form="chk_sound",
                  sizes={"k": 0, "x1": 1, "lm": 6, "lg": 10})  # fmt: skip
    with pytest.raises(BadInput, match=NEGATIVE):
        formal(claim)


def test_negative_steps_are_bad_input_on_the_command_line(tmp_path: Path) -> None:
    forged = Bound(task="eva(n=8)", architecture="linear(h=1,d=16,p=16)", theorem="streaming_state", steps=-1,
                   needs_bits=24, has_bits=0)  # fmt: skip
    path = tmp_path / "forged.json"
    path.write_bytes(encode(forged))
    for command in (("check", str(path)), ("decide", "eva(n=8)", "linear", "--steps", "-1"),
                    ("depth", "softmax", "--steps", "-1")):  # fmt: skip
        result = limen(*command)
        assert result.returncode == 2 and result.stdout == "", command


def test_the_sentence_of_a_bound_names_its_steps_and_its_free_sizes(tmp_path: Path) -> None:
    path = tmp_path / "bound.json"
    case = ("composition(m=4096,n1=64)", "softmax(reply_bits=19)", "--steps", "1")
    shown = limen("decide", *case, "--save", str(path)).stdout
    assert shown.startswith("CANNOT") and "with 1 step of chain of thought" in shown
    assert "inequality W at mu0 = 0, mu1 = 1, y = " in shown
    checked = limen("check", str(path)).stdout
    assert "with 1 step of chain of thought" in checked
    assert "inequality W at mu0 = 0, mu1 = 1, y = " in checked


@pytest.mark.parametrize("mixer", ["conv_softmax", "block_sparse", "top_k"])
def test_reply_bits_are_refused_where_more_than_replies_is_told(mixer: str) -> None:
    """`conv_softmax(reply_bits=R)` lost its convolution: a hop, and the state at each border."""
    said = "tells later tokens more than its replies: give its sizes h, d, "
    with pytest.raises(BadInput, match=f"{mixer} {said}"):
        Architecture.parse(f"{mixer}(reply_bits=23)")
    bits_of_coq = {"k": 0, "x1": 1, "lm": 6, "lg": 10}
    claim = Claim(task="composition(m=64,n1=16)", architecture=f"{mixer}(reply_bits=23)", steps=0,
                  form="chk_sound", sizes=bits_of_coq)  # fmt: skip
    with pytest.raises(BadInput, match=said):
        formal(claim)
    forged = Bound(task="eva(n=8)", architecture=f"{mixer}(reply_bits=3)", theorem="composition_depth")
    with pytest.raises(BadInput, match=said):
        check_bound(forged)
    assert Architecture.parse("softmax(reply_bits=23),hard(reply_bits=23)").layers[1].parts[0].bits == 23


GATED = "gated_delta delta gated_linear mamba mamba2 lstm relu_rnn log_linear top_k conv_softmax block_sparse"


@pytest.mark.parametrize("mixer", GATED.split())
def test_keys_of_another_layer_are_refused_where_more_than_keys_and_values_is_read(mixer: str) -> None:
    with pytest.raises(BadInput, match=f"{mixer} cannot read the keys and values of layer 0"):
        Architecture.parse(f"softmax,{mixer}(kv=0)")


def test_a_gate_that_reads_its_own_layer_is_no_false_cannot() -> None:
    """Its gate brings i_1 to the last token: the rule written out solves what was called impossible."""
    full, task = "softmax(reply_bits=23)", "composition(m=600,n1=4000)"
    with pytest.raises(BadInput, match="gated_delta cannot read the keys"):
        verdict(task, f"{full},gated_delta(h=1,d=1,p=32,kv=0),{full}")
    assert verdict(task, f"{full},gated_delta(h=1,d=1,p=32),{full}").answer is Answer.OPEN
    assert verdict(task, f"{full},linear(h=1,d=1,p=32,kv=0),{full}").answer is Answer.CANNOT  # of raw tokens


def test_a_mixer_that_takes_other_keys_and_values_keeps_nothing_else() -> None:
    """Two texts with the same keys and values leave the same state; with a gate they do not."""
    mixers = [m for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples()]
    for mixer in [*(m for m in mixers if m.reads_kv_alone and not m.sees_future), GatedDelta()]:
        assert isinstance(mixer, Streaming)
        w, x = generic(mixer), inputs(9)
        for name in "KV":  # they do not see the last coordinate, everything else does
            w[name][-1] = 0
        other = torch.cat([x[:, :-1], inputs(9, seed=5)[:, -1:]], -1)
        states = zip(last_state(mixer, w, x), last_state(mixer, w, other), strict=True)
        assert all(torch.equal(one, two) for one, two in states) is mixer.reads_kv_alone, mixer


def last_state(mixer: Streaming, w: dict[str, torch.Tensor], x: torch.Tensor) -> list[torch.Tensor]:
    state = mixer.start(w, ())
    for x_t in x:
        state, _ = mixer.step(w, state, x_t)
    return list(tensors(state))


GROUPED = ["softmax(h=8,d=4,d_k=3,kv_heads={})", "window(h=8,d=4,d_k=3,W=99,kv_heads={})"]


@pytest.mark.parametrize("text", GROUPED)
@pytest.mark.parametrize("sets", [1, 2, 4])
def test_grouped_heads_are_those_of_torch(text: str, sets: int) -> None:
    """Against torch's own grouped attention, with the same weights."""
    mixer = Architecture.parse(text.format(sets)).layers[0].parts[0].mixer
    w, x = generic(mixer), inputs(2, 11)
    q, k, v = (
        (x @ w[name]).unflatten(-1, (h, -1)).transpose(1, 2)
        for name, h in zip("QKV", (8, sets, sets), strict=True)
    )
    y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0, enable_gqa=True)
    theirs = y.transpose(1, 2).flatten(-2) @ w["O"]
    for run in (mixer.mix, mixer.fast):
        torch.testing.assert_close(run(w, x), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("task", "stack", "heads"),
    [
        ("two_sum_any(n=4,M=8)", "softmax(h=8,d=64,p=32{}),softmax(h=8,d=64,p=32{})", 4),
        ("three_sum(n=4,M=8)", "softmax(h=8,d=64,p=32{})", 2),  # two parts, side by side in one layer
    ],
)
def test_a_construction_takes_as_many_sets_of_keys_and_values_as_it_has_heads(
    task: str, stack: str, heads: int
) -> None:
    """8 heads that share one set are one head to weights that look for different things."""
    for sets in (None, 8, 4, 2, 1):
        said = "" if sets is None else f",kv_heads={sets}"
        can = sets is None or sets >= heads
        found = verdict(task, stack.format(said, said), 8)
        assert found.answer is (Answer.CAN if can else Answer.OPEN), sets


def test_an_audit_says_how_many_sets_of_keys_and_values_a_layer_has() -> None:
    config = {"model_type": "qwen3", "num_hidden_layers": 2, "hidden_size": 1024, "num_attention_heads": 16,
              "num_key_value_heads": 8, "head_dim": 128}  # fmt: skip
    assert str(audit(config).stack.architecture) == "2*softmax(h=16,d=128,kv_heads=8,p=32)"
    sliding = config | {"use_sliding_window": True, "sliding_window": 64, "max_window_layers": 1}
    last = audit(sliding).stack.architecture.layers[1].parts[0]
    assert str(last) == "window(h=16,d=128,kv_heads=8,W=64,p=16)"
    assert last.state_bits(10**6) == 63 * 8 * 256 * 16  # of 8 sets, not of 16 heads
    assert cost(audit(config).stack.architecture, 1024, 1000).cache_bits == 2 * 1000 * 8 * 256 * 32
