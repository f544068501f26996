"""`limen serve` for people: the address."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.serve import ServeReport


def lines_of(report: ServeReport) -> list[str]:
    return [report.address]
