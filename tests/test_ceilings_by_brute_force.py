"""Every ceiling on accuracy beside the best that anyone can reach on the inputs that it names.

The optima come from `best_guesses`; where they cannot be had the best that was found stands for them, and a
comment says so.  `make truth` looks at larger ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from fixtures import best_guesses
from fixtures.best_guesses import Planted, beside, by_a_machine, classes_of_two, hinted, told
from fixtures.unchecked import types_unchecked  # noqa: F401
from inequalities import at
from inequalities.block_messages import SparseLayers, _average

from limen.commands.demo.sparse import _rates
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.kernel import Accepted, accept
from limen.core.task import Task, Tokens
from limen.core.theorem import Ceiling, Theorem
from limen.decisions.decide import theorems
from limen.model import exhaustive
from limen.theorems import Case
from limen.theorems._lowest import lowest
from limen_check.cannot.depth import Balanced

WHOLE = "LIMEN_TRUTH" in os.environ
MOST = 3e9 if WHOLE else best_guesses.MOST


def ceilings(task: str, stack: str) -> list[Ceiling]:
    """Of every theorem that has one here; the kernel accepts them all."""
    asked = Task.parse(task), Architecture.parse(stack)
    architecture = asked[1].reaching(asked[0].length)
    found = [found for _, theorem in theorems() if (found := theorem.ceiling(asked[0], architecture))]
    assert all(isinstance(accept(each.bound), Accepted) for each in found)
    return found


def below(best: Fraction, said: Ceiling | Bound) -> bool:
    accuracy = said.accuracy
    return accuracy is not None and best <= Fraction(accuracy)


LOOKUPS = {  # one of n symbols of A is asked for
    "eva(n=2)": (2, 2), "eva(n=3)": (3, 3), "eva(n=4)": (4, 4), "index(n=1,S=9)": (1, 9),
    "index(n=2,S=3)": (2, 3), "index(n=2,S=4)": (2, 4), "index(n=2,S=5)": (2, 5), "index(n=3,S=2)": (3, 2),
    "index(n=3,S=4)": (3, 4), "index(n=4,S=2)": (4, 2), "index(n=4,S=3)": (4, 3), "index(n=5,S=2)": (5, 2),
    "retrieval(n=2,D=1,V=2)": (2, 2), "retrieval(n=3,D=2,V=3)": (3, 3), "composition(m=2)": (2, 2),
    "composition(m=3)": (3, 3), "facts(m=3)": (3, 3), "composition(m=2,n1=1)": (2, 2),
    "composition(m=1,n1=3)": (3, 3), "composition(m=2,n1=2)": (4, 4), "facts(m=3,n1=1,n2=1)": (3, 3),
    "recall(n=2,V=6)": (2, 3), "recall(n=3,V=6)": (3, 3),
}  # fmt: skip


def lookup_of(task: str, distribution: str) -> tuple[int, int]:
    """(n, A) on these inputs: recall's values may be drawn from all symbols or from half of them."""
    n, A = LOOKUPS[task]
    return n, 2 * A if task.startswith("recall") and "half" not in distribution else A


def stacks_of(bits: int) -> Iterator[str]:
    yield from (f"{name}(state_bits={bits})" for name in ("lstm", "mamba2", "window"))
    if bits:
        yield f"lstm(state_bits={bits - 1})|linear(state_bits=1)"


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", LOOKUPS)
def test_nobody_tells_more_symbols_from_a_state_than_the_ceiling(text: str) -> None:
    """All ways to put what was read into 2^b classes; whoever reads the class says what is most likely."""
    compared = 0
    for bits in range(4):
        for said in [each for stack in stacks_of(bits) for each in ceilings(text, stack)]:
            assert (said.bound.theorem, said.bound.route) == ("streaming_state", "average")
            best = told(*lookup_of(text, said.distribution), 2**bits, MOST)
            assert best is None or below(best, said), (text, bits, best, said)
            compared += best is not None
    assert compared > 0


@pytest.mark.parametrize("text", [text for text in LOOKUPS if text.startswith(("eva", "index", "retr"))])
def test_nobody_tells_more_at_any_cut_than_the_ceiling(text: str) -> None:
    """After t tokens: m symbols are told by the class, the others are known."""
    task, (n, A) = Task.parse(text), LOOKUPS[text]
    for bits, t in [(bits, t) for bits in range(4) for t in range(1, n + 1)]:
        case = Case(task, Architecture.parse(f"lstm(state_bits={bits})"), 0, "average", {"t": t})
        said, best = at("streaming_state", case), told(t, A, 2**bits, MOST)
        assert isinstance(said, Bound)
        assert best is None or below((n - t + t * best) / n, said), (text, bits, t)


@pytest.mark.parametrize(
    "text", ["eva(n=3)", "index(n=3,S=2)", "index(n=5,S=2)", "index(n=6,S=2)", "eva(n=2)"]
)
def test_nobody_tells_more_from_merged_levels_than_the_ceiling(text: str) -> None:
    """After 2^r of n symbols all levels are one state; the others are known."""
    task = Task.parse(text)
    m, n, A = 1 << task.cut.bit_length() - 1, task.cut, task.answers
    for bits in range(4):
        for said in ceilings(text, f"log_linear(state_bits={bits})"):
            best = told(m if said.bound.theorem == "log_linear_state" else n, A, 2**bits, MOST)
            share = None if best is None else best
            if best is not None and said.bound.theorem == "log_linear_state":
                share = (n - m + m * best) / n
            assert share is None or below(share, said), (text, bits, share, said)


MACHINES = {
    "eva(n=2)": (1, 2), "index(n=3,S=2)": (1, 2, 4), "eva(n=3)": (1, 2), "index(n=2,S=3)": (1, 2),
    "composition(m=2)": (1, 2), "composition(m=2,n1=1)": (1, 2), "retrieval(n=2,D=1,V=2)": (1, 2),
    "index(n=4,S=2)": (1, 2), "recall(n=2,V=4)": (1,),
}  # fmt: skip


def drawn(text: str, distribution: str) -> tuple[Tokens, Tokens]:
    """All inputs that the distribution draws, each as likely, and their answers."""
    task = Task.parse(text)
    inputs = np.concatenate(list(exhaustive.batches(task, 1 << 12)))
    if "half of the alphabet" in distribution:
        keys, values = inputs[:, : task.cut : 2], inputs[:, 1 : task.cut : 2]
        half = task.sizes["V"] // 2
        inputs = inputs[(keys < half).all(1) & (values >= half).all(1)]
    return inputs, task.answer(inputs)


@pytest.mark.parametrize("text", MACHINES)
def test_no_machine_beats_the_ceiling_on_the_inputs_that_it_names(text: str) -> None:
    """The best machine, step by step: on these inputs, not on an abstract lookup."""
    for states in MACHINES[text]:
        for said in ceilings(text, f"lstm(state_bits={states.bit_length() - 1})"):
            inputs, answers = drawn(text, said.distribution)
            best = by_a_machine(inputs, answers, states)
            assert below(best, said), (text, states, best, said)


COMPOSED = [(1, 2), (1, 3), (2, 1), (3, 1), (2, 2)]


@pytest.mark.parametrize(("m", "n1"), COMPOSED)
def test_nobody_composes_better_than_the_ceiling_of_his_layers(m: int, n1: int) -> None:
    """One layer, a layer before recurrences, one behind them, two layers: replies and states of few bits."""
    text, N1 = f"composition(m={m},n1={n1})", m * n1
    stacks = [
        *((f"softmax(reply_bits={b})|lstm(state_bits={S})", b, S) for b in range(3) for S in range(3)),
        *((f"softmax(reply_bits={b}),linear(state_bits={S})", b, S) for b in range(3) for S in range(3)),
        *((f"linear(state_bits={S}),softmax(reply_bits={b})", b, S) for b in range(2) for S in range(3)),
        *((f"2*softmax(reply_bits={b})", b, 0) for b in range(2)),
    ]
    compared = set[str]()
    for stack, b, S in stacks:
        for said in ceilings(text, stack):
            assert said.bound.theorem == "composition_depth"
            best = beside(m, n1, N1, 2**b, 2**S)  # all of these stacks can do as much
            assert best is None or below(best, said), (stack, best, said)
            compared |= set() if best is None else {said.bound.route}
    assert compared == {"one_layer_average", "full_linear_average", "two_full_average"} | (
        {"linear_full_average"} if N1 > 2 and m > 1 else set()
    )


@pytest.mark.parametrize("n1", [2, 3, 4])
def test_a_state_that_hints_at_the_row_stays_below_the_ceiling(n1: int) -> None:
    """The best that a state about g and a reply of f do together; f's own state aside."""
    for b, S in [(b, S) for b in range(2) for S in range(1, 3)]:
        stack = f"linear(state_bits={S}),softmax(reply_bits={b})"
        for said in ceilings(f"composition(m=2,n1={n1})", stack):
            assert said.bound.route == "linear_full_average"
            assert below(hinted(n1, 2**b, 2**S), said), (stack, said)


@pytest.mark.parametrize("M", [8, 16, 24, 32])
def test_nobody_finds_partners_better_than_the_ceiling_of_messages(M: int) -> None:
    """Two blocks of one token, one bit of each, none opened: all pairs of maps from values to bits."""
    right: Any = 0
    found: Any = 0
    invented: Any = 0
    for count, sizes in classes_of_two(M, 2):
        blocks = Planted(sizes, M, opened=0)
        sure, some = blocks.sure()
        right, found, invented = right + count * blocks.right(), found + count * sure, invented + count * some
    every = 2 * M * (M - 1) ** 2  # of yes, and of no
    layers = SparseLayers(1, M, 2, 0, (0,), (1,))
    said, other = _average(layers), Balanced(Fraction(2, M), Fraction(0), Fraction(1))  # n/M, in reach, told
    assert said.ceiling == lowest(other)  # type: ignore[union-attr]
    assert Fraction(int(right.max()), 2 * every) <= Fraction(said.ceiling)  # type: ignore[union-attr]
    missed, least = _rates(other)
    assert missed is not None and least is not None
    assert missed <= 1 - Fraction(int(found.max()), every) and least <= Fraction(int(invented.min()), every)


@pytest.mark.parametrize("n", [5, 6, 7, 8])
@pytest.mark.parametrize("M", [64, 1024])
def test_even_classes_stay_below_the_ceiling_of_messages(n: int, M: int) -> None:
    """Blocks of one token send two bits, one block is opened: four classes of equal size in each block."""
    said = ceilings(f"two_sum(n={n},M={M})", "block_sparse(h=1,d=1,B=1,k=1,p=1)")
    blocks = Planted(np.array([[M // 4] * n], dtype=object), M, opened=1)
    best = Fraction(int(blocks.right()[0]), 2 * n * (M - 1) ** n)
    assert all(below(best, each) for each in said) and (said or M == 64)


def test_every_ceiling_is_compared() -> None:
    """A theorem that gets an average case belongs into this file."""
    average = {name for name, theorem in theorems() if type(theorem).ceiling is not Theorem.ceiling}
    assert average == {"streaming_state", "log_linear_state", "composition_depth", "block_messages"}
