"""What the tokens of a stack of windows know of a text."""

from __future__ import annotations

from typing import NamedTuple

from limen.core.architecture import Architecture, Part
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.window import Window


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
