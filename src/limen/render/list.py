"""`limen list` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.list import CatalogueReport


def lines_of(report: CatalogueReport) -> list[str]:
    """One line for each entry; below a theorem how it is proved, where theorems are all that is listed."""
    lines, proofs = [], report.proofs or {}
    for kind, entries in report.summaries.items():
        width = max(map(len, entries), default=0)
        lines += [f"{kind} ({len(entries)})"] if entries else []
        for name, summary in entries.items():
            lines.append(f"  {name:{width}}  {summary}")
            if name in proofs:
                lines.append(f"  {'':{width}}    {proofs[name]}")
    return lines
