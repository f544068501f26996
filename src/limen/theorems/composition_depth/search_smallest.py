r"""The least composition that chain, each_w and pairs rule out for given bits: its sizes are searched, too.

A guess in floating point, as in `search.py`; who asks must check what comes of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

from limen.core.bits import power_bits
from limen.tasks.composition import Composition
from limen.theorems.composition_depth.climb import Point, added, climbed, scaled, spread
from limen.theorems.composition_depth.levels import Levels
from limen.theorems.composition_depth.search import (
    CLEAR,
    GapC,
    LogSizes,
    entries,
    gap_p,
    gap_w,
    groups,
    log_add,
    rounded,
)

_NEAR = 0.05  # how near, in powers of two, the search comes
_STARTS, _CLIMBS = 40, 4  # points at which a search looks first, and climbs from the best of them
_WIDE = 0.5  # a gap so wide that the next smaller size can be looked at
Sized = Callable[[float, Point], float]  # the gap at a size in powers of two, and the free numbers


def guesses(bits: Levels, L: int) -> Iterator[Composition]:
    """Tasks of L hops, each a little larger than the one before, from where one may be ruled out."""
    m, n = (_one_hop(bits), []) if L == 1 else _two_hops(bits) if L == 2 and not bits.β[1] else _hops(bits, L)
    for more in (-0.05, 0, 0.001, 0.01, 0.03, 0.1, 0.3, 1):
        yield Composition(max(2, rounded(m + more)), tuple(rounded(n_l) for n_l in n))


def _one_hop(bits: Levels) -> float:
    """log₂ of the least m with ω_0 + σ_0 < m·log₂m."""
    needed = bits.ω[0] + bits.σ[0]
    low, high = 1, 2
    while power_bits((high, high)) <= needed:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_bits((middle, middle)) > needed else (middle, high)
    return math.log2(high)


def _two_hops(bits: Levels) -> tuple[float, list[float]]:
    """Logarithms of m and n_1 for the routes each_w and pairs, at the fewest tokens m·(1 + n_1)."""

    def split(size: float, at: Point) -> tuple[float, float]:
        n_1 = min(max(at[0], 0.0), size)
        return max(size - log_add(n_1, 0.0), 0.0), n_1

    def gap(size: float, at: Point) -> float:
        m, n_1 = split(size, at)
        v = max(m - max(at[1], 0.0), 0.0) if bits.ω[1] else 0.0
        y = groups(bits, v, m, n_1)
        by_w = gap_w(bits, y, v - y, m - y, n_1, m + n_1)
        return max(by_w, gap_p(bits, entries(bits, m, n_1), m, n_1)) if bits.β[0] else by_w

    most = 2 * math.log2(2 + sum(map(sum, bits))) + 16
    size, at = _least(gap, most, (most / 2, most / 4))
    m, n_1 = split(size, at)
    return m, [n_1]


def _hops(bits: Levels, L: int) -> tuple[float, list[float]]:
    """Logarithms of m and n_1 … for route chain: the smallest log₂N_{L-1} at which a search finds a gap."""
    gap_c, high = GapC.of(bits), 2 * 4 ** (L - 1) * math.log2(2 + sum(map(sum, bits)))
    most = (*[high / 2] * L, *[high / 4] * (L - 1), high)
    size, at = _least(lambda size, at: gap_c(_split(at, size)), high, most)
    logs = _split(at, size)
    return logs.m, list(logs.n)


def _least(gap: Sized, high: float, most: Point) -> tuple[float, Point]:
    """The smallest size with a gap, or one near it, and where; by bisection from `high` on."""
    anywhere = [scaled(point, most) for point in spread(_STARTS, len(most))]
    low = 0.0
    while (best := climbed(partial(gap, high), anywhere, high / 8, _WIDE, _CLIMBS)[0]).value <= CLEAR:
        low, high = high, 2 * high
    while high - low > _NEAR:
        size = (low + high) / 2
        smaller = scaled(best.at, [size / high] * len(most))
        nearer = climbed(partial(gap, size), [smaller, best.at], (high - low) / 4 + 0.5, _WIDE)[0]
        if nearer.value <= CLEAR:  # that may be the wrong hill
            elsewhere = [scaled(at, [size / high] * len(most)) for at in anywhere]
            nearer = climbed(partial(gap, size), elsewhere, size / 8, _WIDE)[0]
        low, high, best = (size, high, best) if nearer.value <= CLEAR else (low, size, nearer)
    return high, best.at


def _split(at: Point, size: float) -> LogSizes:
    """Rows x_0 … x_{L-1}, n_1 … n_{L-1}, v, with m such that N_{L-1} has this size; w_l = n_l."""
    L = len(at) // 2
    n = [max(n_l, 0.0) for n_l in at[L:-1]]
    n = [n_l * min(1.0, size / max(added(n), 1e-9)) for n_l in n]
    m = max(size - added(n), 0.0)
    v = min(max(at[-1], 0.0), m)
    return LogSizes([min(max(at[0], 0.0), v), *(max(x_l, 0.0) for x_l in at[1:L])], n, v, m, n)
