"""Files of strangers: certificates, models, weights.  Everything is bounded and typed before any work starts.

JSON is UTF-8, without floats, without a key given twice, not nested deeper than 32.  Weights are the float64
tensors of a safetensors file, every byte of it accounted for.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import isfinite, prod
from typing import Any, NamedTuple

BITS = 4096  # of an integer: no size is larger
_JSON_BYTES, _WEIGHT_BYTES, _DEPTH, _DIMENSIONS = 1 << 24, 1 << 30, 32, 4
SCHEMA = "limen/certificate/2"


class Malformed(Exception):
    """The file is not what it should be: exit 2."""


class Refused(Exception):
    """Well-formed, but what it claims does not hold or cannot be derived: exit 1."""


def need(met: bool, why: str) -> None:
    """A step of a derivation."""
    if not met:
        raise Refused(why)


def expect(met: bool, why: str) -> None:
    """A property of the file."""
    if not met:
        raise Malformed(why)


def shown(number: int) -> str:
    """A number in words; a long one by its length."""
    return str(number) if number.bit_length() <= 256 else f"2^{number.bit_length() - 1}.…"


_CLAIM = {"schema": str, "kind": str, "task": str}
_WEIGHTS = {"precision": str, "steps": int, "weights": str, "margin": str, "hints": dict}
_BOUND = {"architecture": str, "theorem": str, "steps": int, "route": str, "sizes": {str: int}}
_SIDES = {"needs_bits": int | None, "has_bits": int | None, "ceiling": str | None, "distribution": str | None}
KINDS: dict[str, dict[str, Any]] = {
    "bound": _CLAIM | _BOUND | _SIDES,
    "machine": _CLAIM | {"architecture": str, "bits": int},
    "solves": _CLAIM | _WEIGHTS,
    "fits": _CLAIM | _WEIGHTS | {"architecture": str},
}
_CODES = {
    "width": int,
    "tables": [(str, int, int)],
    "segments": [{"count": int, "codes": [{"of": str, "div": int, "table": str, "column": int}]}],
}
_HEADER = {
    "schema": str, "architecture": str, "width": int, "answers": int, "embedding": str | dict,
    "locals": [str | None], "norm": bool, "residual": bool, "readout": str,
}  # fmt: skip


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
        same = isinstance(value, list) and (isinstance(kind, list) or len(value) == len(kind))
        expect(same, f"{where} must be a list{f' of {len(kind)}' if isinstance(kind, tuple) else ''}")
        for i, item in enumerate(value):
            typed(item, kind[i if isinstance(kind, tuple) else 0], f"{where}[{i}]")
    else:
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        expect(right, f"{where} must be of type {getattr(kind, '__name__', kind)}")
        expect(not isinstance(value, int) or value.bit_length() <= BITS, f"{where} is too large")


def certificate(content: bytes) -> dict[str, Any]:
    """Reads a certificate; every field of its kind is there and of its type, and no other."""
    c = read_json(content)
    claimed(c)
    return dict(c)


def kind_of(content: bytes) -> str | None:
    """The kind that a file says it is of, whoever checks that kind."""
    c = read_json(content)
    return c.get("kind") if isinstance(c, dict) and c.get("schema") == SCHEMA else None


def claimed(c: Any) -> None:
    """The same for a certificate that has been read."""
    expect(isinstance(c, Mapping) and c.get("schema") == SCHEMA, f"the field schema must be {SCHEMA!r}")
    expect(c.get("kind") in list(KINDS), f"the field kind must be one of {', '.join(KINDS)}")
    typed(c, KINDS[c["kind"]], c["kind"])
    expect(c.get("steps", 0) >= 0, "steps must be 0 or more")
    expect(re.fullmatch("[0-9a-f]{64}", c.get("weights", "0" * 64)) is not None, "weights must be a SHA-256")


def rational(text: str) -> Fraction:
    """A number written p/q or p."""
    digits = BITS // 4
    found = re.fullmatch(rf"(-?[0-9]{{1,{digits}}})(?:/([0-9]{{1,{digits}}}))?", text)
    if found is None or not int(found[2] or 1):
        raise Malformed(f"{text[:40]!r} is not a rational p/q")
    return Fraction(int(found[1]), int(found[2] or 1))


def read_json(content: bytes) -> Any:
    """Strict JSON: nothing of it is read in two ways."""
    expect(len(content) <= _JSON_BYTES, f"more than {_JSON_BYTES} bytes of JSON")
    depth = 0  # strings are passed over whole
    for mark in re.finditer(rb'"(?:[^"\\]|\\.)*"?|[\[{\]}]', content, re.DOTALL):
        depth += {b"[": 1, b"{": 1, b"]": -1, b"}": -1}.get(mark[0], 0)
        expect(depth <= _DEPTH, f"JSON nested deeper than {_DEPTH}")
    try:
        return json.loads(
            content.decode("utf-8"),
            object_pairs_hook=_once, parse_int=_int, parse_float=_no_float, parse_constant=_no_float,
        )  # fmt: skip
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Malformed(f"not JSON: {error}") from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    expect(len(found) == len(pairs), "a key is given twice")
    return found


def _int(digits: str) -> int:
    expect(len(digits) <= BITS // 3, f"the number {digits[:20]} is too large")
    return int(digits)


def _no_float(text: str) -> Any:
    raise Malformed(f"{text[:20]}: numbers are integers, or rationals in a string")


class Rows:
    """The rows of a tensor (of a vector: one), made when they are read: a table may have 10^6 of them."""

    def __init__(self, numbers: Sequence[float], columns: int) -> None:
        self.numbers, self.columns = numbers, columns

    def __len__(self) -> int:
        return len(self.numbers) // max(1, self.columns)

    def __getitem__(self, i: int) -> Sequence[float]:
        if not 0 <= i < len(self):
            raise IndexError(i)
        return self.numbers[i * self.columns : (i + 1) * self.columns]


class Weight(NamedTuple):
    """A tensor: all dimensions but the last count rows."""

    shape: tuple[int, ...]
    rows: Rows


class Model(NamedTuple):
    """`model.json` as it stands, the weights by name, and the SHA-256 of both files."""

    header: dict[str, Any]
    weights: dict[str, Weight]
    digest: str


def model(header: bytes, packed: bytes) -> Model:
    """Reads `model.json` and `model.safetensors`."""
    h = read_json(header)
    typed(h, _HEADER, "model.json")
    expect(h["schema"] == "limen/model/1", "model.json: the schema must be 'limen/model/1'")
    if isinstance(h["embedding"], dict):
        typed(h["embedding"], _CODES, "model.json: embedding")
    length = len(header).to_bytes(8, "little")  # where one file ends is a part of what is meant
    return Model(h, _tensors(packed), hashlib.sha256(length + header + packed).hexdigest())


def _tensors(packed: bytes) -> dict[str, Weight]:
    """Eight bytes of length, a JSON header, then the numbers: tensors lie end to end, none over another."""
    expect(sys.byteorder == "little", "weights are read on little-endian machines only")
    expect(8 <= len(packed) <= _WEIGHT_BYTES, f"weights have between 8 and {_WEIGHT_BYTES} bytes")
    start = 8 + int.from_bytes(packed[:8], "little")
    expect(start <= len(packed), "the weights' header is longer than the file")
    entries = read_json(packed[8:start])
    typed(entries, {str: {"dtype": str, "shape": [int], "data_offsets": (int, int)}}, "weights")
    weights, body, at = {}, memoryview(packed)[start:], 0
    for name, entry in sorted(entries.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        (low, high), shape, where = entry["data_offsets"], tuple(entry["shape"]), f"weight {name[:40]!r}"
        expect(entry["dtype"] == "F64" and len(shape) <= _DIMENSIONS, f"{where} is no float64 tensor")
        expect(all(0 <= side <= _WEIGHT_BYTES for side in shape), f"{where}: no such shape")
        expect(low == at and high == low + 8 * prod(shape) <= len(body), f"{where}: its place is wrong")
        numbers = body[low:high].cast("d")
        expect(all(map(isfinite, numbers)), f"{where} is not finite")
        weights[name], at = Weight(shape, Rows(numbers, shape[-1] if shape else 1)), high
    expect(at == len(body), "the weights' file holds more than its tensors")
    return weights
