r"""Bits, counted exactly: logarithms of large numbers, rounded to the side that keeps a statement true.

A "cannot" must never come from a rounding error: here every logarithm is a ball, made finer until it decides.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from limen.core.balls import Ball, ball, constant, ln_2, pi

_WRITTEN = 2**14  # bits of a count that is written out


def log2_binomial(n: int, k: int, precision: int) -> Ball:
    """log₂ C(n,k), by Stirling's series: no large number is written out.

    Differences of factorials cancel: `precision` must exceed the bits of n by as many as are wanted.
    """
    if not 0 <= k <= n:
        raise ValueError(f"C({n}, {k}) is 0")
    log = _log_factorial(n, precision) - _log_factorial(k, precision) - _log_factorial(n - k, precision)
    return log / constant(ln_2, precision)


@lru_cache(maxsize=2**10)
def _log_factorial(n: int, precision: int) -> Ball:
    """ln n! = n·ln n - n + ½·ln 2πn + Σ_j B_{2j}/(2j·(2j-1)·n^{2j-1}), and the rest is below the next term.

    Terms fall while 2j < 2πn, and the least is far below the last place where n is not written out.
    """
    if n <= 8 * precision:
        return ball(math.factorial(n), precision).log()
    n_ = ball(n, precision)
    total = (n_ + ball(0.5)) * n_.log() - n + (2 * constant(pi, precision)).log() / 2
    j = 1
    while True:
        B = _bernoulli(2 * j) / (2 * j * (2 * j - 1))
        term = ball(B.numerator, precision) / B.denominator / n_ ** (2 * j - 1)
        if abs(term.mid).bit_length() + term.place < total.place:
            return total.widened(term if term.mid > 0 else -term)
        total, j = total + term, j + 1


@lru_cache(maxsize=2**10)
def _bernoulli(m: int) -> Fraction:
    """B_m by Σ_{k≤m} C(m+1,k)·B_k = 0."""
    if m < 2 or m % 2:
        return (Fraction(1), Fraction(-1, 2))[m] if m < 2 else Fraction(0)
    return -sum((math.comb(m + 1, k) * _bernoulli(k) for k in range(m)), Fraction(0)) / (m + 1)


@lru_cache(maxsize=2**12)
def power_bits(*powers: tuple[int, int]) -> int:
    """⌈log₂ Π b^e⌉ exactly, for pairs (b, e) with b ≥ 1, e ≥ 0.

    >>> power_bits((488, 488)), power_bits((2, 7)), power_bits((3, 2), (2, 1))
    (4359, 7, 5)
    """
    whole = sum(e * (b.bit_length() - 1) for b, e in powers)
    rest = [(b, e) for b, e in powers if e and b & (b - 1)]  # not a power of two: an irrational logarithm
    if not rest:
        return whole
    precision = 64 + max(e.bit_length() for _, e in rest)
    while True:
        parts = (e * (ball(b, precision).log2() - (b.bit_length() - 1)) for b, e in rest)
        fraction = sum(parts, ball(0))
        above = ceil_bits(fraction)
        if above == ceil_bits(fraction.low()):
            return whole + above
        precision *= 2


def floor_bits(x: Ball) -> int:
    """The largest integer that is surely not above x."""
    low = x.low()
    return low.mid << low.place if low.place >= 0 else low.mid >> -low.place


def ceil_bits(x: Ball) -> int:
    """The least integer that is surely not below x."""
    return -floor_bits(-x)


@dataclass(frozen=True)
class Count:
    """The number of cases that a recurrence must tell apart: Π b^e, and where the number comes from.

    `exact` is false where there are at least so many.
    """

    powers: tuple[tuple[int, int], ...]
    formula: str
    exact: bool = True

    @classmethod
    def of(cls, value: int, formula: str, exact: bool = True) -> Count:
        return cls(((value, 1),), formula, exact)

    @property
    def bits(self) -> int:
        """⌈log₂⌉: a state that tells the cases apart has at least so many bits, and no more are needed."""
        return power_bits(*self.powers)

    @property
    def value(self) -> int | None:
        """The number itself, unless it is too large to be written."""
        if self.bits > _WRITTEN:
            return None
        product = 1
        for b, e in self.powers:
            product *= b**e
        return product
