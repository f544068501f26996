"""`limen check` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from limen.render.fool import sentences, shown

if TYPE_CHECKING:
    from limen.commands.check import CheckReport, FolderReport


def lines_of(report: CheckReport) -> list[str]:
    return [report.headline, *indented(report)]


def indented(one: CheckReport) -> list[str]:
    """What an answer rests on, below its own line; nothing unless it was asked for."""
    seen = [] if one.seen is UNSET else shown(one.seen)
    return [f"    {line}" for line in (*one.behind, *seen)]


def page_of(report: CheckReport) -> dict[str, Any]:
    """The sentences beside the drawing of a wrong answer."""
    return {} if report.seen is UNSET else {"says": sentences(report.seen)}


def folder_lines(report: FolderReport) -> list[str]:
    """A line a certificate, one for what is skipped, and how many of them hold."""
    checked = [
        line for one in report.certificates for line in (f"{one.file}: {one.headline}", *indented(one))
    ]
    skipped = [f"{file}: skipped. {why}" for file, why in report.skipped.items()]
    return [*checked, *skipped, report.headline]
