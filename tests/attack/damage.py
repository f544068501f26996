"""One place of a value changed: what a forger would write there, and what nobody means."""

import copy
import random
import re
from typing import Any

NUMBERS = [
    0,
    1,
    -1,
    2,
    3,
    63,
    64,
    2**16,
    2**31,
    2**32,
    2**62,
    2**63,
    2**64,
    10**19,
    10**40,
    10**300,
    10**1200,
]
STRANGE: list[Any] = [
    None, True, False, *NUMBERS, -(10**40), 0.5, 1e300, "", "0", "1/0", "-1", "1/3", "9" * 400, "1" * 5000,
    "\x1b[2J", "a\nvalid", "\u202e", "\ud800", [], {}, [[]], [[[0]]], {"a": {}}, {"": 0}, [0] * 300, "(" * 40,
    "x" * 3000,
]  # fmt: skip
POWERS = ["0", "1", "2", "3", "7", "16", "2^10", "2^34", "2^37", "2^62", "2^80", "2^4000", "2^16383",
          "10^4000", "9^99999", "-1", "007", "1.5", "true", "n", ""]  # fmt: skip
SIGNS = "()|,*=^:.- 0129azAZ_é\u0661\n\x00\x1b"


def changed(value: Any, rng: random.Random) -> Any:
    """A copy in which one place is another: any depth, any way."""
    value = copy.deepcopy(value)
    if isinstance(value, dict | list) and value and rng.random() < 0.9:
        key = rng.choice([*value]) if isinstance(value, dict) else rng.randrange(len(value))
        way = rng.random()
        if way < 0.08:
            del value[key]
        elif way < 0.16:
            _added(value, key, rng)
        else:
            value[key] = changed(value[key], rng)
        return value
    return other(value, rng)


def _added(value: Any, key: Any, rng: random.Random) -> None:
    """One more, of a strange name or the same again."""
    if isinstance(value, list):
        value.insert(key, rng.choice([value[key], rng.choice(STRANGE)]))
    else:
        value[rng.choice(["extra", "\x1b[2J", "", f"{key} ", str(key).upper()])] = value[key]


def other(value: Any, rng: random.Random) -> Any:
    """Another value in the place of one."""
    if rng.random() < 0.3:
        return rng.choice(STRANGE)
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0, 1])
    if isinstance(value, int):
        near = [value + 1, value - 1, 2 * value, value // 2, -value, value + (1 << rng.randrange(70))]
        return rng.choice([*near, *NUMBERS, str(value)])
    if isinstance(value, str):
        return rewritten(value, rng)
    return rng.choice(STRANGE)


def rewritten(text: str, rng: random.Random) -> str:
    """One number, one sign or one stretch of a text is another."""
    way, numbers = rng.random(), list(re.finditer(r"\d+(?:\^\d+)?", text))
    if way < 0.5 and numbers:
        found = rng.choice(numbers)
        near = (
            str(int(found[0]) + rng.choice([1, -1, 2]))
            if len(found[0]) < 99 and found[0].isdigit()
            else found[0]
        )
        new = rng.choice([near, near, *POWERS])
        return f"{text[: found.start()]}{new}{text[found.end() :]}"
    at = rng.randrange(len(text) + 1)
    to = min(len(text), at + rng.choice([0, 1, 1, 2, 5, 20]))
    piece = rng.choice([rng.choice(SIGNS), "", text[at:to] * 2, text[: rng.randrange(1, 30)]])
    return f"{text[:at]}{piece}{text[to:]}"


def bytes_changed(content: bytes, rng: random.Random) -> bytes:
    """A byte, a number of eight bytes, an end that is cut off or added."""
    way, at = rng.random(), rng.randrange(len(content) or 1)
    if way < 0.3:
        return content[:at] + bytes([rng.randrange(256)]) + content[at + 1 :]
    if way < 0.6:
        number = rng.choice([0, 1, len(content), 2**31, 2**32 - 1, 2**62, 2**63, 2**64 - 1])
        return content[:at] + number.to_bytes(8, "little") + content[at + 8 :]
    if way < 0.8:
        return content[:at]
    return content[:at] + content[at:] * 2 if way < 0.9 else content[:at] + content[at + rng.randrange(16) :]
