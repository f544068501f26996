"""Untrusted JSON: one object in UTF-8, no key twice, and limits on numbers, depth and length."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from limen.errors import BadInput

LONGEST = 2**26  # bytes of a file
_DIGITS = 1234  # of an integer: 4096 bits
_DEEPEST = 64  # objects and arrays within each other


def read_object(content: bytes, what: str, infinite: bool = False) -> dict[str, Any]:
    """The object, or an error that begins with `what`; configs write Infinity for "no limit"."""
    if len(content) > LONGEST:
        raise BadInput(f"{what}: the file has {len(content)} bytes; at most {LONGEST} are read")
    try:
        value = json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once,
            parse_int=_integer,
            parse_float=lambda text: _number(text, infinite),
            parse_constant=lambda text: _number(text, infinite),
        )
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, got {type(value).__name__}")
        if _depth(value) > _DEEPEST:
            raise RecursionError
        if rb"\ud" in content.lower():  # half a character can be escaped, and written by nobody
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeDecodeError as error:
        raise BadInput(f"{what}: not UTF-8 at byte {error.start}") from error
    except RecursionError as error:
        raise BadInput(f"{what}: nested more than {_DEEPEST} deep") from error
    except json.JSONDecodeError as error:
        raise BadInput(f"{what}: not JSON: {error}") from error
    except ValueError as error:
        raise BadInput(f"{what}: {error}") from error
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise ValueError(f"the key {twice[:80]!r} is given twice")
    return value


def _integer(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError(f"the number {text[:20]}… has {len(text)} digits, at most {_DIGITS} are read")
    return int(text)


def _number(text: str, infinite: bool) -> float:
    value = float(text)
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise ValueError(f"{text[:20]} is not a number")
    return value


def _depth(value: Any) -> int:
    """The nesting depth, found level by level without recursion."""
    depth, level = 0, [value]
    while level:
        depth += 1
        level = [
            item
            for outer in level
            for item in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(item, dict | list)
        ]
    return depth
