"""Chains of thought (R13) and answers that are functions of rows: induction over the written tokens."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from limen_check.files import need
from limen_check.vectors import NONE, ONE, ZERO, Format, Interval, Joint, Vec

_ROWS = 1 << 16  # of all fields that an answer reads

At = dict[Hashable, Any]  # a row of every field
Also = Mapping[Hashable, Iterable[Any]]  # fields that an answer depends on, with their rows


def readings(x: Vec, columns: Iterable[int], also: Also) -> Iterator[tuple[At, dict[int, Interval]]]:
    """All rows of the fields that these columns depend on, and of some more, with the columns' intervals."""
    terms = {c: x.of(c) for c in columns}
    keys = {field: dict.fromkeys(values) for field, values in also.items()}
    for field in {field: None for found in terms.values() for field in found}:
        for key in x.terms[field].keys:
            for base, value in _apart(field, key).items():
                if base not in also:
                    keys.setdefault(base, {})[value] = None
    need(prod(map(len, keys.values())) <= _ROWS, "the answer reads too many rows")
    where = {field: {key: i for i, key in enumerate(rows.keys)} for field, rows in x.terms.items()}
    for picked in product(*keys.values()):
        at, ends = dict(zip(keys, picked, strict=True)), {}
        for c, found in terms.items():
            v, (lo, hi) = x.const.get(c, ZERO), x.err.get(c, NONE)
            for field, column in found.items():
                i = where[field].get(_together(field, at))
                need(i is not None, "a row is missing")
                v += column.levels[column.at[i or 0]]
            ends[c] = v + lo, v + hi
        yield at, ends


def _apart(field: Hashable, key: Any) -> At:
    """The rows of plain fields that a row of a field stands for."""
    if not isinstance(field, Joint):
        return {field: key}
    return {b: v for part, k in zip(field.fields, key, strict=True) for b, v in _apart(part, k).items()}


def _together(field: Hashable, at: At) -> Any:
    return tuple(_together(part, at) for part in field.fields) if isinstance(field, Joint) else at[field]


def logits_margin(logits: Vec, answers: int, also: Also, right: Callable[[At], int]) -> Fraction:
    """The right logit minus the best wrong one, at least, in all rows."""
    gaps = []
    for at, ends in readings(logits, range(answers), also):
        a = right(at)
        gaps.append(ends[a][0] - max(hi for b, (_, hi) in ends.items() if b != a))
    return min(gaps)


def digits_margin(
    x: Vec, first: int, bits: int, f: Format, also: Also, right: Callable[[At], int]
) -> Fraction:
    """R6 by rows.  logit_a = Σ_i (2a_i - 1)y_i with y_i = 2x_i - 1: digit i stands in column first + i.

    If every y_i has the sign of the right digit, and a size between `least` and `most`, the right answer is
    2·least ahead of any other, but for the rounding of two sums of `bits` numbers.
    """
    ends = []
    for i in range(bits):
        for at, columns in readings(x, [first + i], also):
            sign = 2 * (right(at) >> i & 1) - 1
            ends += [sign * f.rn(2 * v - 1) for v in columns[first + i]]
    if set(ends) == {ONE} and bits * f.u <= 1:
        return Fraction(2)
    return 2 * min(ends) - 2 * bits * max(map(abs, ends)) * (2 * bits * f.acc + f.u)
