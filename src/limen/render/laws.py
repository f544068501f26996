"""`limen test` for people: a line for each law, and what broke it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.laws.held import LawHeld, LawsReport, Subject


def heading(subject: Subject) -> str:
    return f"{subject.entry}, a {subject.kind}: {', '.join(subject.names)}"


def line(held: LawHeld) -> str:
    if held.holds:
        return f"  holds   {held.law}"
    return f"  BROKEN  {held.law}\n          {held.broken_by}: {held.reason}"


def summary(said: LawsReport) -> str:
    return f"{plural(len(said.laws), 'law')}, {said.broken} broken"
