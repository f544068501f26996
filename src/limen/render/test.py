"""`limen test` for people: a line for each law, and what broke it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from limen.laws.check import HeldLaw, LawsReport


def lines_of(report: LawsReport) -> list[str]:
    """All of it, as it stands there in the end."""
    laws = [part for held in report.laws for part in line(held).split("\n")]
    return [heading(report.entry, report.kind, report.instances), *laws, summary(report)]


def heading(entry: str, kind: str, instances: Sequence[str]) -> str:
    return f"{entry}, a {kind}: {', '.join(instances)}"


def line(held: HeldLaw) -> str:
    if held.holds:
        return f"  holds   {held.law}"
    return f"  BROKEN  {held.law}\n          {held.broken_by}: {held.reason}"


def summary(report: LawsReport) -> str:
    return f"{plural(len(report.laws), 'law')}, {report.broken} broken"
