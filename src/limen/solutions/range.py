"""How far the kernel certifies a construction: the largest power of two of one size, format by format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec

from limen.core.certificate import Solves
from limen.core.construction import Construction
from limen.core.report import Report
from limen.decisions.placement import Offer, solves, unasked
from limen.errors import BadInput
from limen.solutions.smallest import size_of

_FORMATS = "bfloat16", "float32", "float64"  # that the kernel knows
_LOGS = 4, 8, 16, 32, 64, 128, 192  # of sizes that are tried first


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How far the kernel follows a construction in one format, at powers of two of one size."""

    precision: str
    task: str | None  # the largest that it accepts; null: none
    log2_size: int | None
    tokens: int | None
    then: str | None  # why it refuses the next power of two; null: no larger one was tried


class RangeReport(Report, frozen=True, kw_only=True, tag="limen/solve/1"):
    """The certified range of a construction, format by format."""

    construction: str
    size: str
    rows: tuple[Reach, ...]

    @property
    def headline(self) -> str:
        return f"{self.construction}: how far it is certified, over {self.size}"

    @property
    def holds(self) -> bool:
        return any(row.task is not None for row in self.rows)


def certified_range(
    construction: Construction, over: str | None, progress: Callable[[str], None] = lambda text: None
) -> RangeReport:
    """The largest power of two that the kernel certifies, for each format, found by halving.

    `progress` hears which size the kernel looks at.
    """
    size = size_of(construction.task, over)
    rows = tuple(_reach(construction, size, precision, progress) for precision in _FORMATS)
    return RangeReport(construction=str(construction), size=size, rows=rows)


def _reach(construction: Construction, size: str, precision: str, progress: Callable[[str], None]) -> Reach:
    """The largest certified power of two of one size; the kernel derives each one tried, none between.

    Beyond some size the kernel need not be asked; that size costs nothing to find, and often holds.
    """
    refused: dict[int, str] = {}

    def held(log: int, by: Callable[[Offer], Solves | str | None]) -> bool:
        try:
            grown = replace(construction, task=construction.task.resized(size, 1 << log))
            reason = by(Offer(grown, False, precision))
        except BadInput as error:
            reason = str(error)
        if isinstance(reason, str):
            refused[log] = reason
        return not isinstance(reason, str)

    def works(log: int) -> bool:
        if not held(log, unasked):
            return False
        progress(f"{construction}: {size} = 2^{log} in {precision}")
        return held(log, solves)

    reached = _last(lambda log: held(log, unasked), _LOGS[-1] + 1)
    low = reached if reached and works(reached) else _last(works, reached)
    then = refused.get(low + 1)
    if not low:
        return Reach(precision=precision, task=None, log2_size=None, tokens=None, then=then)
    task = construction.task.resized(size, 1 << low)
    return Reach(precision=precision, task=str(task), log2_size=low, tokens=task.length, then=then)


def _last(holds: Callable[[int], bool], below: int) -> int:
    """The last number below one for which something holds, up to which it does; 0 where there is none."""
    high = next((log for log in _LOGS if log < below and not holds(log)), below)
    low = max((log for log in _LOGS if log < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
