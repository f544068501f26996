r"""The smallest composition that the routes C, W and P rule out for given bits: a search over its sizes, too.

A guess in floating point, as in `search.py`; who asks must check what comes of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from limen.core.arrays import np
from limen.core.bits import power_bits
from limen.tasks.composition import Composition
from limen.theorems.composition_depth.inequality import Levels
from limen.theorems.composition_depth.search import (
    CLEAR,
    Logs,
    Rows,
    climbed,
    entries,
    gap_c,
    gap_p,
    gap_w,
    groups,
    log_sum,
    rounded,
)

_STEPS = 1.0, 0.25, 0.05  # of the logarithms of m and n_1: ever finer around the best
_NEAR = 0.05  # how near, in powers of two, the search for route C comes
_WIDE = 0.5  # a gap so wide that the next smaller size can be looked at
_ROUNDS = {2: (10, 8), 3: (30, 25)}  # by hops: of the search at the first size, and at each next one


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
    """Logarithms of m and n_1 for the routes W and P, on a grid."""
    most = math.log2(2 + sum(map(sum, bits))) + 8
    m, n_1 = np.arange(0, most), np.arange(0, most)
    thinner = bits.β[0] > 0 and bits.ω[1] > 0  # whether it may pay that few entries of z_1 vary
    found = 0.0, 0.0
    for step in _STEPS:
        less = np.arange(0, 12, max(step, 0.25)) if thinner else np.zeros(1)
        M, N, less = np.meshgrid(m, n_1, less, indexing="ij")
        v = np.maximum(M - less, 0) if bits.ω[1] else np.zeros_like(M)
        y = groups(bits, v, M, N)
        gap = gap_w(bits, y, v - y, M - y, N, M + N)
        if bits.β[0]:
            gap = np.maximum(gap, gap_p(bits, entries(bits, M, N), M, N))
        tokens = np.where(gap > 0, M + log_sum(N, 0.0), math.inf)
        best = np.unravel_index(np.argmin(tokens), tokens.shape)
        found = float(M[best]), float(N[best])
        m, n_1 = (np.maximum(0, at + np.arange(-1, 1.01, 0.25) * step) for at in found)
    return found[0], [found[1]]


def _hops(bits: Levels, L: int) -> tuple[float, list[float]]:
    """Logarithms of m and n_1 … for route C: the smallest log₂N_{L-1} at which a search still finds a gap."""
    rng = np.random.default_rng(1)
    first, later = _ROUNDS[L]

    def found(start: Logs, size: float, rounds: int, far: float) -> Logs | None:
        gap, rows = climbed(lambda θ: gap_c(bits, _split(θ, size)), start, rounds, far, rng, _WIDE)
        return rows if gap > CLEAR else None

    low, high = 0.0, 2 * 4 ** (L - 1) * math.log2(2 + sum(map(sum, bits)))
    anywhere = rng.random((400, 2 * L)) * np.array([high / 2] * L + [high / 4] * (L - 1) + [high])
    while (best := found(anywhere, high, first, high / 8)) is None:
        low, high = high, 2 * high
    while high - low > _NEAR:
        size = (low + high) / 2
        start = np.concatenate([best * size / high, best, anywhere])
        better = found(start, size, later, (high - low) / 4 + 0.5)
        if better is None and L > 2:  # the good rows may all lie on the wrong hill
            better = found(anywhere * size / high, size, first, size / 8)
        low, high, best = (size, high, best) if better is None else (low, size, better)
    sizes = _split(best[:1], high)
    return float(sizes.m[0]), [float(n_l) for n_l in sizes.n[0]]


def _split(θ: Logs, size: float) -> Rows:
    """Rows x_0 … x_{L-1}, n_1 … n_{L-1}, v, with m such that N_{L-1} has this size; w_l = n_l."""
    L = θ.shape[1] // 2
    n = np.maximum(θ[:, L:-1], 0)
    n = n * np.minimum(1, size / np.maximum(n.sum(1), 1e-9))[:, None]
    m = size - n.sum(1)
    v = np.clip(θ[:, -1], 0, m)
    x = np.column_stack([np.clip(θ[:, 0], 0, v), np.maximum(θ[:, 1:L], 0)])
    return Rows(x, n, v, m, n)
