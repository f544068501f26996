"""Files of strangers: certificates, models, weights.  Everything is bounded and typed before any work starts.

JSON is UTF-8, without floats, without a key given twice, not nested deeper than 32.  Weights are the
tensors of a safetensors file, all float64 or, where a rule speaks of them, all float32; every byte of it
is accounted for."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate
from math import isfinite, prod
from typing import Any, NamedTuple

BITS = 1 << 14  # of an integer: no size is larger
DIGITS = 4096  # of a decimal number: Python reads 4300
SCHEMA = "limen/certificate/2"
OTHERS = {  # what else limen writes beside certificates, by its schema, whatever its name
    "limen/model/1": "a model",
    "limen/table/1": "the report of a table",
    "limen/progress/1": "how far a search has come",
    "limen/search/1": "how far a search has come",
}
MOST_JSON, MOST_WEIGHTS, _DEPTH, _DIMENSIONS = 1 << 24, 1 << 30, 32, 4  # bytes, and of nesting
PARTS = 1 << 20  # lists and objects, and texts, of a file: three bytes there, and sixty in memory
_STEPS = bytes({91: 1, 123: 1, 93: 255, 125: 255}.get(byte, 0) for byte in range(256))  # [{ in, ]} out: -1
_CLAIM = {"schema": str, "kind": str, "task": str}
_WEIGHTS = {"precision": str, "steps": int, "weights": str, "margin": str, "hints": dict}
_BOUND = {"architecture": str, "theorem": str, "steps": int, "route": str, "sizes": {str: int}}
_SIDES = {"needs_bits": int | None, "has_bits": int | None, "ceiling": str | None, "distribution": str | None}
_COUNTED = {"unit": str, "needs": int, "has": int}  # of a bound that counts something else than bits
_KINDS: dict[str, dict[str, Any]] = {
    "bound": _CLAIM | _BOUND | _SIDES,
    "exact_bound": _CLAIM | {"architecture": str, "theorem": str, "arithmetic": str} | _COUNTED,
    "exact_ceiling": _CLAIM
    | {"architecture": str, "theorem": str, "arithmetic": str, "ceiling": str, "distribution": str},
    "table_bound": _CLAIM
    | {"architecture": str, "theorem": str, "steps": int, "alphabet": int, "needs_bits": int, "has_bits": int}
    | {"prefixes": [[int]], "suffixes": [[int]], "answers": [[int]]},
    "machine": _CLAIM | {"architecture": str, "bits": int},
    "solves": _CLAIM | _WEIGHTS,
    "fits": _CLAIM | _WEIGHTS | {"architecture": str},
    "correct_everywhere": _CLAIM | {"precision": str, "weights": str, "margin": str, "proof": [[[int]]]},
}
_DTYPES: dict[str, tuple[str, Any, int]] = {"float32": ("F32", "f", 4), "float64": ("F64", "d", 8)}
_CODE = {"of": str, "div": int, "table": str, "column": int}
_CODES = {"width": int, "tables": [(str, int, int)], "segments": [{"count": int, "codes": [_CODE]}]}
_HEADER = {
    "schema": str, "architecture": str, "width": int, "answers": int, "embedding": str | dict,
    "locals": [str | None], "norm": bool, "residual": bool, "readout": str,
}  # fmt: skip


def printable(text: str, most: int = 2000) -> str:
    """A stranger's text as data: nothing in it moves a cursor, ends a line or turns one around.

    What is not printable is escaped: control characters, separators of lines, marks of direction, half
    characters.  A long text is cut.
    """
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)


class _Said(Exception):
    # Why something is not so; the words may hold those of a file.
    def __init__(self, why: str) -> None:
        super().__init__(printable(why))


class Malformed(_Said):
    """The file is not what it should be: exit 2."""


class Refused(_Said):
    """Well-formed, but what it claims does not hold or cannot be derived: exit 1."""


class Stopped(Malformed):
    """A file made the kernel raise something else: nothing was derived, and nothing is said of it: exit 2."""


def need(met: object, why: str, error: type[Exception] = Refused) -> None:
    """A step of a derivation."""
    if not met:
        raise error(why)


def expect(met: object, why: str) -> None:
    """A property of the file."""
    need(met, why, Malformed)


def shown(number: int) -> str:
    """A number in words; a long one by its length."""
    return str(number) if number.bit_length() <= 256 else f"2^{number.bit_length() - 1}.…"


def about(x: Fraction) -> str:
    """A rational to six digits; one beyond all floats by its power of two."""
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return f"{float(x):.6g}" if abs(e) < 1000 else f"{'-' * (x < 0)}2^{e}.…"


def typed(value: Any, kind: Any, where: str) -> None:
    """{…}: an object with exactly these keys, {str: k}: with any; [k]: a list, (k, …): a list so long."""
    if isinstance(kind, dict):
        expect(isinstance(value, Mapping), f"{where} must be an object")
        free = kind.get(str)
        wrong = [] if free else sorted(set(kind) ^ set(value))
        expect(not wrong, f"{where}: the field {wrong and wrong[0][:40]!r} is missing or unknown")
        for key in value:
            typed(value[key], free or kind[key], f"{where}: {key[:40]}")
    elif isinstance(kind, list | tuple):
        if not isinstance(value, list) or (isinstance(kind, tuple) and len(value) != len(kind)):
            raise Malformed(f"{where} must be a list{f' of {len(kind)}' if isinstance(kind, tuple) else ''}")
        if kind == [int] and all(type(item) is int and item.bit_length() <= BITS for item in value):
            return  # as below, quicker: a proof has a million such lists
        for i, item in enumerate(value):
            typed(item, kind[i if isinstance(kind, tuple) else 0], f"{where}[{i}]")
    else:
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        expect(right, f"{where} must be of type {getattr(kind, '__name__', kind)}")
        expect(not isinstance(value, int) or value.bit_length() <= BITS, f"{where} is too large")


def read_json(content: bytes, floats: bool = False) -> Any:
    """Strict JSON: nothing of it is read in two ways.  Only of what is no certificate floats are read."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        expect(len(dict(pairs)) == len(pairs), "a key is given twice")
        return dict(pairs)

    def number(text: str) -> Any:
        if floats:
            return float(text)
        raise Malformed(f"{text[:20]}: numbers are integers, or rationals in a string")

    expect(len(content) <= MOST_JSON, f"more than {MOST_JSON} bytes of JSON")
    expect(content.count(b'"') <= 2 * PARTS, f"more than {PARTS} texts in JSON")
    plain = _without_strings(content)
    expect(plain.count(b"[") + plain.count(b"{") <= PARTS, f"more than {PARTS} lists and objects in JSON")
    depth = max(accumulate(memoryview(plain.translate(_STEPS)).cast("b")), default=0)
    expect(depth <= _DEPTH, f"JSON nested deeper than {_DEPTH}")
    long = re.search(rb"(?<![0-9])[0-9]{%d}" % (DIGITS + 1), plain)  # tried once a number, not once a digit
    expect(long is None, f"a number of more than {DIGITS} digits")
    try:
        text = content.decode("utf-8")
        return json.loads(text, object_pairs_hook=once, parse_float=number, parse_constant=number)
    except ValueError as error:
        raise Malformed(f"not JSON: {error}") from error


def _without_strings(content: bytes) -> bytes:
    """What stands outside of strings, in one pass each: a stranger's file has as many marks as it likes."""
    marks = content.replace(rb"\\", b"").replace(rb"\"", b"")  # now every quote begins a string or ends one
    return b" ".join(marks.split(b'"')[::2])


def claimed(c: Any) -> dict[str, Any]:
    """A certificate: every field of its kind is there and of its type, and no other."""
    expect(isinstance(c, Mapping) and c.get("schema") == SCHEMA, f"the field schema must be {SCHEMA!r}")
    expect(c.get("kind") in list(_KINDS), f"the field kind must be one of {', '.join(_KINDS)}")
    counted = _COUNTED if c["kind"] == "bound" and "unit" in c else {}
    typed(c, _KINDS[c["kind"]] | counted, c["kind"])
    expect(c.get("steps", 0) >= 0, "steps must be 0 or more")
    expect(re.fullmatch("[0-9a-f]{64}", c.get("weights", "0" * 64)), "weights must be a SHA-256")
    return dict(c)


def rational(text: str) -> Fraction:
    """A number written p/q or p."""
    written = re.fullmatch(rf"(-?[0-9]{{1,{DIGITS}}})(?:/([0-9]{{1,{DIGITS}}}))?", text)
    if written is None or not int(written[2] or 1):
        raise Malformed(f"{text[:40]!r} is not a rational p/q")
    return Fraction(int(written[1]), int(written[2] or 1))


class Weight(NamedTuple):
    # A tensor, its numbers row after row: all dimensions but the last count rows, a vector is one.
    shape: tuple[int, ...]
    numbers: Sequence[float]


class Model(NamedTuple):  # `model.json` as it stands, the weights by name, and the SHA-256 of both files
    header: dict[str, Any]
    weights: dict[str, Weight]
    digest: str


def model(header: bytes, packed: bytes, precision: str = "float64") -> Model:
    """Reads `model.json` and `model.safetensors`, whose numbers all have this precision."""
    h = read_json(header)
    typed(h, _HEADER, "model.json")
    expect(h["schema"] == "limen/model/1", "model.json: the schema must be 'limen/model/1'")
    if isinstance(h["embedding"], dict):
        typed(h["embedding"], _CODES, "model.json: embedding")
    length = len(header).to_bytes(8, "little")  # where one file ends is a part of what is meant
    import hashlib  # it loads OpenSSL, for this one sum

    return Model(h, _tensors(packed, precision), hashlib.sha256(length + header + packed).hexdigest())


def _tensors(packed: bytes, precision: str) -> dict[str, Weight]:
    """Eight bytes of length, a JSON header, then the numbers: tensors lie end to end, none over another."""
    expect(sys.byteorder == "little", "weights are read on little-endian machines only")
    expect(8 <= len(packed) <= MOST_WEIGHTS, f"weights have between 8 and {MOST_WEIGHTS} bytes")
    start = 8 + int.from_bytes(packed[:8], "little")
    expect(start <= len(packed), "the weights' header is longer than the file")
    entries = read_json(packed[8:start])
    typed(entries, {str: {"dtype": str, "shape": [int], "data_offsets": (int, int)}}, "weights")
    expect(precision in _DTYPES, f"weights are read in {' or '.join(_DTYPES)}")
    (dtype, code, size), body, weights, at = _DTYPES[precision], memoryview(packed)[start:], {}, 0
    for name, entry in sorted(entries.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        (low, high), shape, where = entry["data_offsets"], tuple(entry["shape"]), f"weight {name[:40]!r}"
        expect(
            entry["dtype"] == dtype and 1 <= len(shape) <= _DIMENSIONS, f"{where} is no {precision} tensor"
        )
        expect(all(0 <= side <= MOST_WEIGHTS for side in shape), f"{where}: no such shape")
        expect(low == at and high == low + size * prod(shape) <= len(body), f"{where}: its place is wrong")
        numbers = body[low:high].cast(code)
        finite = isfinite(sum(numbers)) or all(map(isfinite, numbers))  # what is not makes a sum that is not
        expect(finite, f"{where} is not finite")
        weights[name], at = Weight(shape, numbers), high
    expect(at == len(body), "the weights' file holds more than its tensors")
    return weights
