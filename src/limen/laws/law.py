"""A law: a function of one entry that raises where its promise is broken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Law = Callable[[Any], None]


class Broken(AssertionError):
    """A law does not hold: what was expected and what was found, in one line."""


def require(holds: bool, otherwise: str) -> None:
    """Raises `Broken` with the text `otherwise` unless it holds."""
    if not holds:
        raise Broken(otherwise)


def promise(law: Law) -> str:
    """What a law promises: its name, as people read it."""
    return law.__name__.replace("_", " ")
