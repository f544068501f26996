"""Verdicts beside the truth at tiny sizes: every machine of 8 states, every window, every short reply.

The truth comes from `brute_force`, from inputs and answers alone.  `make truth` looks at larger tasks, too.
"""

from __future__ import annotations

import os
from functools import cache
from itertools import product

import pytest
from fixtures.brute_force import Rows, TooMany
from fixtures.unchecked import types_unchecked  # noqa: F401

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier, ids
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import built, decide, ruled_out
from limen.errors import BadInput
from limen.model import exhaustive

WHOLE = "LIMEN_TRUTH" in os.environ
INPUTS, WORK = (2**16, 30_000) if WHOLE else (4096, 2_000)
SIZES: dict[str, dict[str, tuple[object, ...]]] = {
    "eva": {"n": (1, 2, 3, 4, 5)},
    "index": {"n": (1, 2, 3, 4), "S": (2, 3, 4, 8, 9)},
    "equality": {"n": (1, 2, 3, 4)},
    "disjointness": {"n": (1, 2, 3, 4)},
    "inner_product": {"n": (1, 2, 3, 4)},
    "two_sum": {"n": (1, 2, 3, 4), "M": (3, 4, 5, 8, 9)},
    "three_sum": {"n": (2, 3, 4), "M": (3, 4, 5)},
    "two_sum_any": {"n": (2, 3, 4, 5), "M": (3, 4, 5, 7)},
    "counting": {"n": (1, 2, 3, 4, 5, 7), "S": (2, 3, 8, 9)},
    "sparse_average": {"n": (1, 2, 3, 4, 5), "q": (1, 2, 3, 4, 5)},
    "dyck": {"n": (2, 4, 6, 8), "k": (1, 2, 3), "D": (1, 2, 3)},
    "is_tree": {"n": (4, 5)},
    "turing": {"n": (2, 3, 4, 5, 6, 7, 8), "program": ("palindrome", "increment")},
    "cgram": {"n": (2, 3, 4, 5, 6), "c": (2, 3, 4), "V": (2, 3, 4)},
    "recall": {"n": (1, 2), "V": (2, 3, 4, 5, 8, 9), "q": (1, 2)},
    "retrieval": {"n": (1, 2, 3), "D": (1, 2), "V": (1, 2, 3), "absent": ("true", "false")},
    "nearest_neighbor": {"n": (1, 2), "D": (2,), "g": (1,)},
    "composition": {"m": (1, 2, 3, 4)},
    "composition ": {"m": (1, 2), "n1": (1, 2, 3)},
    "composition  ": {"m": (1, 2), "n1": (1, 2), "n2": (1,)},
    "facts": {"m": (2, 3)},
    "facts ": {"m": (2,), "n1": (1,)},
    "khop": {"n": (2, 3, 4, 5), "k": (1, 2), "S": (2, 3, 4)},
    "match3": {"n": (3, 4), "M": (7, 8, 9)},
}


def tiny(name: str) -> list[Task]:
    """The tasks of these sizes that exist and have few inputs."""
    found = []
    for values in product(*SIZES[name].values()):
        sizes = ",".join(f"{size}={value}" for size, value in zip(SIZES[name], values, strict=True))
        try:
            task = Task.parse(f"{name.strip()}({sizes})")
        except BadInput:
            continue
        found += [task] if exhaustive.count(task) <= INPUTS else []
    return found


@cache
def rows(task: Task) -> Rows:
    return Rows(task)


def verdict(task: Task, stack: str) -> Answer:
    """What `decide` says, without the search for the size at which it flips."""
    architecture = Architecture.parse(stack)
    cannot, can = ruled_out(task, architecture), built(task, architecture)
    assert not (cannot and can), (str(task), stack)
    return Answer.CANNOT if cannot else Answer.CAN if can else Answer.OPEN


def wrong(said: Answer, possible: bool) -> bool:
    return said is (Answer.CANNOT if possible else Answer.CAN)


RECURRENCES = [
    "lstm", "relu_rnn", "linear", "gated_linear", "delta", "gated_delta", "kda", "mamba", "mamba2", "window",
    "masked_softmax", "log_linear", "retnet", "rwkv7", "s4d",
]  # fmt: skip


def stacks_of(bits: int) -> list[str]:
    """Recurrences of which only the bits are said, and stacks that have so many in all."""
    stacks = [f"{name}(state_bits={bits})" for name in RECURRENCES]
    if bits:
        stacks += [f"relu_rnn(d=1,p={bits})", f"lstm(state_bits={bits - 1}),linear(state_bits=1)"]
    return [*stacks, "linear(h=1,d=1,p=1)", "lstm(d=1,p=1)"] if bits == 2 else stacks


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SIZES)
def test_no_verdict_contradicts_all_machines_of_at_most_three_bits(name: str) -> None:
    """CANNOT only where no machine does the task, CAN only where one does."""
    compared = 0
    for task, bits in product(tiny(name), range(4)):
        try:
            possible = rows(task).solved_by(2**bits, WORK)
        except TooMany:
            continue
        for stack in stacks_of(bits):
            assert not wrong(said := verdict(task, stack), possible), (str(task), stack, said)
            compared += 1
    assert compared >= 50


@pytest.mark.parametrize(
    "text", ["equality(n=2)", "dyck(n=4,k=2,D=2)", "khop(n=3,k=1,S=3)", "recall(n=1,V=4)"]
)
@pytest.mark.parametrize("bits", range(4))
def test_decide_says_what_its_halves_say(text: str, bits: int) -> None:
    for name in ("lstm", "linear"):
        stack = f"{name}(state_bits={bits})"
        said = decide(Task.parse(text), Architecture.parse(stack)).answer
        assert said is verdict(Task.parse(text), stack)
        assert not wrong(said, rows(Task.parse(text)).solved_by(2**bits))


def test_where_nothing_is_promised_a_machine_needs_as_many_states_as_there_are_rows() -> None:
    """And a promise may save states: brute force is not the count of rows again."""
    assert rows(Task.parse("equality(n=3)")).most == 8
    assert not rows(Task.parse("equality(n=3)")).solved_by(7) and rows(Task.parse("equality(n=3)")).solved_by(
        8
    )
    cgram = rows(Task.parse("cgram(n=3,c=3,V=4)"))  # its only question is for the third symbol
    assert cgram.most == 60 and cgram.solved_by(4) and not cgram.solved_by(3)


def test_every_task_is_tried() -> None:
    assert (
        {name.strip() for name in SIZES}
        == set(ids("tasks"))
        == {identifier(task) for name in SIZES for task in tiny(name)}
    )


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SIZES)
def test_no_verdict_contradicts_what_windows_see(name: str) -> None:
    """A window of reach R sees the last R + 1 tokens, with first tokens those, too; any function of them."""
    for task, first, reach in product(tiny(name), range(3), range(4)):
        seen = rows(task).seen_by(first, reach + 1)
        stacks = [f"masked_softmax(h=1,d=4,first={first},last={reach + 1})"]
        if first == 0:
            stacks = [f"window(h=1,d=4,W={reach + 1})"]
            stacks += ["window(h=1,d=4,W=2)|window(h=2,d=1,W=1),window(h=1,d=4,W=2)"] if reach == 2 else []
        for stack in stacks:
            architecture = Architecture.parse(stack)
            cannot = ruled_out(task, architecture, by=["window_global"])
            assert not (cannot and seen), (str(task), stack)
            assert seen or not built(task, architecture), (str(task), stack)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", SIZES)
def test_no_verdict_contradicts_all_layers_of_short_replies(name: str) -> None:
    """CANNOT only where some tokens have more to tell the last one than a reply holds."""
    for task in tiny(name):
        if task.length > (7 if WHOLE else 6):
            continue
        told = rows(task).told
        for bits in range(5):
            stacks = [(f"softmax(reply_bits={bits})", bits), (f"hard(reply_bits={bits})", bits)]
            stacks += [(f"softmax(h=1,d=1,p={bits})", 3 * bits)] if bits else []
            for stack, reply in stacks:
                said = verdict(task, stack)
                assert not (said is Answer.CANNOT and told <= 2**reply), (str(task), stack, told)
