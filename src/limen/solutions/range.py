"""How far the kernel certifies a construction: the largest power of two of one size, format by format."""

from __future__ import annotations

from dataclasses import replace

import msgspec

from limen.core.construction import Construction
from limen.core.report import Report
from limen.decisions.placement import Offer, solves
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


def certified_range(construction: Construction, over: str | None) -> RangeReport:
    """The largest power of two that the kernel certifies, for each format, found by halving."""
    size = size_of(construction.task, over)
    rows = tuple(_reach(construction, size, precision) for precision in _FORMATS)
    return RangeReport(construction=str(construction), size=size, rows=rows)


def _reach(construction: Construction, size: str, precision: str) -> Reach:
    """The largest certified power of two of one size; the kernel derives each one tried, none between."""
    refused: dict[int, str] = {}

    def works(log: int) -> bool:
        try:
            grown = replace(construction, task=construction.task.resized(size, 1 << log))
            proof = solves(Offer(grown, False, precision))
        except BadInput as error:
            proof = str(error)
        if isinstance(proof, str):
            refused[log] = proof
        return not isinstance(proof, str)

    low, high = 0, next((log for log in _LOGS if not works(log)), _LOGS[-1] + 1)
    low = max((log for log in _LOGS if log < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if works(middle) else (low, middle)
    if not low:
        return Reach(precision=precision, task=None, log2_size=None, tokens=None, then=refused.get(high))
    task = construction.task.resized(size, 1 << low)
    return Reach(
        precision=precision, task=str(task), log2_size=low, tokens=task.length, then=refused.get(high)
    )
