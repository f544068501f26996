"""A model: an architecture with weights, run whole, token by token, saved and loaded."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from limen.core.architecture import Architecture
from limen.core.catalogue import ids, lookup
from limen.core.mixer import Mixer
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.model.arithmetic import computing_in
from limen.model.attention import attention
from limen.model.embedding import Code, Codes, Segment, Table
from limen.model.files import load, save
from limen.model.local import Mlp, Pointwise
from limen.model.model import Frame, Model, Place, at_once
from limen.model.predictor import answers_of, predictor
from limen.model.readout import Binary
from limen.tasks.eva import Eva
from limen.tasks.recall import Recall

HYBRIDS = [
    "softmax(h=2,d=3)",
    "2*linear(h=2,d=3),softmax(h=1,d=4)",
    "softmax(h=1,d=4)|delta(h=2,d=3),window(h=1,d=4,W=3)",
    "gated_delta(h=1,d=4,c=4)|mamba2(h=2,d=3,s=4),block_sparse(h=1,d=4,B=2,k=1),lstm(d=5)",
]
MIXERS = [str(m) for name in ids("mixers") for m in lookup("mixers", name, Mixer).examples()]


def random_model(text: str, *, norm: bool = True, residual: bool = True, hidden: int = 7) -> Model:
    architecture = Architecture.parse(text)
    locals_ = tuple(Mlp(hidden) if i % 2 == 0 else None for i in range(len(architecture.layers)))
    frame = Frame(architecture, 6, 5, Table(vocab=9, length=50), locals_, norm=norm, residual=residual)
    return frame.random(torch.Generator().manual_seed(0), torch.float64)


def some_tokens(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(9, shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("text", HYBRIDS)
@pytest.mark.parametrize("norm", [False, True])
@settings(max_examples=10)
@given(n=st.integers(1, 24), batch=st.sampled_from([(), (2,), (2, 1)]), residual=st.booleans())
def test_reading_token_by_token_gives_the_same_logits(
    text: str, norm: bool, n: int, batch: tuple[int, ...], residual: bool
) -> None:
    model, tokens = random_model(text, norm=norm, residual=residual), some_tokens(*batch, n)
    state, rows = model.start(batch), []
    for token in tokens.unbind(-1):
        state, row = model.step(state, token)
        rows.append(row)
    torch.testing.assert_close(torch.stack(rows, -2), model.logits(tokens), rtol=0, atol=1e-10)
    assert state.position == n


@pytest.mark.shapes
@pytest.mark.parametrize("text", HYBRIDS)
def test_decoding_is_reading_and_writing_in_turn(text: str) -> None:
    model, prompt = random_model(text), some_tokens(2, 6)
    state = model.start((2,))
    for token in prompt.unbind(-1):
        state, row = model.step(state, token)
    written = []
    for _ in range(4):
        written.append(row.argmax(-1))
        state, row = model.step(state, written[-1])
    assert torch.equal(model.decode(prompt, 4), torch.stack(written, -1))
    assert model.decode(prompt, 0).shape == (2, 0)


@pytest.mark.shapes
@pytest.mark.parametrize("text", [*HYBRIDS, *MIXERS])
def test_a_saved_model_is_loaded_bit_for_bit(text: str, tmp_path: Path) -> None:
    model, tokens = random_model(text), some_tokens(2, 7)
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    sized = Architecture.parse(model.frame.architecture.sized)  # the file leaves no size to a default
    assert again.frame == replace(model.frame, architecture=sized)
    assert torch.equal(again.logits(tokens), model.logits(tokens))
    assert sorted(p.name for p in (tmp_path / "m").iterdir()) == ["model.json", "model.safetensors"]


@pytest.mark.shapes
def test_an_embedding_by_codes_writes_digits_where_it_says() -> None:
    """Two segments: three tokens a·3 + b as a one-hot of b and their place, then one token's higher bits."""
    codes = Codes(
        width=6,
        tables=(("one_hot", 3, 3), ("bits", 4, 2)),
        segments=(
            Segment(3, (Code("token", 1, "one_hot", 0), Code("place", 1, "bits", 3))),
            Segment(1, (Code("token", 2, "bits", 4),)),
        ),
    )
    w = {
        "one_hot": torch.eye(3, dtype=torch.float64),
        "bits": torch.tensor([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=torch.float64),
    }
    x = codes.embed(w, torch.tensor([4, 2, 0, 6]), 0)
    assert x.tolist() == [[0, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 1, 1]]
    assert torch.equal(codes.embed(w, torch.tensor([0, 6]), 2), x[2:]), "it can begin anywhere"
    with pytest.raises(BadInput, match="positions for 4"):
        codes.embed(w, torch.tensor([0, 6]), 3)
    with pytest.raises(BadInput, match="does not fit into 6 columns"):
        Codes(6, codes.tables, (Segment(1, (Code("token", 1, "bits", 5),)),))


def test_a_code_may_read_token_and_place_at_once() -> None:
    """Row (place // 2·3 + token) % 6, in a whole text and token by token."""
    codes = Codes(1, (("both", 6, 1),), (Segment(2, ()), Segment(5, (Code("place*3+token", 2, "both", 0),))))
    w = {"both": torch.arange(6.0)[:, None]}
    tokens = torch.tensor([[0, 1, 0, 2, 1, 0, 2]])
    whole = codes.embed(w, tokens, 0)
    assert whole.flatten().tolist() == [0, 0, 0, 2, 4, 3, 2]
    alone = [codes.embed(w, tokens[:, [i]], i) for i in range(7)]
    assert torch.equal(torch.cat(alone, 1), whole)
    for of in ("place*0+token", "place*03+token", "token*3+place", "both"):
        with pytest.raises(BadInput, match="value of a code"):
            Codes(1, codes.tables, (Segment(1, (Code(of, 1, "both", 0),)),))


@pytest.mark.shapes
def test_a_binary_readout_names_the_answer_that_stands_in_the_columns(tmp_path: Path) -> None:
    frame = Frame(
        Architecture.parse("softmax(h=1,d=1,d_k=1)"), 3, 5,
        Codes(3, (("bits", 8, 3),), (Segment(4, (Code("token", 1, "bits", 0),)),)),
        readout=Binary(first=0, bits=3),
    )  # fmt: skip
    bits = torch.tensor([[i >> b & 1 for b in range(3)] for i in range(8)], dtype=torch.float64)
    zeros = {k: torch.zeros(s, dtype=torch.float64) for k, s in frame.shapes().items()}
    model = Model(frame, zeros | {"embedding.bits": bits})
    assert model.logits(torch.tensor([3, 0, 4, 1])).argmax(-1).tolist() == [3, 0, 4, 1]
    save(model, tmp_path)
    assert load(tmp_path).frame == frame


def test_side_by_side_mixers_add_their_outputs() -> None:
    both = random_model("softmax(h=1,d=4)|linear(h=1,d=4)", norm=False, hidden=1)
    w = dict(both.weights)
    one = {k: torch.zeros_like(v) if k == "0.1.O" else v for k, v in w.items()}
    other = {k: torch.zeros_like(v) if k == "0.0.O" else v for k, v in w.items()}
    none = {k: torch.zeros_like(v) if k in ("0.0.O", "0.1.O") else v for k, v in w.items()}
    flat = {k: torch.zeros_like(v) if k == "0.local.W2" else v for k, v in w.items()}
    tokens = some_tokens(8)

    def out(weights: dict[str, torch.Tensor]) -> torch.Tensor:
        return Model(both.frame, weights | {"0.local.W2": flat["0.local.W2"]}).logits(tokens)

    torch.testing.assert_close(out(w) - out(none), (out(one) - out(none)) + (out(other) - out(none)))


@pytest.mark.shapes
@pytest.mark.parametrize("norm", [False, True])
def test_the_attention_that_is_drawn_moves_the_values_that_the_model_reads(norm: bool) -> None:
    """Values that are told apart by head: what a layer writes is α V O, with the α of the picture."""
    model = random_model("softmax(h=2,d=3),softmax(h=1,d=6)", norm=norm, residual=False)
    tokens, wrote = some_tokens(9), []

    def noted(place: Place, seen: torch.Tensor) -> torch.Tensor:
        wrote.append((place, seen, at_once(place, seen)))
        return wrote[-1][-1]

    torch.testing.assert_close(model.read(model.through(model.embedded(tokens), noted)), model.logits(tokens))
    drawn = [torch.tensor(found.weights, dtype=torch.float64) for found in attention(model, tokens)]
    for (place, seen, y), heads in zip(wrote, (drawn[:2], drawn[2:]), strict=True):
        V = (seen @ place.weights["V"]).unflatten(-1, (len(heads), -1)).unbind(-2)
        told = torch.cat([α @ v for α, v in zip(heads, V, strict=True)], -1)
        torch.testing.assert_close(told @ place.weights["O"], y)


@pytest.mark.shapes
def test_a_local_function_may_be_any_function_but_is_not_saved(tmp_path: Path) -> None:
    frame = Frame(
        Architecture.parse("softmax(h=1,d=4)"), 6, 5, Table(9), (Pointwise(torch.sin),), residual=False
    )
    model = frame.random(torch.Generator().manual_seed(0), torch.float64)
    tokens, w = some_tokens(3), model.weights
    mixed = frame.architecture.layers[0].parts[0].mixer.mix(model.parts["0.0"], w["embedding.E"][tokens])
    torch.testing.assert_close(model.logits(tokens), mixed.sin() @ w["readout.U"] + w["readout.u"])
    with pytest.raises(BadInput, match="cannot be saved"):
        save(model, tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.shapes
@pytest.mark.parametrize("name", ["float32", "bf16", "float16", "e4m3", "significand(t=6)"])
def test_a_model_runs_in_a_precision(name: str) -> None:
    precision, model, tokens = Precision.parse(name), random_model(HYBRIDS[1]), some_tokens(2, 9)
    rounded = model.to(precision)
    with computing_in(precision):
        logits = rounded.logits(tokens)
    assert logits.dtype == precision.dtype
    assert torch.equal(precision.round(logits), logits), "every number is one of that precision"
    assert 0 < (logits.double() - model.logits(tokens)).abs().max() < 1


@pytest.mark.shapes
def test_exact_integers_run_through_a_whole_model() -> None:
    frame = Frame(
        Architecture.parse("linear(h=1,d=3,phi=identity,normalise=false),hard(h=1,d=2)"),
        4, 5, Table(vocab=9), (Mlp(3), None),
    )  # fmt: skip
    rng = torch.Generator().manual_seed(0)
    model = Model(frame, {k: torch.randint(-2, 3, s, generator=rng) for k, s in frame.shapes().items()})
    logits = model.logits(some_tokens(2, 6))
    assert logits.dtype == torch.int64
    floats = Model(frame, {k: w.double() for k, w in model.weights.items()}).logits(some_tokens(2, 6))
    assert torch.equal(floats, logits.double())


@pytest.mark.parametrize("kind", [torch.uint8, torch.int8, torch.int16, torch.int32], ids=str)
def test_tokens_may_be_short_integers(kind: torch.dtype) -> None:
    """Torch takes bytes for a mask, and no other short ones for rows."""
    codes = Codes(
        4, (("bits", 2, 2),), (Segment(2, (Code("token", 1, "bits", 0), Code("token", 1000, "bits", 2))),)
    )
    for embedding in (codes, Table(2)):
        frame = Frame(Architecture.parse("linear(h=1,d=2)"), 4, 2, embedding)
        model = frame.random(torch.Generator().manual_seed(0), torch.float64)
        tokens = torch.tensor([1, 1])
        assert torch.equal(model.logits(tokens.to(kind)), model.logits(tokens))


def test_what_does_not_fit_is_explained(tmp_path: Path) -> None:
    model = random_model("softmax(h=1,d=4)")
    w = dict(model.weights)
    with pytest.raises(BadInput, match=r"weight '0\.0\.Q' is missing"):
        Model(model.frame, {k: v for k, v in w.items() if k != "0.0.Q"})
    with pytest.raises(BadInput, match="weight 'extra' is not part of this model"):
        Model(model.frame, w | {"extra": w["0.0.Q"]})
    with pytest.raises(BadInput, match=r"weight '0\.0\.Q': expected shape \(6, 4\), got \(4, 6\)"):
        Model(model.frame, w | {"0.0.Q": w["0.0.Q"].T})
    with pytest.raises(BadInput, match=r"the tokens go from 9 to 9, but this model knows 0\.\.8"):
        model.logits(torch.tensor([9]))
    with pytest.raises(BadInput, match="51 tokens are given, but this model has positions for 50"):
        model.logits(some_tokens(51))
    with pytest.raises(BadInput, match="cannot be run one token at a time"):
        random_model("softmax(h=1,d=4,bidirectional=true)").start()
    with pytest.raises(BadInput, match=r"is not a saved model: it has no model\.json"):
        load(tmp_path)


def test_a_damaged_file_is_explained(tmp_path: Path) -> None:
    save(random_model("softmax(h=1,d=4)"), tmp_path)
    whole = (tmp_path / "model.json").read_text()
    (tmp_path / "model.json").write_text(whole.replace('"width": 6', '"width": "six"'))
    with pytest.raises(BadInput, match=r"model\.json: Expected `int`, got `str` - at `\$\.width`"):
        load(tmp_path)
    (tmp_path / "model.json").write_text(whole.replace('"width": 6', '"width": 7'))
    with pytest.raises(BadInput, match="expected shape"):
        load(tmp_path)
    (tmp_path / "model.json").write_text(whole)
    (tmp_path / "model.safetensors").write_bytes(b"not a tensor")
    with pytest.raises(BadInput, match=r"model\.safetensors"):
        load(tmp_path)


@pytest.mark.shapes
class TestAnybodysModel:
    """A user's module or function is accepted wherever a model is."""

    task = Eva(n=4)

    def test_a_function_of_tokens(self) -> None:
        def last_but_x(tokens: torch.Tensor) -> torch.Tensor:
            value = tokens.gather(1, tokens[:, -1:])[:, 0]
            return torch.nn.functional.one_hot(value, 4).double()  # (batch, answers): one answer, at the end

        tokens, answers = self.task.sample(np.random.default_rng(0), 30)
        np.testing.assert_array_equal(answers_of(last_but_x, self.task, tokens), answers)
        np.testing.assert_array_equal(
            answers_of(last_but_x, self.task, tokens.reshape(5, 6, 5)), answers.reshape(5, 6)
        )

    def test_a_module_that_returns_an_object_with_logits(self) -> None:
        class Output:
            def __init__(self, logits: torch.Tensor) -> None:
                self.logits = logits

        class Net(torch.nn.Module):
            def forward(self, tokens: torch.Tensor) -> Output:
                return Output(torch.nn.functional.one_hot(tokens, 9).float())

        task = Recall(n=2, V=4, q=2)
        tokens, _ = task.sample(np.random.default_rng(0), 7)
        np.testing.assert_array_equal(answers_of(Net(), task, tokens), tokens[:, -2:])

    def test_a_model_is_taken_as_it_is(self) -> None:
        model = random_model("softmax(h=1,d=4)")
        assert predictor(model) is model

    def test_what_is_no_model_is_explained(self) -> None:
        tokens, _ = self.task.sample(np.random.default_rng(0), 3)
        with pytest.raises(BadInput, match="not a model: 3"):
            predictor(3)
        with pytest.raises(BadInput, match=r"the model gave \(3, 5, 2, 2\) for tokens \(3, 5\)"):
            answers_of(lambda t: torch.zeros(*t.shape, 2, 2), self.task, tokens)
        with pytest.raises(BadInput, match="the model gives 2 logits at 5 positions"):
            answers_of(lambda t: torch.zeros(*t.shape, 2), self.task, tokens)
