"""`limen check` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.checks.reader import FolderReport


def folder_lines(said: FolderReport) -> list[str]:
    """A line a certificate, and how many of them hold."""
    return [*(f"{one.file}: {one.headline}" for one in said.certificates), said.headline]
