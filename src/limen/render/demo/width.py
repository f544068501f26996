"""`limen demo width` for people: how wide one softmax layer must be, and how wide two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.width import Layers, WidthReport, WidthRow


def lines_of(report: WidthReport) -> list[str]:
    """All of it."""
    last = report.rows[-1]
    return [
        f"numbers of {report.p} bits that a softmax layer hands to a token, H(d+2), in the widest layer",
        "",
        f"{'n':>6} {'bits needed':>12} {'one layer':>10} {'one layer':>10} {'':>8} {'two layers':>11}",
        f"{'':>6} {'':>12} {'at least':>10} {'CAN':>10} {'times':>8} {'CAN':>11}",
        *map(_row, report.rows),
        "",
        f"bits needed by {last.theorem}; with fewer numbers than `at least` one layer CANNOT",
        *(_ruled(row) for row in report.rows[-1:] if row.ruled_out),
        *(f"  {line}" for line in _layers("one layer", last.one)),
        *(f"  {line}" for line in _layers("two layers", last.two)),
        "",
        "one layer grows like the bits needed; two layers grow with the logarithm of n, or not at all"
        if report.holds
        else "NOT ALL WEIGHTS ARE CERTIFIED: * marks what is argued or open",
    ]


def _row(row: WidthRow) -> str:
    one, two = (
        f"{layers.numbers:,}{'' if layers.verdict == 'can' else '*'}" for layers in (row.one, row.two)
    )
    return f"{row.n:6,} {row.needs_bits:12,} {row.least:10,} {one:>10} {row.factor:8.1f} {two:>11}"


def _ruled(row: WidthRow) -> str:
    return f"  {row.task}: CANNOT by {row.ruled_out}"


def _layers(name: str, layers: Layers) -> list[str]:
    return [f"{name}: {layers.verdict.upper()} by {layers.architecture}", f"  {layers.by}"]
