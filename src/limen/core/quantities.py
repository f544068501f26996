"""Sizes as people write them, 24GiB, 128k, and numbers in words."""

from __future__ import annotations

import math
import re

from limen.errors import BadInput, shortened

LONGEST = 2**80  # tokens: no text of `tokens` below means more
SEVERAL = 1024  # numbers that one text may stand for
PRACTICAL = 2**40  # tokens: a longer text is nobody's
UNREAL = "no realistic context is ruled out"  # by a bound beyond it
ASYMPTOTIC = f"impossible in texts that are long enough; {UNREAL}"

_MEMORY = {"b": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_MEMORY |= {"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_TOKENS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}
_TOKEN_BITS = 64  # of a number of tokens: nobody means more
WHOLE = r"[0-9]+(?:\^[0-9]+|e[0-9]+|[kKMG](?![A-Za-z0-9_]))?"  # 4096, 2^20, 1e6, 128k
_REAL = re.compile(r"(?:[0-9]{1,15}(?:\.[0-9]{0,15})?|\.[0-9]{1,15})(?:e[+-]?[0-9]{1,3})?")
_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,6})?)\s*([a-zA-Z]*)")


def whole(text: str, bits: int) -> int | None:
    """An integer as WHOLE has it; None if it has more bits than these.

    >>> whole("2^20", 64), whole("1e6", 64), whole("128k", 64), whole("9^4096", 64)
    (1048576, 1000000, 131072, None)
    """
    factor, base, exponent = 1, text, "1"
    if "^" in text:
        base, exponent = text.split("^")
    elif "e" in text:
        base, (digits, exponent) = "10", text.split("e")
        factor = _digits(digits, bits)
    elif text[-1].lower() in _TOKENS:
        base, factor = text[:-1], _TOKENS[text[-1].lower()]
    b, e = _digits(base, bits), _digits(exponent, bits)
    if (b.bit_length() - 1) * e > bits:  # the power has so many bits, or more
        return None
    value: int = factor * b**e
    return value if value.bit_length() <= bits else None


def _digits(text: str, bits: int) -> int:
    """A number written out; one with very many digits counts as 2^bits."""
    return int(text) if len(text) <= bits // 3 else 1 << bits


def numbers(text: str) -> list[int]:
    """Several integers with commas between them.

    >>> numbers("4,16, 2^6")
    [4, 16, 64]
    """
    parts = [part.strip() for part in text.split(",")]
    read = [whole(part, _TOKEN_BITS) if re.fullmatch(WHOLE, part) else None for part in parts]
    if None in read:
        raise BadInput(f"expected integers with commas between them, such as 4,16,64, got {shortened(text)}")
    return [number for number in read if number is not None]


def ranges(text: str) -> list[int]:
    """Several integers, or ranges of them with both ends, with commas between them.

    >>> ranges("0..3"), ranges("7, 1..2")
    ([0, 1, 2, 3], [7, 1, 2])
    """
    expected = f"expected integers or ranges such as 0..7 or 0,3,5, got {shortened(text)}"
    written = [re.fullmatch(rf"({WHOLE})(?:\.\.({WHOLE}))?", part.strip()) for part in text.split(",")]
    ends = [(whole(m[1], _TOKEN_BITS), whole(m[2] or m[1], _TOKEN_BITS)) for m in written if m is not None]
    read = [range(a, b + 1) for a, b in ends if a is not None and b is not None and a <= b]
    if len(read) < len(written):
        raise BadInput(expected)
    if sum(map(len, read)) > SEVERAL:
        raise BadInput(f"{shortened(text)} are more than {SEVERAL:,} numbers")
    return [number for some in read for number in some]


def reals(text: str) -> list[float]:
    """Several numbers with commas between them.

    >>> reals("1e-3, 0.003,1")
    [0.001, 0.003, 1.0]
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(map(_REAL.fullmatch, parts)) or len(parts) > SEVERAL:
        raise BadInput(f"expected numbers with commas between them, such as 1e-3,3e-3, got {shortened(text)}")
    return [float(part) for part in parts]


def memory(text: str) -> int:
    """Bytes: GiB are 2**30, GB are 10**9.

    >>> memory("24GiB"), memory("1.5 GB"), memory("512")
    (25769803776, 1500000000, 512)
    """
    return _size(text, {"": 1, **_MEMORY}, "a size of memory, such as 24GiB, 80GB or 512MiB")


def tokens(text: str) -> int:
    """A length: k is 1,024.

    >>> tokens("128k"), tokens("1M"), tokens("4096"), tokens("2^17"), tokens("1.5k")
    (131072, 1048576, 4096, 131072, 1536)
    """
    if re.fullmatch(WHOLE, text.strip()) and (size := whole(text.strip(), _TOKEN_BITS)) is not None:
        return size
    return _size(text, _TOKENS, "a number of tokens, such as 4096, 128k, 1M, 2^20 or 1e6")


def seconds(text: str) -> float:
    """A time.

    >>> seconds("60s"), seconds("5m"), seconds("2"), seconds("1.5h")
    (60.0, 300.0, 2.0, 5400.0)
    """
    match = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)\s*(s|m|h|)", text.strip())
    if match is None:
        raise BadInput(f"{shortened(text)} is not a time, such as 60s, 5m or 1.5h")
    return float(match[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[match[2]]


def _size(text: str, units: dict[str, int], expected: str) -> int:
    match = _SIZE.fullmatch(text.strip())
    if match is None or match[2].lower() not in units:
        raise BadInput(f"{text!r} is not a size; expected {expected}")
    whole, _, part = match[1].partition(".")
    unit, scale = units[match[2].lower()], int("1" + "0" * len(part))
    if unit == 1 and int(part or "0"):
        raise BadInput(f"{text!r} is not a whole number; expected {expected}")
    return int(whole + part) * unit // scale


def many(count: int) -> str:
    """A number with commas; from 2^64 on as a power of two.

    >>> many(1234), many(10**60)
    ('1,234', 'about 2^199.316')
    """
    return f"{count:,}" if count.bit_length() <= 64 else f"about 2^{math.log2(count):.6g}"


def power_of_two(log: float) -> str:
    """2^log, four digits of the exponent.

    >>> power_of_two(199.316), power_of_two(485_431.7)
    ('2^199.3', '2^485,400')
    """
    return f"2^{float(f'{log:.4g}'):,.15g}"


def percent(share: float) -> str:
    """A share in percent, rounded up, so that it stays a bound.

    >>> percent(0.5), percent(0.99999999)
    ('50 %', '100 %')
    """
    for unit in (1e3, 1e4, 1e5, 1e6):  # more digits near certainty
        if (up := math.ceil(share * unit)) < unit:
            return f"{up / unit * 100:g} %"
    return "100 %"


def says_less_than_all(share: float) -> bool:
    """Whether a ceiling says anything once it is written in percent."""
    return percent(share) != "100 %"


def in_bytes(count: int) -> str:
    """A number of bytes in its unit, as in 4.504 GiB."""
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:,.4g} {unit}"


def plural(count: int, what: str, several: str = "") -> str:
    """A number and its noun: 1 layer, 2 layers; `several`: the noun's plural where it is not + s."""
    return f"{count:,} {what if count == 1 else several or f'{what}s'}"


def thought(steps: int) -> str:
    """The words for a chain of thought in a sentence about an architecture; empty for no steps."""
    return f" with {plural(steps, 'step')} of chain of thought" if steps else ""
