r"""Free sizes for `cannot_sandwich` of proofs/two_hops_cover.v: a search in floats, done again in integers.

x_1 functions on one of y = ⌊m/x_0⌋ blocks of x_0 entries take more than k values if, with T = x_0·x_1,

    s·x_1/y + (m-k)·log₂(m/(m-k)) < (T-k)·log₂(m/k)

The fractions a/b, e/c and p/q stand for the three logarithms, p/q for log₂(n_1·m).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from math import floor, inf, log1p, log2

from limen.coq.statement import WRITTEN
from limen.coq.writers._composition_hops import Sandwich, sandwich_holds
from limen.tasks.composition import Composition
from limen.theorems.composition_depth.climb import Point, climbed, scaled, spread

_STARTS, _CLIMBS = 64, 4  # points at which the search looks first, and climbs from the best of them
_HALVINGS = 60  # of the interval in which k is sought
_SHARES = (
    0.0,
    1e-5,
    3e-5,
    1e-4,
    3e-4,
    1e-3,
    3e-3,
    1e-2,
    3e-2,
)  # by which k is made smaller for the fractions' sake
DIGITS = (2**9, 2**11, 2**12, 2**13, WRITTEN)  # of a power, in bits: Coq is faster with few


def free(task: Composition, layers: Sandwich) -> dict[str, int] | None:
    """x0, x1, y, k and the fractions, if the search finds some that hold."""
    if task.length.bit_length() > 60 or max(layers) > 2**60:
        return None  # beyond what floats tell apart
    top = log2(task.m)
    starts = [scaled(point, (top, top + 8)) for point in spread(_STARTS, 2)]
    best = climbed(lambda at: _gain(task, layers, at), starts, (top + 8) / 8, climbs=_CLIMBS)[:_CLIMBS]
    for digits in DIGITS:
        for seen in best:
            if (sizes := _whole(task, layers, seen.at, digits)) is not None:
                return sizes
    return None


def _sizes(task: Composition, at: Point) -> tuple[int, int]:
    """x_0 and x_1 of their logarithms."""
    x0, x1 = (floor(2 ** min(max(log, 0.0), log2(task.m) + 8)) for log in at)
    return min(x0, task.m), x1


def _gain(task: Composition, layers: Sandwich, at: Point) -> float:
    """Bits that are left, as a share of those that are asked for."""
    (s, β, s2), n_1 = layers, task.n[0]
    x0, x1 = _sizes(task, at)
    k = _most(task.m, s, x0, x1)
    needs = n_1 * (k + 1) * log2(n_1 * task.m)
    return 1 - (s + x1 * s2 + β * (n_1 + 1) * x0) / needs if k else -inf


def _most(m: int, s: int, x0: int, x1: int) -> int:
    """The most values that are surely taken, less one; 0 where there is none."""
    low, high = 0.0, float(min(x0 * x1, m - 1))
    for _ in range(_HALVINGS):
        k = max((low + high) / 2, 1e-9)
        slack = (x0 * x1 - k) * log2(m / k) + (m - k) * log1p(-k / m) / math.log(2) - s * x1 / (m // x0)
        low, high = (k, high) if slack > 0 else (low, k)
    return floor(low)


def _whole(task: Composition, layers: Sandwich, at: Point, digits: int) -> dict[str, int] | None:
    x0, x1 = _sizes(task, at)
    most = _most(task.m, layers.s, x0, x1)
    p, q = below(task.N(1), 1, digits)
    for share in _SHARES:
        k = int(most * (1 - share))
        if k < 1:
            return None
        a, b = below(task.m, k, digits)
        e, c = above(task.m, task.m - k, digits)
        sizes = {
            "x0": x0,
            "x1": x1,
            "y": task.m // x0,
            "k": k,
            "a": a,
            "b": b,
            "c": c,
            "e": e,
            "p": p,
            "q": q,
        }
        if sandwich_holds(task, layers, sizes):
            return sizes
    return None


def below(x: int, y: int, digits: int) -> tuple[int, int]:
    """a/b ≤ log₂(x/y), the nearest whose powers have no more digits."""
    return max(((_log(p, q), b) for b, p, q in _powers(x, y, digits)), key=lambda f: Fraction(*f))


def above(x: int, y: int, digits: int) -> tuple[int, int]:
    """e/c ≥ log₂(x/y)."""
    logs = ((_log(p, q), p, q, c) for c, p, q in _powers(x, y, digits))
    return min(((e + (p != q << e), c) for e, p, q, c in logs), key=lambda f: Fraction(*f))


def _log(p: int, q: int) -> int:
    """⌊log₂(p/q)⌋ for p ≥ q, without a division."""
    e = p.bit_length() - q.bit_length()
    return e - (p < q << e)


def _powers(x: int, y: int, digits: int) -> Iterator[tuple[int, int, int]]:
    """b, x^b, y^b as long as these have no more digits."""
    p, q = 1, 1
    for b in range(1, 1 + max(1, digits // x.bit_length())):
        p, q = p * x, q * y
        yield b, p, q
