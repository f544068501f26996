"""`limen demo hierarchy` for people: RNN < RNN + CoT < Transformer, line by line."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from limen.core.quantities import thought

if TYPE_CHECKING:
    from limen.commands.demo.hierarchy import HierarchyReport, Rung


def _thinks(rung: Rung) -> tuple[str, str]:
    return f"  {rung.task} by {rung.architecture}{thought(rung.steps)}", f"    {rung.by}"


def lines_of(report: HierarchyReport) -> list[str]:
    """All of it."""
    return [
        "RNN < RNN + CoT: a chain of thought adds computation",
        *(line for rung in report.thinks for line in _thinks(rung)),
        "  without chain of thought, for any weights of a recurrence of this size:",
        f"    its answers divide the values of its one number into at most {_cells(report)}",
        "  It adds no information about the input: what is written is a function of the state.",
        "",
        "RNN + CoT < Transformer: no step recovers what the state did not keep",
        *(line for rung in report.recurrent for line in _verdict(rung)),
        "",
        *(line for rung in (*report.full, report.tree) for line in _verdict(rung)),
        "",
        "both hold" if report.holds else "AT LEAST ONE DOES NOT HOLD: a case above differs from the papers",
    ]


def _cells(report: HierarchyReport) -> str:
    cells, strings = f"2^{log2(report.cells):.1f} cells", f"2^{log2(report.strings):.0f} strings"
    if report.cells < report.strings:
        return f"{cells}, fewer than {strings}: it cannot (argued, not checked; in exact numbers)"
    return f"{cells}, and {strings} must be distinguished: nothing follows"


def _verdict(rung: Rung) -> list[str]:
    return [
        f"  {rung.says.upper():6}  {rung.task}  by  {rung.architecture}{thought(rung.steps)}",
        f"    {rung.by}",
    ]
