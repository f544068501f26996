"""The inequality of `window_global`: what is out of reach against the first tokens."""

from __future__ import annotations

from typing import NamedTuple

from inequalities.states import rows_unknown
from limen.core.architecture import Architecture, Part
from limen.core.bits import power_bits
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.window import Window
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """g·log₂ vocab ≥ log₂ #rows of what is out of reach, R = Σ (W-1) tokens before the first that answers."""
    if case.steps:
        return NoStatement("chain of thought moves on, and so does what is in reach")
    task, view = case.task, sight(case.architecture)
    if isinstance(view, NoStatement):
        return view
    if (t := out_of_sight(task, view)) < 1:
        return NoStatement(f"all {task.length} tokens are in reach of the last ones")
    rows = task.rows(t)
    if rows is None:
        return rows_unknown(task, t)
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
                "it is about window and masked_softmax layers with their sizes", elsewhere=True
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
