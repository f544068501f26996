"""A stack of windows does not see what is out of its reach, except the first tokens of the text."""

from __future__ import annotations

from typing import NamedTuple

from limen.core.architecture import Architecture, Part
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.window import Window
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen_check.cannot.bound import window_global


class WindowGlobal(Theorem):
    """Cut where the reach of the tokens that answer ends."""

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """g·log₂ vocab ≥ log₂ #rows of what is out of reach: R = Σ (W-1) tokens and the first g are known."""
        if case.steps:
            return NoStatement("chain of thought moves on, and so does what is in reach")
        view = sight(case.architecture)
        if isinstance(view, NoStatement):
            return view
        if out_of_sight(case.task, view) < 1:
            return NoStatement(f"all {case.task.length} tokens are in reach of the last ones")
        return stated("window_global", window_global, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(1)
        if rows is None or rows.bits == 0:
            return ()
        reach = task.length - task.asks
        return (Need("window", f"Σ (W-1) over the layers ≥ {reach}, or first tokens that all see", None),)


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
