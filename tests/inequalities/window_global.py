"""The inequality of `window_global`: what is out of reach against the first tokens.

Read from the last layer down: which tokens must be known below, so that one that answers is known above?
"""

from __future__ import annotations

from typing import NamedTuple

from inequalities.bits import power_bits
from inequalities.states import rows_unknown
from limen.core.architecture import Architecture, Part
from limen.core.theorem import NoStatement
from limen.mixers.masked_softmax import MaskedSoftmax
from limen.mixers.window import Window
from limen.theorems import Case, Sides

ELSEWHERE = NoStatement("it is about window and masked_softmax layers with their sizes", elsewhere=True)


def inequality(case: Case) -> Sides | NoStatement:
    """g·log₂ vocab ≥ log₂ #rows of the tokens that nobody who answers depends on, but for the first g."""
    if case.steps:
        return NoStatement("chain of thought moves on, and so does what is in reach")
    task = case.task
    below = needed(case.architecture, task.length - task.asks)  # of the first that answers
    if below is None:
        return ELSEWHERE
    if (t := min(below.low, task.cut)) < 1:
        return NoStatement(f"all {task.length} tokens are in reach of the last ones")
    rows = task.rows(t)
    if rows is None:
        return rows_unknown(task, t)
    return Sides(needs=rows.bits, has=power_bits((task.vocab, min(below.first, t))))


class Needed(NamedTuple):
    """Places 0 … first - 1 and low … last of the layer below."""

    first: int
    low: int


def needed(architecture: Architecture, last: int) -> Needed | None:
    """The places of the text on which the token at `last` depends, at most; None for any other part.

    A part that shows the last W tokens needs low - (W-1) … last below; one that shows the first ones, too,
    needs these; a token among the first ones needs none behind itself.
    """
    below = Needed(0, last)
    for layer, times in reversed(architecture.counted.items()):
        sees = [_sees(part) for part in layer.parts]
        if None in sees:
            return None
        for _ in range(times):
            above = below
            for first, window in filter(None, sees):
                low = max(0, above.low - (window - 1))
                below = Needed(max(below.first, first), min(below.low, low))
            if below == above:
                break
    return below


def _sees(part: Part) -> tuple[int, int] | None:
    """How many first tokens and how many last ones a part shows, where its sizes are known."""
    if part.bits is not None:
        return None
    match part.mixer:
        case Window(W=W):
            return 0, W
        case MaskedSoftmax(first=first, last=last):
            return first, last
    return None
