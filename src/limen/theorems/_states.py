r"""Recurrences: what is known of the past is a state of S bits, and it must tell all rows apart.

    S ≥ log₂ #rows(t)           worst case, at a cut after t tokens
    d(accuracy ‖ 1/A) ≤ S/n     on average, where one of n independent uniform symbols of A is asked for:
                                the inputs that the task draws, as `lookup` says

Proofs: `theorems/streaming_state/proof.md`, `log_linear_state.py`, `window_global.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from flint import arb, ctx, fmpz

from limen.core.architecture import Architecture, Part
from limen.core.bits import power_bits
from limen.core.catalogue import identifier
from limen.core.errors import BadInput
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.log_linear import LogLinear
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.window import Window
from limen.tasks.composition import Composition
from limen.tasks.eva import Eva
from limen.tasks.facts import Facts
from limen.tasks.index import Index
from limen.tasks.recall import Recall
from limen.tasks.retrieval import Retrieval
from limen.theorems._case import Accuracy, Case, Sides
from limen.theorems._entropy import highest
from limen.theorems.composition_depth.sharp import UNIFORM


def streaming_state(case: Case) -> Sides | Accuracy | NoStatement:
    """S ≥ log₂ #rows at the task's cut, or after the t tokens that are named; S the states of all layers."""
    t = case.sizes.get("t", case.task.cut)
    if not 0 < t < case.task.length:
        return NoStatement(f"a cut stands after 1..{case.task.length - 1} tokens, not after {t}")
    state = _state(case, lambda part: t)
    return state if isinstance(state, NoStatement) else _stated(case, state, t)


def log_linear_state(case: Case) -> Sides | Accuracy | NoStatement:
    """S ≥ log₂ #rows at the last power of two up to the cut, where the levels are merged into one matrix."""
    if not any(isinstance(part.mixer, LogLinear) for part, _ in _parts(case)):
        return NoStatement("there is no log_linear layer", elsewhere=True)
    t = power_of_two(case.task)
    # after one token a log_linear mixer holds one matrix, as many as after 2^r tokens, once they are merged
    state = _state(case, lambda part: 1 if isinstance(part.mixer, LogLinear) else t)
    return state if isinstance(state, NoStatement) else _stated(case, state, t)


def window_global(case: Case) -> Sides | NoStatement:
    """g·log₂ vocab ≥ log₂ #rows of what is out of reach, R = Σ (W-1) tokens before the first that answers."""
    if case.steps:
        return NoStatement("a chain of thought moves on, and with it what is in reach")
    task, view = case.task, sight(case.architecture)
    if isinstance(view, NoStatement):
        return view
    if (t := out_of_sight(task, view)) < 1:
        return NoStatement(f"all {task.length} tokens are in reach of the last ones")
    rows = task.rows(t)
    if rows is None:
        return _unknown(task, t)
    return Sides(needs=rows.bits, has=power_bits((task.vocab, min(view.first, t))))


class Sight(NamedTuple):
    """A token knows itself, the `reach` tokens before it and the `first` ones of the text."""

    reach: int
    first: int


def sight(architecture: Architecture) -> Sight | NoStatement:
    """What the tokens of a stack of windows know: reaches add up over layers, the first tokens stay first."""
    reach, first = 0, 0
    for layer, times in architecture.counted.items():
        ends = [_ends(part) for part in layer.parts]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return NoStatement(
                "it speaks of window and masked_softmax layers with their sizes", elsewhere=True
            )
        reach += times * max(end.reach for end in known)
        first = max(first, *(end.first for end in known))
    return Sight(reach, first)


def out_of_sight(task: Task, view: Sight) -> int:
    """How many tokens, up to the cut, none of those that answer knows, but for the first ones."""
    return min(task.length - task.asks - view.reach, task.cut)


def _ends(part: Part) -> Sight | None:
    if part.bits is not None:
        return None
    match part.mixer:
        case Window(W=W):
            return Sight(W - 1, 0)
        case MaskedSoftmax(first=first, last=last):
            return Sight(last - 1, first)
    return None


def power_of_two(task: Task) -> int:
    """2^⌊log₂ cut⌋."""
    return 1 << task.cut.bit_length() - 1


def _parts(case: Case) -> list[tuple[Part, int]]:
    """Each part, and how often it stands in the stack."""
    return [(part, times) for layer, times in case.architecture.counted.items() for part in layer.parts]


def _state(case: Case, after: Callable[[Part], int]) -> int | NoStatement:
    """The bits of all states, each after so many tokens."""
    parts = _parts(case)
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


def _stated(case: Case, state: int, t: int) -> Sides | Accuracy | NoStatement:
    match case.route:
        case "":
            rows = case.task.rows(t)
            return _unknown(case.task, t) if rows is None else Sides(needs=rows.bits, has=state)
        case "average":
            return _average(case.task, state, t)
    return NoStatement(f"there is no route {case.route!r}: the worst case has no name, the other is average")


def _unknown(task: Task, t: int) -> NoStatement:
    return NoStatement(f"how many prefixes of {t} tokens {identifier(task)} must tell apart is not known")


def _average(task: Task, state: int, t: int) -> Accuracy | NoStatement:
    """Of the n symbols m are known through the state alone: accuracy ≤ 1 - (m/n)(1 - p), d(p‖1/A) ≤ S/m."""
    if t > task.cut:
        return NoStatement("after the cut what is asked may be known")
    found = lookup(task, t)
    if found is None or found.m < 1:
        return NoStatement(f"the random inputs of {identifier(task)} are no uniform lookup")
    m, n, A, drawn = found
    with ctx.workprec(128):
        p = highest(arb(fmpz(state)) / fmpz(m), 1 / arb(fmpz(A)))
        if m == n or p == 1:
            return Accuracy(p, drawn)
        mean = (n - m + m * arb(p)) / fmpz(n)
        return Accuracy(min(1.0, math.nextafter(float(mean.upper()), 2)), drawn)


class Lookup(NamedTuple):
    """One of n independent uniform symbols of A is asked for, each as likely; m of them before a cut."""

    m: int
    n: int
    A: int
    drawn: str


_ONE = "one of the keys asked for, each as likely"
_HALVES = (
    "n different keys of the lower half of the alphabet, values independent and uniform in the upper half"
)


def lookup(task: Task, t: int) -> Lookup | None:
    """The plain random inputs of the tasks that draw them so; keys, where there are any, tell nothing."""
    match task:
        case Eva(n=n):
            return Lookup(t, n, n, "f(0) … f(n-1) and x independent and uniform")
        case Index(n=n, S=S):
            return Lookup(t, n, S, "s_0 … s_{n-1} and p independent and uniform")
        case Retrieval(n=n, V=V, absent=False):
            return Lookup(t, n, V, f"n different keys, values independent and uniform, {_ONE}")
        case Recall(n=n, V=V, q=1):  # a value after each key
            return Lookup(t // 2, n, V - V // 2, f"{_HALVES}, {_ONE}")
        case Composition(m=m, n=()) | Facts(m=m, n=()):
            return Lookup(t, m, m, "every entry of z_1 and z_0 independent and uniform")
        case Composition() | Facts() if t <= (
            N := answered(task)
        ):  # an entry of z_L, wherever the chain leads
            return Lookup(t, N, N, UNIFORM)
    return None


def answered(task: Task) -> int:
    """The tokens among which the answer stands: of a composition those of z_L, else all up to the cut."""
    tables = task.composition if isinstance(task, Facts) else task
    return tables.N(tables.L - 1) if isinstance(tables, Composition) else task.cut
