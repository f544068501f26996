"""The one exception for bad input: the user asked for something that does not exist or cannot be."""

from __future__ import annotations

import dataclasses
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


class BadInput(ValueError):
    """Bad input: what, where, what was expected, in one line. The command line prints it and exits with 2."""


class DoesNotHold(Exception):
    """It ran, and what it was to show is not so.  The command line prints it and exits with 1."""


def unknown(kind: str, name: str, known: Iterable[str]) -> BadInput:
    """The error for an unknown name, with the nearest known name and all known names."""
    known = sorted(known)
    near = get_close_matches(str(name), known, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return BadInput(f"no {kind} named {name!r}{hint} Known: {', '.join(known) or 'none'}")


def counted(steps: int) -> None:
    """Raises unless the number of steps is valid: below 0 every count of bits would shrink."""
    if steps < 0:
        raise BadInput(f"the steps of chain of thought must be at least 0, got {steps}")


def shortened(value: Any) -> str:
    """An untrusted value as text of at most 80 characters; a huge number is only called one."""
    if type(value) is int and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def at_least(thing: Any, **least: int) -> None:
    """Raises unless each named field is an integer (or a tuple of integers) of at least the given value."""
    for field in dataclasses.fields(thing):
        if field.name not in least:
            continue
        value, low = getattr(thing, field.name), least[field.name]
        items = value if isinstance(value, tuple) else (value,)
        if not all(type(item) is int and item >= low for item in items):
            name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(thing).__name__).lower()  # TwoSum: two_sum
            raise BadInput(f"{name}: {field.name} must be an integer ≥ {low}, got {shortened(value)}")
