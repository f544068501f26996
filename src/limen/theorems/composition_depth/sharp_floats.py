"""The sharp inequalities in floats, for many sizes at once: what a search looks at before the exact check.

The formulas stand in `sharp.py`, the proofs in `proof.md`; free sizes are numbers in 0..1, each on a
logarithmic scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from limen.core.arrays import NDArray, np
from limen.theorems.composition_depth.sharp import SharpStack

Floats: TypeAlias = "NDArray[np.float64]"

_MORE = 1 + 1e-12  # floats err by less: what holds with this factor to spare holds in the integers
_BELOW_0 = math.log2(math.e) / math.e  # Σ P·log₂(mP) over some of m values is never below -_BELOW_0
LARGEST = 2**1000  # no larger numbers are searched: floats end at 2^1024


class Tables(NamedTuple):
    """Sizes of the tables in floats, one or many."""

    m: Floats
    n: tuple[Floats, ...]


class Found(NamedTuple):
    """How far an inequality holds, log₂(needs/has), and the free sizes; one or many."""

    margin: Floats
    sizes: dict[str, Floats]


@dataclass(frozen=True)
class Route:
    """An inequality in floats; its free sizes are numbers in 0..1, each on a logarithmic scale.

    It is about the lowest tables of a task; or about the `upper` ones, with nothing linear after F.
    """

    name: str
    tables: int
    upper: bool
    free: int
    relaxed: Callable[[Tables, SharpStack, Floats], Found]

    def hops(self, L: int) -> dict[str, int]:
        """The size that says which of L tables are asked about."""
        return {"hops": self.tables} if self.tables < L and not self.upper else {}

    def at(self, tables: Tables, stack: SharpStack, u: Floats) -> Found:
        """The margin is nan where the sizes make no sense."""
        with np.errstate(all="ignore"):
            return self.relaxed(tables, stack, u)


def between(u: Floats, low: Floats | float | int, high: Floats | float | int) -> Floats:
    """A whole number in low..high, on a logarithmic scale."""
    return np.asarray(np.floor(low * np.maximum(high / low, 1) ** u * _MORE))


def _up_to(u: Floats, low: Floats | float | int, high: Floats | float | int) -> Floats:
    """The same, and for a fifth of the u the most there is."""
    return between(np.minimum(1.25 * u, 1), low, high)


def _a1(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    return Found(_margin(n1 * m, m * n1, n1 * stack.β + sum(stack.S)), {})


def _a2(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    S_0 = stack.S[0]
    Th = 1 + np.floor(m * 2 ** (-S_0 / m) / _MORE)
    return Found(_margin(n1 * Th, m * n1, S_0 + n1 * stack.β), {"Th": Th})


def _a3(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    x1 = between(u[:, 0], 1, m)
    x0 = np.ceil(m / x1)
    has = stack.β * (n1 + x0) + x1 * stack.S[1]
    return Found(_margin(n1 * np.minimum(x0 * x1, m), m * n1, has), {"x0": x0, "x1": x1})


def _a4(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    β, (S_0, S_1) = stack
    k = between(u[:, 0], 0.5, np.minimum(m - 1, m * 2 ** (-S_0 / m)))
    T = _draws(k, m, np.log2(m / k) - S_0 / m, 1)
    x1 = between(u[:, 1], 1, T)
    x0 = _at_most(m, np.ceil(T / x1))
    has = S_0 + β * x0 * (n1 + 1) + np.minimum(x1 * S_1, S_1 + x1 * m * β)
    return Found(_margin(n1 * (k + 1), m * n1, has), {"x0": x0, "x1": x1, "Th": k + 1})


def _at_most(m: Floats, x: Floats) -> Floats:
    return np.asarray(np.where(x <= m, x, np.nan))


def _draws(k: Floats, N: Floats, each: Floats, more: int) -> Floats:
    """How often `each` bits must be won, to hold more than k of N values for sure."""
    needed = (_log2_binomial(N, k) + 1 + more) / np.where(each > 0, each, np.nan)
    return np.asarray(np.where(k == 0, 1, np.maximum(np.ceil(needed * _MORE), 1)))


def _log2_binomial(N: Floats, k: Floats) -> Floats:
    """log₂C(N,k) from above, 0 < k < N (Robbins)."""
    entropy = k * np.log2(N / k) - (N - k) * np.log1p(-k / N) / math.log(2)
    return np.asarray(entropy - 0.5 * np.log2(2 * np.pi * k * (1 - k / N)))


def _b1(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    y = between(u[:, 0], 1, m)
    x0 = y * np.floor(between(u[:, 1], y, m) / y)
    b = np.floor(m / y)
    J = 1 + np.floor(y * b * 2 ** (-stack.β / x0) / _MORE)
    has = stack.β * (n1 * (1 + y) + m + x0 * b)
    return Found(_margin(n1 * J, m * n1, has), {"x0": x0, "y": y, "b": b, "J": J})


def _b2(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    β, S_2 = stack.β, stack.S[2]
    k, w1 = between(u[:, 0], 0.5, m - 1), between(u[:, 2], 1, n1)
    least = np.maximum(np.ceil(w1 * β / np.log2(m / k)), 1)  # fewer do not outweigh w_1·β
    x0 = _at_most(m, between(u[:, 1], least, m))
    x1 = _draws(k, m, x0 * np.log2(m / k) - w1 * β, 0)
    has = β * (w1 + w1 * x0 + 2 * x0 * x1 + m) + np.minimum(x1 * S_2, S_2 + x1 * m * β)
    return Found(_margin(w1 * (k + 1), m * n1, has), {"x0": x0, "x1": x1, "w1": w1, "Th": k + 1})


def _b4(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1,) = tables
    β, S_2 = stack.β, stack.S[2]
    w1 = _up_to(u[:, 0], 1, n1)
    h = _at_most(m, _up_to(u[:, 1], w1 * β + 1, m))
    x = np.maximum(np.floor(m * (1 - w1 * β / h) / _MORE), 1)
    has = β * (2 * w1 + 2 * h + m + x - 1) + x * S_2
    return Found(_margin(w1 * x, m * n1, has), {"w1": w1, "h": h, "b": m + 0 * h, "x": x})


def _e(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1, n2) = tables
    β, (S_0, S_1, S_2) = stack
    N1, w1, w2 = m * n1, between(u[:, 0], 1, n1), _up_to(u[:, 1], 1, n2)
    x1, k = _up_to(u[:, 2], 1, 1 + np.floor(m * 2 ** (-S_0 / m) / _MORE)), between(u[:, 3], 0.5, N1 - 1)
    A = 1 + w1 * w2
    x2 = _draws(k, N1, w1 * x1 * np.log2(N1 / k) - (S_0 + β * A + x1 * S_1 + 1), 0)
    replies = A + x1 * m + x2 * w1 * m + x1 * A
    has = S_0 + S_1 + (x1 * S_1 + 1) * (x2 + 1) + 1 + x1 * x2 * S_2 + β * replies
    sizes = {"x1": x1, "x2": x2, "w1": w1, "w2": w2, "Th": k + 1}
    return Found(_margin(w2 * (k + 1), N1 * n2, has), sizes)


def _d(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    m, (n1, n2) = tables
    β, (S_0, S_1, S_2) = stack
    N1, w1, w2 = m * n1, between(u[:, 0], 1, n1), between(u[:, 1], 1, n2)
    k1 = between(u[:, 3], 0.5, np.minimum(m - 1, m * 2 ** (-S_0 / m)))
    k2, A = between(u[:, 4], 0.5, N1 - 1), w1 * w2
    T, Th1 = _draws(k1, m, np.log2(m / k1) - S_0 / m, 1), k1 + 1
    each = w1 * Th1 * np.log2(N1 / k2) - S_0
    least, most = (
        np.ceil(β * T * (1 + A) / each),
        np.minimum(T, each / S_1 if S_1 else T),
    )  # else D outweighs it
    x1 = between(u[:, 2], np.clip(least, 1, T), np.maximum(most, 1))
    x0 = _at_most(m, np.ceil(T / x1))
    x2 = _draws(k2, N1, each - β * x0 * (1 + A) - x1 * S_1, 0)
    U, V = m + (x1 - 1) * (m if S_0 else x0), N1 + (x2 - 1) * w1 * (m if S_0 else Th1)
    replies = x0 * (1 + A) + A * x0 * x1 + (x0 * x1 if S_2 else 0) + U + V
    has = S_0 + S_1 + β * replies + x1 * x2 * (S_1 + S_2) + 1
    sizes = {"x0": x0, "x1": x1, "x2": x2, "w1": w1, "w2": w2, "Th1": Th1, "Th2": k2 + 1}
    return Found(_margin(w2 * (k2 + 1), N1 * n2, has), sizes)


def _margin(entries: Floats, N: Floats, has: Floats | float | int) -> Floats:
    """log₂ of entries·log₂N over has."""
    return np.asarray(np.log2(entries * np.log2(N) / has))


def _lf(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    """Below 1 if p* = 2^(-S_0/m) is beyond reach."""
    m, (n1,) = tables
    S_0 = stack.S[0]
    p = 2 ** (-S_0 / m)
    return Found(_short(p, m * n1, (S_0 / n1 + stack.β) / m), {})


def _lf_split(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    """Below 1 if all but the heavy share is beyond reach."""
    m, (n1,) = tables
    S_0 = stack.S[0]
    c4 = between(u[:, 0], 1, 4 * np.log2(m))
    p = 1 - 4 * (S_0 / m + _BELOW_0) / c4
    return Found(_short(p, m * n1, (S_0 / n1 + stack.β * 2 ** (c4 / 4)) / m), {"c4": c4})


def _b3(tables: Tables, stack: SharpStack, u: Floats) -> Found:
    """Below 1 if for some v the distance is at most v and 1 - v is beyond reach."""
    m, (n1,) = tables
    v, β = u[:, 0], stack.β
    distance = np.log2((1 - _entropy((1 - v) / 2)) * m / β)
    return Found(np.minimum(distance, _short(1 - v, m * n1, β * (3 * m - 1 + 2 * n1) / (n1 * m))), {})


def _short(p: Floats, N: Floats, deficit: Floats) -> Floats:
    """log₂(d(p‖1/N)/deficit): how far the bits are from enough for p; none where p ≤ 1/N."""
    d = p * np.log2(N) - _entropy(p) - np.where(p < 1, (1 - p) * np.log1p(-1 / N) / math.log(2), 0)
    return np.asarray(np.where(p * N > 1, np.log2(d / deficit), -math.inf))


def _entropy(p: Floats) -> Floats:
    inside = (p > 0) & (p < 1)
    q = np.where(inside, p, 0.5)
    return np.asarray(np.where(inside, -q * np.log2(q) - (1 - q) * np.log2(1 - q), 0))


def lightest(tables: Tables, stack: SharpStack) -> int:
    """4c for the c that bounds the accuracy best: the heavy share and the highest p for the light one."""
    m, (n1,) = tables
    if not np.isfinite(m * n1):
        return 1
    with np.errstate(all="ignore"):
        c4 = np.unique(between(np.linspace(0, 1, 400), 1, 4 * np.log2(m)))
        deficit = (stack.S[0] / n1 + stack.β * 2 ** (c4 / 4)) / m
        low, high = np.zeros(len(c4)), np.ones(len(c4))
        for _ in range(30):
            p = (low + high) / 2
            beyond = _short(p, m * n1, deficit) > 0
            low, high = np.where(beyond, low, p), np.where(beyond, p, high)
    return int(c4[np.argmin(4 * (stack.S[0] / m + _BELOW_0) / c4 + high)])


A1 = Route("A1", 2, True, 0, _a1)
A2 = Route("A2", 2, True, 0, _a2)
A3 = Route("A3", 2, False, 1, _a3)
A4 = Route("A4", 2, False, 2, _a4)
B1 = Route("B1", 2, False, 2, _b1)
B2 = Route("B2", 2, False, 3, _b2)
B4 = Route("B4", 2, False, 2, _b4)
E = Route("E", 3, False, 4, _e)
D = Route("D", 3, False, 5, _d)
LF = Route("LF_average", 2, True, 0, _lf)
LF_SPLIT = Route("LF_average", 2, True, 1, _lf_split)
B3 = Route("B3", 2, False, 1, _b3)
