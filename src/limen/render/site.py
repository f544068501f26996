"""`limen site` for people: the folder and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.site import SiteReport


def lines_of(report: SiteReport) -> list[str]:
    return [report.headline]
