"""R29: a softmax unit that averages real numbers over sets of places, of which every token asks for its own.

The unit's keys and queries are given as the very floats; no task and no model's file is read.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import ceil, comb, isfinite
from operator import mul

from limen_check.can.rational import Rational
from limen_check.can.vectors import ZERO, Format, exp_above, power
from limen_check.files import expect, need

_SETS, _TOKENS, _SIZE = (
    1 << 12,
    512,
    64,
)  # that are looked at; of which a softmax is made in one piece; of a key
_FINE = 128  # places that are added
_EXP = power(-40)  # what an exponential errs by, in float64: as in X5
Rows = Sequence[Sequence[float]]
Ends = tuple[int, int]


def averaging_error(keys: Rows, queries: Rows, q: int) -> Fraction:
    """How far what is read may be from the mean of z over y, for EVERY set y of q places, all z in [-1, 1].

    float64; one query for each set, in the order of `combinations`; a score is ⟨query, key⟩.
    """
    N = len(keys)
    expect(1 <= q <= N <= _TOKENS and len(queries) == comb(N, q) <= _SETS, "not one query for each set")
    m = len(keys[0])
    well = 1 <= m <= _SIZE and all(len(row) == m and all(map(isfinite, row)) for row in (*keys, *queries))
    expect(well, "keys and queries of one size, of finite numbers")
    known, sets = whole(keys), zip(combinations(range(N), q), queries, strict=True)
    return max(_of_set(y, *_scores(query, *known)) for y, query in sets)


def whole(rows: Rows) -> tuple[list[list[int]], int]:
    """Numbers in units of 2^-places, and how many places."""
    ratios = [[x.as_integer_ratio() for x in row] for row in rows]
    places = max(den.bit_length() - 1 for row in ratios for _, den in row)
    return [[n << places - den.bit_length() + 1 for n, den in row] for row in ratios], places


def _scores(query: Sequence[float], keys: list[list[int]], places: int) -> tuple[list[Ends], Fraction]:
    """Between which numbers each ⟨query, key⟩ is, as it is computed, in any order; and their unit.

    A sum of m products errs by m·u/(1 - m·u) of their sizes, then it is rounded: less than (m + 2)u in all,
    and by twice m of the least numbers where products are subnormal.
    """
    (numbers,), more = whole([query])
    asks, more = [n << _FINE for n in numbers], more + _FINE  # room for errors that are small parts of a unit
    f, m, ends = Format.named("float64"), len(asks), list[Ends]()
    unit = power(-places - more)
    tiny, largest = ceil(2 * m * f.tiny / unit), int(f.largest / unit)
    for key in keys:
        products = list(map(mul, asks, key))
        s, size = sum(products), sum(map(abs, products))
        need(2 * size <= largest, "a score overflows")
        off = -(-size * (m + 2) >> f.t) + tiny if size else 0
        ends.append((s - off, s + off))
    return ends, unit


def _of_set(y: tuple[int, ...], scores: list[Ends], unit: Fraction) -> Fraction:
    """κ - 1 + 2R/W, and the roundings of N weights and of a sum of N products."""
    N, q, u = len(scores), len(y), Format.named("float64").u
    low, high = min(scores[j][0] for j in y), max(scores[j][1] for j in y)
    others = [scores[j][1] for j in {*range(N)} - {*y}]
    need(not others or max(others) < low, "another place may score as much")
    x = (high - low) * unit * (1 + 2 * u)
    need(x <= 1, "places of one set score differently")
    even, stray = (1 + x + x * x) * (1 + _EXP) / (1 - _EXP), ZERO  # e^x ≤ 1 + x + x²
    if others:
        gap = (low - max(others)) * unit * (1 - 2 * u)
        stray = Rational(N - q, q) * even * exp_above(-gap) * (1 + 4 * _EXP)
    rounds = (2 * N + 8) * u / (1 - (2 * N + 8) * u)
    return even - 1 + 2 * stray + 2 * rounds * (even + stray) + N * power(-1000)  # and what is subnormal
