"""`limen check` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.check import CheckReport, FolderReport


def lines_of(said: CheckReport) -> list[str]:
    return [said.headline]


def folder_lines(said: FolderReport) -> list[str]:
    """A line a certificate, one for what is skipped, and how many of them hold."""
    checked = [f"{one.file}: {one.headline}" for one in said.certificates]
    skipped = [f"{file}: skipped. {why}" for file, why in said.skipped.items()]
    return [*checked, *skipped, said.headline]
