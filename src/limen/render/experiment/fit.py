"""Draws the answer of `limen experiment fit` as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.training.fit import FitReport, Fitted

_KEYS = {"fixed": "fixed addresses (index)", "anew": "keys drawn anew (retrieval)"}
_SAYS = (
    "accuracy(n) = P_V(η·S/(n - n₀)), η the share of the ideal linear read.",
    "A heuristic that fits, no theorem: the theorem behind it excludes the MLP that these models have.",
    "Of a cell's runs the best counts. Cells that were still rising lower η.",
)


def lines_of(report: FitReport) -> list[str]:
    """A row for each mixer, and its cells beside the law."""
    lines = [report.headline]
    for one in report.fits:
        low, high = one.numbers
        span = f"{low:,}" if low == high else f"{low:,}–{high:,}"
        lines += [
            "",
            f"{one.mixer}, {_KEYS[one.keys]}: η = {one.eta:.2f}, cells {one.lowest:.2f}–{one.highest:.2f}",
        ]
        lines.append(
            f"  {plural(len(one.cells), 'cell')}, {one.runs} runs, states of {span} numbers, {_off(one)}"
        )
        wide = max(len(cell.architecture) for cell in one.cells)
        for cell in one.cells:
            lines.append(
                f"    {cell.architecture:{wide}}  n = {cell.n:<4} measured {cell.accuracy:6.1%}   "
                f"law {cell.law:6.1%}   η {cell.eta:.2f}   {cell.steps:,} steps"
            )
    return [*lines, "", *_SAYS]


def _off(one: Fitted) -> str:
    if len(one.cells) == 1:
        return "met by one number: nothing is left to judge the law by"
    return f"off by {100 * one.residual:.1f} points (root mean square)"
