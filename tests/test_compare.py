"""Stacks side by side: bytes as `show` counts them, hops as `depth` does, verdicts as `decide` says."""

import json
import shlex
from pathlib import Path

import pytest
from fixtures.cli import limen as run

import limen
from limen.audits import Request, audit, load
from limen.commands.compare import compared as compare
from limen.core.quantities import plural
from limen.core.verdict import Answer
from limen.errors import BadInput
from limen.render.compare import lines_of

CONFIG = Path(__file__).parents[1] / "examples/configs/qwen3_next_80b.json"
TWELVE = "4*(3*gated_delta(h=1,d=64),softmax(h=4,d=128))"
SIX = "2*(7*gated_delta(h=1,d=64),softmax(h=4,d=128))"


@pytest.mark.long
def test_half_the_full_layers_save_half_the_cache_and_cost_a_thinking_token() -> None:
    said = compare([TWELVE, SIX], 4096, ["eva"])
    large, small = said.stacks
    assert (large.growing_bytes, small.growing_bytes) == (4 * 4096 * 2048, 2 * 4096 * 2048)
    assert (
        [stack.hops for stack in said.stacks] == [limen.depth(text).hops for text in (TWELVE, SIX)] == [4, 2]
    )
    assert [(c.first, c.last, c.steps) for c in said.chains] == [(3, 4, (0, 1))]
    assert f"B needs {plural(1, 'thinking token')}" in "\n".join(lines_of(said))


def test_a_config_has_the_bytes_that_audit_prints_and_every_number_says_its_precision() -> None:
    found = audit(*load(str(CONFIG)), Request(context=2**17))
    text = "12*(3*gated_delta(h=32,d=128,c=4),softmax(h=16,kv_heads=2,d=256))"
    model, half, full = compare([str(CONFIG), text, text.replace("c=4", "c=4,p=32")], 2**17, ["eva"]).stacks
    assert (model.fixed_bytes, model.cache_bytes) == (found.state_bytes, found.cache_bytes)
    assert (model.growing_in, model.fixed_in) == ("bfloat16", "float32 and bfloat16")
    assert (half.growing_in, half.fixed_in, full.fixed_in) == ("16 bits", "16 bits", "32 bits")
    assert full.fixed_bytes == 2 * half.fixed_bytes  # convolutions too; a model keeps these in 16 bits
    assert half.fixed_bytes < model.fixed_bytes < full.fixed_bytes
    shown = "\n".join(lines_of(compare([str(CONFIG), text], 2**17, ["eva"])))
    assert "float32 and bfloat16  " in shown and shown.count("each number in") == 2


def test_the_example_of_the_help_shows_what_one_can_and_the_other_cannot() -> None:
    help_ = " ".join(run("compare", "--help").stdout.split())
    example = help_.partition("Example: limen ")[2].partition(" Arguments")[0]
    said = json.loads(run(*shlex.split(example), "--json").stdout)
    answers = {tuple(one["verdict"] for one in task["answers"]) for task in said["tasks"]}
    assert ("can", "cannot") in answers


def test_many_lengths_of_chains_stand_in_a_table() -> None:
    stacks = [
        "12*softmax(h=1,d=8)",
        "3*softmax(h=1,d=8)",
        "2*softmax(h=1,d=8),block_sparse(h=1,d=8)",
        "linear",
    ]
    said = compare(stacks, 64, ["eva"])
    lines = lines_of(said)
    head = lines.index(
        "Thinking tokens for chains of question-dependent hops; never: no number of them is enough"
    )
    rows = [line.split() for line in lines[head + 2 : head + 2 + len(said.chains)]]
    assert rows[0] == ["1", "hops", "0", "0", "0", "never"]
    assert rows[1] == ["2", "hops", "0", "0", "≤", "1", "never"]
    assert ["3", "hops", "0", "1", "≤", "1", "never"] in rows and rows[-1][-1] == "never"
    assert not any(line.startswith("Chains of") for line in lines)


def test_what_several_lack_alike_is_said_once() -> None:
    lines = lines_of(compare(["softmax(h=1,d=64)", "3*nsa", "nsa"], 64, ["eva", "index"]))
    assert [line for line in lines if "no proof was found" in line] == [
        "  eva and index, B and C: no proof was found that rules it out, and no weights are known."
    ]


def test_the_length_of_its_texts_stands_beside_a_task() -> None:
    said = compare([TWELVE, SIX], 4096, ["composition(m=16,n1=4)"])
    assert said.tasks[0].tokens == 82
    assert any("composition(m=16,n1=4)  82 tokens" in line for line in lines_of(said))


def test_the_first_chain_that_parts_them_is_decided_as_decide_says() -> None:
    said = compare([TWELVE, SIX], 256)
    chain = said.tasks[0]
    assert chain.task.startswith("composition(") and chain.differs
    for text, one in zip((TWELVE, SIX), chain.answers, strict=True):
        assert one.verdict == limen.decide(chain.task, text).answer
    assert chain.answers[0].verdict is Answer.CAN
    assert limen.decide(chain.task, SIX, steps=chain.answers[1].thinking or 0).answer is Answer.CAN


@pytest.mark.parametrize("task", ["eva(n=2^20)", "dyck(n=2^20,k=2,D=4)", "eva(n=64)"])
def test_sizes_that_follow_the_text_do_so_wherever_a_verdict_is_asked_for(task: str) -> None:
    """The levels of log_linear, if not given: else they end before the text, and nothing is known of it."""
    stacks = ["3*log_linear(h=4,d=64)", "log_linear(h=4,d=64),softmax(h=8,d=64)"]
    said = compare(stacks, 1 << 20, [task]).tasks[0]
    assert [one.verdict for one in said.answers] == [limen.decide(task, stack).answer for stack in stacks]


def test_a_stack_without_full_layers_is_bought_back_by_nothing() -> None:
    said = compare(["3*softmax(h=1,d=64)", "linear(h=1,d=16)"], 1 << 16, ["eva"])
    assert [one.verdict for one in said.tasks[0].answers] == [Answer.CAN, Answer.CANNOT]
    assert said.tasks[0].answers[1].thinking is None
    assert said.chains[0].steps == (0, None)


@pytest.mark.parametrize(
    ("stacks", "context"), [(["softmax"], 8), (["softmax"] * 9, 8), (["softmax", "linear"], 0)]
)
def test_what_cannot_be_compared_is_refused(stacks: list[str], context: int) -> None:
    with pytest.raises(BadInput):
        compare(stacks, context)


def test_a_stack_whose_hops_are_not_known_is_not_said_to_have_none() -> None:
    """No weights are known that chain through block_sparse, and no proof says that none do; linear cannot."""
    shown = compare(
        ["2*block_sparse(h=1,d=8)", "softmax(h=1,d=8),block_sparse", "linear", "2*softmax"], 64, ["eva"]
    )
    assert [stack.silent for stack in shown.stacks] == [("block_sparse",), ("block_sparse",), (), ()]
    lines = "\n".join(lines_of(shown))
    assert "A is not known to follow them with any thinking" in lines
    assert "B is not known to follow them with fewer than 1 thinking token" in lines
    assert "C cannot follow them, however long it thinks" in lines and "A cannot" not in lines
    assert "B: no weights are known that chain hops through block_sparse, and no proof that none do." in lines
    alike = "\n".join(lines_of(compare(["block_sparse", "linear"], 64, ["eva"])))
    assert "All are known to chain the same number" in alike


@pytest.mark.parametrize(
    ("stack", "numbers"),
    [
        ("hard(h=2,d=8,d_k=4)", 64 * 2 * 12),
        ("conv_softmax(h=2,d=8,c=3)", 64 * 2 * 16 + 2 * 2 * 24),
        ("fetch(d=8)", 64 * 8),
        ("mla(h=128,d=128)", 64 * 576),  # as DeepSeek-V3
        ("gated_softmax(h=4,d=8,kv_heads=2)", 64 * 2 * 16),
    ],
)
def test_every_mixer_that_keeps_all_tokens_can_be_compared(stack: str, numbers: int) -> None:
    one, _ = compare([stack, "softmax"], 64, ["eva"]).stacks
    assert one.growing_bytes == 2 * numbers and one.fixed_bytes == 0
