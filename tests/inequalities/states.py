r"""Recurrences: what is known of the past is a state of S bits, and it must tell all rows apart.

    S ≥ log₂ #rows(t)           worst case, at a cut after t tokens
    d(accuracy ‖ 1/A) ≤ S/n     on average, where one of n independent uniform symbols of A is asked for:
                                the inputs that the task draws, as `lookup` says
    2^S words and their spheres, filled from the inside, where A^n has at most 2^13 bits

The proofs stand in the folders of `streaming_state`, `log_linear_state` and `window_global`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from math import comb
from typing import NamedTuple

from flint import arb, ctx, fmpz

from inequalities.entropy import highest
from limen.core.architecture import Part
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.tasks.composition import UNIFORM, Composition
from limen.tasks.eva import Eva
from limen.tasks.facts import Facts
from limen.tasks.index import Index
from limen.tasks.recall import Recall
from limen.tasks.retrieval import Retrieval
from limen.theorems import Accuracy, Case, Sides


def power_of_two(task: Task) -> int:
    """2^⌊log₂ cut⌋."""
    return 1 << task.cut.bit_length() - 1


def parts_of(case: Case) -> list[tuple[Part, int]]:
    """Each part, and how often it stands in the stack."""
    return [(part, times) for layer, times in case.architecture.counted.items() for part in layer.parts]


def states_of(case: Case, after: Callable[[Part], int]) -> int | NoStatement:
    """The bits of all states, each after so many tokens."""
    parts = parts_of(case)
    if any(part.mixer.sees_future for part, _ in parts):
        return NoStatement("a mixer that reads later tokens has no state")
    if any(part.full for part, _ in parts):
        return NoStatement("some layer keeps every token")
    try:
        for part, _ in parts:
            part.state_bits(case.task.length + case.steps)
        return sum((part.state_bits(after(part)) or 0) * times for part, times in parts)
    except BadInput as error:  # the levels do not reach so far
        return NoStatement(str(error))


def sides(case: Case, state: int, t: int) -> Sides | Accuracy | NoStatement:
    match case.route:
        case "":
            rows = case.task.rows(t)
            return rows_unknown(case.task, t) if rows is None else Sides(needs=rows.bits, has=state)
        case "average":
            return _average(case.task, state, t)
    return NoStatement(f"there is no route {case.route!r}: the worst case has no name, the other is average")


def rows_unknown(task: Task, t: int) -> NoStatement:
    return NoStatement(f"how many prefixes of {t} tokens {identifier(task)} must tell apart is not known")


def _average(task: Task, state: int, t: int) -> Accuracy | NoStatement:
    """Of the n symbols m are known through the state alone: accuracy ≤ 1 - (m/n)(1 - p), d(p‖1/A) ≤ S/m."""
    if t > task.cut:
        return NoStatement("beyond the task's cut the question may already be known")
    found = lookup(task, t)
    if found is None or found.m < 1:
        return NoStatement(f"the random inputs of {identifier(task)} are not a uniform lookup")
    m, n, A, drawn = found
    with ctx.workprec(128):
        p = highest(arb(fmpz(state)) / fmpz(m), 1 / arb(fmpz(A)))
        if m * (A - 1).bit_length() <= 2**13:
            filled = by_spheres(m, A, state)
            assert filled <= p  # never weaker than Fano's inequality
            return Accuracy(_rounded_up(1 - Fraction(m, n) * (1 - filled)), drawn)
        if m == n or p == 1:
            return Accuracy(p, drawn)
        mean = (n - m + m * arb(p)) / fmpz(n)
        return Accuracy(min(1.0, math.nextafter(float(mean.upper()), 2)), drawn)


def by_spheres(m: int, A: int, state: int, words: int = 1) -> Fraction:
    """The share of right guesses if so many words times 2^state are known: the nearest texts go first."""
    texts = A**m
    left, wrong = texts, 0
    for j in range(m + 1):
        if state > texts.bit_length():
            break
        sphere = comb(m, j) * (A - 1) ** j * words * 2**state
        wrong += j * min(left, sphere)
        left -= min(left, sphere)
        if not left:
            break
    return 1 - Fraction(wrong, m * texts)


def _rounded_up(x: Fraction) -> float:
    return float(x) if float(x) >= x else math.nextafter(float(x), 2)


class UniformLookup(NamedTuple):
    """One of n independent uniform symbols of A is asked for, each as likely; m of them before a cut."""

    m: int
    n: int
    A: int
    drawn: str


_KEYS = "n different keys, values independent and uniform, one of the keys asked for, each as likely"


def lookup(task: Task, t: int) -> UniformLookup | None:
    """The plain random inputs of the tasks that draw them so; keys, where there are any, tell nothing."""
    match task:
        case Eva(n=n):
            return UniformLookup(t, n, n, "f(0) … f(n-1) and x independent and uniform")
        case Index(n=n, S=S):
            return UniformLookup(t, n, S, "s_0 … s_{n-1} and p independent and uniform")
        case Retrieval(n=n, V=V, absent=False):
            return UniformLookup(t, n, V, _KEYS)
        case Recall(n=n, V=V, q=1):  # a value after each key
            return UniformLookup(t // 2, n, V, _KEYS)
        case Composition(m=m, n=()) | Facts(m=m, n=()):
            return UniformLookup(t, m, m, "every entry of z_1 and z_0 independent and uniform")
        case Composition() | Facts() if t <= (
            N := answered(task)
        ):  # an entry of z_L, wherever the chain leads
            return UniformLookup(t, N, N, UNIFORM)
    return None


def answered(task: Task) -> int:
    """The tokens among which the answer stands: of a composition those of z_L, else all up to the cut."""
    tables = task.composition if isinstance(task, Facts) else task
    return tables.N(tables.L - 1) if isinstance(tables, Composition) else task.cut
