"""How notebooks show a value.  Who can draw one says so here; without that a notebook shows its repr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_DRAWN_BY: dict[type, Callable[[Any], str]] = {}


def draws(kind: type[T], function: Callable[[T], str]) -> None:
    """From now on values of this kind are drawn by the function, as HTML."""
    _DRAWN_BY[kind] = function


def html(value: object) -> str | None:
    """HTML by whoever draws the value's kind or one above it; None where nobody does."""
    return next((_DRAWN_BY[kind](value) for kind in type(value).__mro__ if kind in _DRAWN_BY), None)
