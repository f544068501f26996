r"""The sharp inequalities of one or two full layers, in floats: what a search looks at before it asks.

A stack is written as full layers F of β bits a reply, and linear ones, whose states have together S_t bits
after t full layers: S_0 F S_1 F S_2.  A layer with parts of both kinds may be read either way round, since
neither part reads the other.  m, n_1, N_1 = n_1·m and N_2 = n_2·N_1 are the sizes of the task.

The inequality stands above each function, the kernel evaluates it in whole numbers (`SHARP` in
`limen_check/cannot/depth.py`), and what is proved of it stands in `proof.md`.  Free sizes are numbers in 0..1
here, each on a logarithmic scale; `hops` says that only the lowest so many tables are asked about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, floor, inf, log1p, log2, nan
from typing import NamedTuple

from limen.theorems.composition_depth.climb import Point

_MORE = 1 + 1e-12  # floats err by less: what holds with this factor to spare holds in the integers
_BELOW_0 = math.log2(math.e) / math.e  # Σ P·log₂(mP) over some of m values is never below -_BELOW_0
_WHOLE = 2.0**53
LARGEST = 2**1000  # no larger numbers are searched: floats end at 2^1024


class SharpStack(NamedTuple):
    """F full layers of at most β bits a reply, S[t] bits of linear state after t of them, t = 0..F."""

    β: int
    S: tuple[int, ...]

    @property
    def F(self) -> int:
        return len(self.S) - 1


class Tables(NamedTuple):
    """Sizes of the tables in floats."""

    m: float
    n: tuple[float, ...]


class Found(NamedTuple):
    """How far an inequality holds, log₂(needs/has), and the free sizes."""

    margin: float
    sizes: dict[str, float]


NOTHING = Found(-inf, {})


@dataclass(frozen=True)
class Route:
    """An inequality in floats; its free sizes are numbers in 0..1, each on a logarithmic scale.

    It is about the lowest tables of a task; or about the `upper` ones, with nothing linear after F.
    """

    name: str
    tables: int
    upper: bool
    free: int
    relaxed: Callable[[Tables, SharpStack, Point], Found]

    def hops(self, L: int) -> dict[str, int]:
        """The size that says which of L tables are asked about."""
        return {"hops": self.tables} if self.tables < L and not self.upper else {}

    def at(self, tables: Tables, stack: SharpStack, u: Point) -> Found:
        """The margin is -∞ where the sizes make no sense, or are beyond floats."""
        try:
            outcome = self.relaxed(tables, stack, tuple(min(max(u_i, 0.0), 1.0) for u_i in u))
        except (ArithmeticError, ValueError):
            return NOTHING
        return outcome if outcome.margin > -inf else NOTHING


def between(u: float, low: float, high: float) -> float:
    """A whole number in low..high, on a logarithmic scale."""
    return _floor(low * max(high / low, 1.0) ** u * _MORE)


def _floor(x: float) -> float:
    """⌊x⌋ as a float: those beyond 2^53 are whole."""
    return float(floor(x)) if x < _WHOLE else x


def _ceil(x: float) -> float:
    return float(ceil(x)) if x < _WHOLE else x


def _up_to(u: float, low: float, high: float) -> float:
    """The same, and for a fifth of the u the most there is."""
    return between(min(1.25 * u, 1), low, high)


def _a1(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """n_1·β + S < n_1·m·log₂N_1, one layer, S beside F; any number of tables."""
    m, (n1,) = tables
    return Found(_margin(n1 * m, m * n1, n1 * stack.β + sum(stack.S)), {})


def _a2(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """S_0 + n_1·β < n_1·Th·log₂N_1, S_0 F, where Th - 1 < m·2^(-S_0/m); any number of tables."""
    m, (n1,) = tables
    S_0 = stack.S[0]
    Th = 1 + _floor(m * 2 ** (-S_0 / m) / _MORE)
    return Found(_margin(n1 * Th, m * n1, S_0 + n1 * stack.β), {"Th": Th})


def _a3(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """β(n_1 + x_0) + x_1·S_1 < n_1·min(x_0·x_1, m)·log₂N_1, F S_1, where x_0 ≤ m."""
    m, (n1,) = tables
    x1 = between(u[0], 1, m)
    x0 = _ceil(m / x1)
    has = stack.β * (n1 + x0) + x1 * stack.S[1]
    return Found(_margin(n1 * min(x0 * x1, m), m * n1, has), {"x0": x0, "x1": x1})


def _a4(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """S_0 + β·x_0(n_1 + 1) + min(x_1·S_1, S_1 + x_1·m·β) < n_1·Th·log₂N_1, S_0 F S_1.

    x_0 ≤ m, and x_0·x_1 draws from m values cover Th of them but for a share 2^-(x_0·x_1·S_0/m).
    """
    m, (n1,) = tables
    β, (S_0, S_1) = stack
    k = between(u[0], 0.5, min(m - 1, m * 2 ** (-S_0 / m)))
    T = _draws(k, m, _rarity(m, k) - S_0 / m, 1)
    x1 = between(u[1], 1, T)
    x0 = _at_most(m, _ceil(T / x1))
    has = S_0 + β * x0 * (n1 + 1) + min(x1 * S_1, S_1 + x1 * m * β)
    return Found(_margin(n1 * (k + 1), m * n1, has), {"x0": x0, "x1": x1, "Th": k + 1})


def _at_most(m: float, x: float) -> float:
    return x if x <= m else nan


def _rarity(N: float, k: float) -> float:
    """log₂(N/k): what it takes to lie within k of N values; ∞ for none of them."""
    return log2(N / k) if k else inf


def _draws(k: float, N: float, each: float, more: int) -> float:
    """How often `each` bits must be won, to hold more than k of N values for sure."""
    if k == 0:
        return 1.0
    return max(_ceil((_log2_binomial(N, k) + 1 + more) / each * _MORE), 1.0) if each > 0 else nan


def _log2_binomial(N: float, k: float) -> float:
    """log₂C(N,k) from above, 0 < k < N (Robbins)."""
    entropy = k * log2(N / k) - (N - k) * log1p(-k / N) / math.log(2)
    return entropy - 0.5 * log2(2 * math.pi * k * (1 - k / N))


def _b1(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """β(n_1(1 + y) + m + x_0·b) < n_1·J·log₂N_1, F F.

    y ≤ x_0 ≤ m, y·b ≤ m, and J - 1 < y·b·2^(-β/(y⌊x_0/y⌋)).
    """
    m, (n1,) = tables
    y = between(u[0], 1, m)
    x0 = y * _floor(between(u[1], y, m) / y)
    b = _floor(m / y)
    J = 1 + _floor(y * b * 2 ** (-stack.β / x0) / _MORE)
    has = stack.β * (n1 * (1 + y) + m + x0 * b)
    return Found(_margin(n1 * J, m * n1, has), {"x0": x0, "y": y, "b": b, "J": J})


def _b2(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """β(w_1 + w_1·x_0 + 2x_0·x_1 + m) + min(x_1·S_2, S_2 + x_1·m·β) < w_1·Th·log₂N_1, F F S_2.

    x_0 ≤ m, w_1 ≤ n_1, and x_0·x_1 draws from m values cover Th of them but for a share 2^-(x_1·w_1·β).
    """
    m, (n1,) = tables
    β, S_2 = stack.β, stack.S[2]
    k, w1 = between(u[0], 0.5, m - 1), between(u[2], 1, n1)
    least = max(_ceil(w1 * β / _rarity(m, k)), 1)  # fewer do not outweigh w_1·β
    x0 = _at_most(m, between(u[1], least, m))
    x1 = _draws(k, m, x0 * _rarity(m, k) - w1 * β, 0)
    has = β * (w1 + w1 * x0 + 2 * x0 * x1 + m) + min(x1 * S_2, S_2 + x1 * m * β)
    return Found(_margin(w1 * (k + 1), m * n1, has), {"x0": x0, "x1": x1, "w1": w1, "Th": k + 1})


def _b4(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """β(2w_1 + 2h + b + x - 1) + x·S_2 < w_1·x·log₂N_1, F F S_2.

    h, b ≤ m, w_1 ≤ n_1, and h(x - 1) < b(h - w_1·β): pairs of values at h - 1 entries, b of them at one.
    """
    m, (n1,) = tables
    β, S_2 = stack.β, stack.S[2]
    w1 = _up_to(u[0], 1, n1)
    h = _at_most(m, _up_to(u[1], w1 * β + 1, m))
    x = max(_floor(m * (1 - w1 * β / h) / _MORE), 1)
    has = β * (2 * w1 + 2 * h + m + x - 1) + x * S_2
    return Found(_margin(w1 * x, m * n1, has), {"w1": w1, "h": h, "b": m + 0 * h, "x": x})


def _e(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """Three tables, S_0 F S_1 F S_2; w_1 ≤ n_1 and w_2 ≤ n_2 rows are asked about, A = 1 + w_1·w_2:

        S_0 + S_1 + β(A + x_1·m + x_2·w_1·m + x_1·A) + (x_1·S_1 + 1)(x_2 + 1) + 1 + x_1·x_2·S_2
            < w_2·Th·log₂N_2

    x_1 - 1 < m·2^(-S_0/m), and x_2·w_1·x_1 draws from N_1 values cover Th but for 2^-(x_2·D), where
    D = S_0 + β·A + x_1·S_1 + 1.
    """
    m, (n1, n2) = tables
    β, (S_0, S_1, S_2) = stack
    N1, w1, w2 = m * n1, between(u[0], 1, n1), _up_to(u[1], 1, n2)
    x1, k = _up_to(u[2], 1, 1 + _floor(m * 2 ** (-S_0 / m) / _MORE)), between(u[3], 0.5, N1 - 1)
    A = 1 + w1 * w2
    x2 = _draws(k, N1, w1 * x1 * _rarity(N1, k) - (S_0 + β * A + x1 * S_1 + 1), 0)
    replies = A + x1 * m + x2 * w1 * m + x1 * A
    has = S_0 + S_1 + (x1 * S_1 + 1) * (x2 + 1) + 1 + x1 * x2 * S_2 + β * replies
    sizes = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "Th": k + 1}
    return Found(_margin(w2 * (k + 1), N1 * n2, has), sizes)


def _d(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """Three tables, S_0 F S_1 F S_2; w_1 ≤ n_1 and w_2 ≤ n_2 rows are asked about, A = w_1·w_2:

        S_0 + S_1 + β(x_0(1+A) + A·x_0·x_1 + x_0·x_1[S_2>0] + U + V) + x_1·x_2(S_1+S_2) + 1 < w_2·Th_2·log₂N_2
        U = m + (x_1 - 1)·(m if S_0 else x_0),     V = N_1 + (x_2 - 1)·w_1·(m if S_0 else Th_1)

    x_0·x_1 draws from m values cover Th_1 but for 2^-(x_0·x_1·S_0/m), x_2·w_1·Th_1 draws from N_1 values
    Th_2 but for 2^-(x_2·D), D = S_0 + β·x_0(1+A) + x_1·S_1.
    """
    m, (n1, n2) = tables
    β, (S_0, S_1, S_2) = stack
    N1, w1, w2 = m * n1, between(u[0], 1, n1), between(u[1], 1, n2)
    k1 = between(u[3], 0.5, min(m - 1, m * 2 ** (-S_0 / m)))
    k2, A = between(u[4], 0.5, N1 - 1), w1 * w2
    T, Th1 = _draws(k1, m, _rarity(m, k1) - S_0 / m, 1), k1 + 1
    each = w1 * Th1 * _rarity(N1, k2) - S_0
    least, most = _ceil(β * T * (1 + A) / each), min(T, each / S_1 if S_1 else T)  # else D outweighs it
    x1 = between(u[2], min(max(least, 1.0), T), max(most, 1))
    x0 = _at_most(m, _ceil(T / x1))
    x2 = _draws(k2, N1, each - β * x0 * (1 + A) - x1 * S_1, 0)
    U, V = m + (x1 - 1) * (m if S_0 else x0), N1 + (x2 - 1) * w1 * (m if S_0 else Th1)
    replies = x0 * (1 + A) + A * x0 * x1 + (x0 * x1 if S_2 else 0) + U + V
    has = S_0 + S_1 + β * replies + x1 * x2 * (S_1 + S_2) + 1
    sizes = {"x0": x0, "x1": x1, "x2": x2, "w1": w1, "w2": w2, "Th1": Th1, "Th2": k2 + 1}
    return Found(_margin(w2 * (k2 + 1), N1 * n2, has), sizes)


def _margin(entries: float, N: float, has: float) -> float:
    """log₂ of entries·log₂N over has."""
    return log2(entries * log2(N) / has) if has else inf


def _lf(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """d(p*‖1/N_1) ≤ (S_0 + n_1·β)/(n_1·m),  d(p‖p*) ≤ S_0/m, S_0 F; any number of tables.

    Below 1 if p* = 2^(-S_0/m) is beyond reach.
    """
    m, (n1,) = tables
    S_0 = stack.S[0]
    p = 2 ** (-S_0 / m)
    return Found(_short(p, m * n1, (S_0 / n1 + stack.β) / m), {})


def _lf_split(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """p ≤ (S_0/m + log₂e/e)/c + p',  d(p'‖1/N_1) ≤ S_0/(n_1·m) + β·2^c/m,  c = c4/4.

    Below 1 if all but the heavy share is beyond reach.
    """
    m, (n1,) = tables
    S_0 = stack.S[0]
    c4 = between(u[0], 1, 4 * log2(m))
    p = 1 - 4 * (S_0 / m + _BELOW_0) / c4
    return Found(_short(p, m * n1, (S_0 / n1 + stack.β * 2 ** (c4 / 4)) / m), {"c4": c4})


def _b3(tables: Tables, stack: SharpStack, u: Point) -> Found:
    """F F:  p ≤ p* + v,  d(p*‖1/N_1) ≤ β(3m - 1 + 2n_1)/(n_1·m),  1 - h((1-v)/2) ≤ β/m.

    Below 1 if for some v the distance is at most v and 1 - v is beyond reach.
    """
    m, (n1,) = tables
    v, β = u[0], stack.β
    distance = log2((1 - _entropy((1 - v) / 2)) * m / β)
    return Found(min(distance, _short(1 - v, m * n1, β * (3 * m - 1 + 2 * n1) / (n1 * m))), {})


def _short(p: float, N: float, deficit: float) -> float:
    """log₂(d(p‖1/N)/deficit): how far the bits are from enough for p; none where p ≤ 1/N."""
    if not p * N > 1:
        return -inf
    d = p * log2(N) - _entropy(p) - ((1 - p) * log1p(-1 / N) / math.log(2) if p < 1 else 0)
    return -inf if d <= 0 else log2(d / deficit) if deficit else inf


def _entropy(p: float) -> float:
    return -p * log2(p) - (1 - p) * log2(1 - p) if 0 < p < 1 else 0.0


def lightest(tables: Tables, stack: SharpStack) -> int:
    """4c for the c that bounds the accuracy best: the heavy share and the highest p for the light one."""
    m, (n1,) = tables
    if not math.isfinite(m * n1) or m < 2:  # too large to be looked for, or c ≤ log₂m leaves none
        return 1

    def ceiling(c4: int) -> float:
        deficit = (stack.S[0] / n1 + stack.β * 2 ** (c4 / 4)) / m
        low, high = 0.0, 1.0
        for _ in range(30):
            p = (low + high) / 2
            low, high = (low, p) if _short(p, m * n1, deficit) > 0 else (p, high)
        return 4 * (stack.S[0] / m + _BELOW_0) / c4 + high

    return min(range(1, floor(4 * log2(m)) + 1), key=ceiling)


ONE_LAYER = Route("one_layer", 2, True, 0, _a1)
LINEAR_FULL = Route("linear_full", 2, True, 0, _a2)
FULL_LINEAR = Route("full_linear", 2, False, 1, _a3)
LINEAR_FULL_LINEAR = Route("linear_full_linear", 2, False, 2, _a4)
TWO_FULL_BY_GROUPS = Route("two_full_by_groups", 2, False, 2, _b1)
TWO_FULL_LINEAR = Route("two_full_linear", 2, False, 3, _b2)
TWO_FULL_LINEAR_BY_PAIRS = Route("two_full_linear_by_pairs", 2, False, 2, _b4)
THREE_HOPS_ONE_KEY = Route("three_hops_one_key", 3, False, 4, _e)
THREE_HOPS_MANY_KEYS = Route("three_hops_many_keys", 3, False, 5, _d)
LF = Route("linear_full_average", 2, True, 0, _lf)
LF_SPLIT = Route("linear_full_average", 2, True, 1, _lf_split)
TWO_FULL_AVERAGE = Route("two_full_average", 2, False, 1, _b3)
