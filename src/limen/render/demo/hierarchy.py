"""`limen demo hierarchy` for people: RNN < RNN + CoT < Transformer, line by line."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

from limen.core.quantities import thought

if TYPE_CHECKING:
    from limen.commands.demo.hierarchy import HierarchyReport, Rung


def _thinks(rung: Rung) -> tuple[str, str]:
    return f"  {rung.task} by {rung.architecture}{thought(rung.steps)}", f"    {rung.by}"


def lines_of(said: HierarchyReport) -> list[str]:
    """All of it."""
    return [
        "RNN < RNN + CoT: a chain of thought adds computation",
        *(line for rung in said.thinks for line in _thinks(rung)),
        "  without chain of thought, for any weights of a recurrence of this size:",
        f"    its answers divide the values of its one number into at most {_cells(said)}",
        "  It adds no information about the input: what is written is a function of the state.",
        "",
        "RNN + CoT < Transformer: no step recovers what the state did not keep",
        *(line for rung in said.recurrent for line in _verdict(rung)),
        "",
        *(line for rung in (*said.full, said.tree) for line in _verdict(rung)),
        "",
        "both hold" if said.holds else "AT LEAST ONE DOES NOT HOLD: a case above differs from the papers",
    ]


def _cells(said: HierarchyReport) -> str:
    cells, strings = f"2^{log2(said.cells):.1f} cells", f"2^{log2(said.strings):.0f} strings"
    if said.cells < said.strings:
        return f"{cells}, fewer than {strings}: it cannot (argued, not checked; in exact numbers)"
    return f"{cells}, and {strings} must be distinguished: nothing follows"


def _verdict(rung: Rung) -> list[str]:
    return [
        f"  {rung.says.upper():6}  {rung.task}  by  {rung.architecture}{thought(rung.steps)}",
        f"    {rung.by}",
    ]
