"""How sure a theorem is: checked by Coq (what of it), proved in prose, or cited."""

from __future__ import annotations

from enum import StrEnum

from limen.core.catalogue import beside, lookup
from limen.core.theorem import Theorem


class Standing(StrEnum):
    """Who has checked the proof."""

    CHECKED = "machine-checked"
    PROSE = "proved in prose"
    CITED = "cited"


def standing(name: str) -> Standing:
    """A proof in prose stands in the `proof.md` of the theorem."""
    theorem = lookup("theorems", name, Theorem)
    if theorem.formal:
        return Standing.CHECKED
    text = beside("theorems", name, "proof.md").read_text(encoding="utf-8")
    return Standing.PROSE if "\n## Proof" in text else Standing.CITED


def formal_line(name: str) -> str:
    """The standing, and where Coq's statements are: file by file."""
    files: dict[str, list[str]] = {}
    for part in lookup("theorems", name, Theorem).formal:
        files.setdefault(part.file, []).append(part.theorem)
    found = "; ".join(f"proofs/{file} {', '.join(theorems)}" for file, theorems in files.items())
    return f"{standing(name)}: {found}; the rest proved in prose" if found else str(standing(name))
