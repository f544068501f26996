"""`limen demo sparse` for people: what a message must hold, and what is possible with less."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import percent, plural

if TYPE_CHECKING:
    from limen.commands.demo.sparse import Capacity, Needed, SparseReport


def lines_of(report: SparseReport) -> list[str]:
    """All of it."""
    return [
        f"{report.task} by one block-sparse layer that reads {plural(report.opened, 'block')}",
        "",
        "bits that a message of a block of B tokens needs; it is enough to send the tokens themselves",
        f"{'B':>6} {'log₂ C(n,B)':>12} {'one map':>10} {'any maps':>10} {'enough':>10}",
        *map(_needed, report.needed),
        "",
        "limits for all weights, with messages of w = h(d_k+d)p bits (the slides write Hdp)",
        f"{'B':>6} {'w':>8} {'w/B':>8} {'verdict':>8} {'accuracy':>9} {'missed':>8} {'invented':>9}",
        *map(_row, report.rows),
        "",
        "missed: the lowest rate of missed pairs if none is invented; invented: the reverse.",
        f"inputs of all rates: {report.distribution}",
        "The accuracies are certified. The two rates are argued from the same inequality, not checked.",
    ]


def _needed(row: Needed) -> str:
    maps = "–" if row.any is None else f"{row.any:,}"
    return f"{row.B:6} {row.slide:12,} {row.shared:10,} {maps:>10} {row.enough:10,}"


def _row(row: Capacity) -> str:
    rates = [_rate(rate) for rate in (row.accuracy, row.missed, row.invented)]
    ratio = row.message_bits / row.B
    head = f"{row.B:6} {row.message_bits:8,} {ratio:8.3g} {row.verdict.upper():>8}"
    return f"{head} {rates[0]:>9} {rates[1]:>8} {rates[2]:>9}"


def _rate(rate: float | None) -> str:
    return "–" if rate is None else percent(rate)
