"""The statement and the reasons of a theorem or a construction, out of the docstring of its file."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import limen
from limen.core.catalogue import summary

_WHY = {"theorems": "Proof", "constructions": "Why it works."}
_SENTENCES = 3


@cache
def _docstring(kind: str, name: str) -> str:
    path = Path(limen.__file__).parent / kind / f"{name}.py"
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def statement(kind: str, name: str) -> str:
    """Its first sentence."""
    return summary(kind, name)


def why(kind: str, name: str) -> str:
    """The first sentences of the paragraph that says why, without its heading; else of the next one."""
    first, *others = [p for p in _docstring(kind, name).split("\n\n") if not p.startswith(" ")]
    why = next((p for p in others if p.startswith(_WHY[kind])), None)
    told = re.split(r"(?<=[.∎]) (?=[^a-z(])", " ".join((why or others[0] if others else first).split()))
    return " ".join(told[bool(why) :][:_SENTENCES]).replace(" ∎", "")
