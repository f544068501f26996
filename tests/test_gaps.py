"""Families for every n: score gaps that grow with log n, and sums of any length in any order."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import given

from limen.constructions import _lookup, composition_by_stack, recall_by_softmax
from limen.core.construction import construct
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.model.files import written
from limen_check import Refused
from limen_check.can.fits import derived
from limen_check.files import model as read


def certified(task: str, precision: str, by: str | None = None) -> Fraction:
    """What the kernel derives from the weights."""
    c = construct(Task.parse(task), by)
    model = read(*written(c.frame(), c.weights()))
    return derived(model, c.task.spelled, precision, c.steps, c.hints() or {})


Summed = tuple[Fraction, Fraction, int]  # as computed, exactly, of how many numbers
numbers = st.fractions(min_value=0, max_value=1).map(lambda x: (x, x, 1))


@given(st.recursive(numbers, lambda parts: st.tuples(parts, parts), max_leaves=40))
def test_no_sum_is_more_than_n_times_too_large(tree: object) -> None:
    """Whatever the order, and though every addition errs by all of its smaller summand, upwards."""

    def add(node: object) -> Summed:
        if isinstance(node, tuple) and len(node) == 3:
            return node
        assert isinstance(node, tuple)
        (a, A, i), (b, B, j) = map(add, node)
        return a + b + min(a, b), A + B, i + j

    computed, exact, n = add(tree)
    assert computed <= n * exact


@pytest.mark.parametrize(
    ("precision", "holds", "stops"), [("bfloat16", 60, 70), ("float32", 60, 70), ("float64", 120, None)]
)
def test_index_goes_as_far_as_the_format_allows(precision: str, holds: int, stops: int | None) -> None:
    """What ends the range are the least and the largest number of the accumulators, not the gap."""
    assert certified(f"index(n=2^{holds},S=2)", precision) == 2
    if stops is not None:
        with pytest.raises(Refused, match="overflows"):
            certified(f"index(n=2^{stops},S=2)", precision)


@pytest.mark.parametrize("task", ["eva(n=2^40)", "recall(n=2^40,V=2^41)", "composition(m=2^36,n1=16)"])
def test_gaps_that_do_not_grow_end_the_range(task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the gap of 32 that short texts have, the same weights are refused, and predicted to fail."""
    fixed: Callable[[int], int] = lambda n: 16  # noqa: E731
    assert certified(task, "bfloat16") == 2
    for module in (_lookup, recall_by_softmax, composition_by_stack):
        monkeypatch.setattr(module, "contrast", fixed)
    with pytest.raises(Refused, match="too much weight elsewhere"):
        certified(task, "bfloat16")
    assert construct(Task.parse(task)).margin(Precision.parse("bfloat16")) is None


def test_the_contrast_is_a_power_of_two_above_log_n() -> None:
    for n in (1, 2, 3, 255, 256, 257, 2**20, 2**24 + 1, 2**56, 2**200 + 1):
        C, least = _lookup.contrast(n), 8 + (n - 1).bit_length()
        assert C.bit_count() == 1 and least <= C and (C == 16 or 2 * least > C)


@pytest.mark.parametrize("by", ["stack", "encoder", "stack(stack=F)"])
def test_composition_of_three_hops_beyond_any_memory(by: str) -> None:
    """Sizes that are powers of two are written in binary digits: no table grows with them."""
    c = construct(Task.parse("composition(m=2^9,n1=2^3,n2=2^3)"), by)
    assert certified(str(c.task), "float64", by) > 1.99
    assert max(w.size for w in c.weights().values()) < 2**17


def test_sizes_that_are_no_powers_of_two_mean_the_same() -> None:
    """A place modulo 2^j is its last digits, modulo another number a row of a table: both run right."""
    from limen.solutions import solve

    for task in ("composition(m=2,n1=1,n2=2)", "composition(m=1,n1=2,n2=2)", "composition(m=2,n1=3)"):
        for by in ("stack", "encoder"):
            found, _ = solve(construct(Task.parse(task), by), Precision.parse("float32"), 64)
            assert found.correct and found.certified == 2
