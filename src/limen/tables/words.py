"""The statement and the reasons of a theorem or a construction: its `proof.md`, or its docstring."""

from __future__ import annotations

import re
from functools import cache

from limen.core.catalogue import beside, docstring, summary

_SENTENCES = 3
_WHY = "Why it works."  # begins the paragraph of a construction's docstring that is told


def statement(kind: str, name: str) -> str:
    """The first sentence of the statement."""
    return summary(kind, name)


@cache
def why(kind: str, name: str) -> str:
    """The first sentences of the paragraph that says why; else of the one after the statement.

    Without one that a formula below would end.
    """
    told = re.split(r"(?<=[.∎]) (?=[^a-z(])", " ".join(_reasons(kind, name).split()))[:_SENTENCES]
    whole = told if told[-1].endswith((".", "∎")) else told[:-1]
    return " ".join(whole or told).replace(" ∎", "")


def _reasons(kind: str, name: str) -> str:
    if kind == "theorems":
        return _proof(name)
    first, *others = _prose(docstring(kind, name))
    reason = next((p.removeprefix(_WHY) for p in others if p.startswith(_WHY)), None)
    return reason or (others[0] if others else first)


def _proof(name: str) -> str:
    """The paragraph below the first heading that names a proof; else the one after the statement."""
    _, first, *others = _prose(beside("theorems", name, "proof.md").read_text(encoding="utf-8"))
    heading = next((i for i, p in enumerate(others) if p.startswith("## Proof")), None)
    return others[heading + 1] if heading is not None else next((p for p in others if p[0] != "#"), first)


def _prose(text: str) -> list[str]:
    """The paragraphs of prose, without the indented formulas."""
    return [p for p in text.split("\n\n") if not p.startswith(" ")]
