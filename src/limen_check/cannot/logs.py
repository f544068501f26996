"""Logarithms in whole numbers, each rounded to the side that keeps a statement true.

A cannot is an inequality between a number of bits and log₂ of a count: it must never come from rounding.
`places` are binary places after the point; a scaled number x stands for x/2^places.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import comb, isqrt
from typing import NamedTuple

from limen_check.files import need

_PLACES = 1 << 14  # at most: a logarithm of so many takes half a second
_WRITTEN = 1 << 14  # bits of a number that is written out
_SUMMED, _TERMS = 4096, 512  # terms of a sum; of a longer one the largest
PI = Fraction(103993, 33102), Fraction(104348, 33215)  # below and above π
LOG2_E = Fraction("1.442695040888963"), Fraction("1.442695040888964")  # below and above log₂e


@lru_cache(maxsize=1 << 10)
def low(n: int, places: int) -> int:
    """⌊2^places·log₂n⌋, or one less: squaring the mantissa m in [1, 2) doubles its logarithm."""
    whole = n.bit_length() - 1
    if n & (n - 1) == 0:
        return whole << places
    need(places <= _PLACES, "the numbers are too long to be calculated with here")
    kept, digits = places + places.bit_length() + 4, 0
    m = n << kept >> whole
    for _ in range(places):
        kept -= 1
        m = m * m >> kept + 2
        digits <<= 1
        if m >> kept + 1:
            digits, m = digits + 1, m >> 1
    return (whole << places) + digits


def high(n: int, places: int) -> int:
    """Not below 2^places·log₂n, and at most 2 above."""
    return low(n, places) + 2 * (n & (n - 1) != 0)


class Count(NamedTuple):  # Π b^e, plus one if `more`; as many as there are if `exact`, else at least so many
    powers: tuple[tuple[int, int], ...]
    more: bool = False
    exact: bool = True

    def bits(self, log: Callable[[int, int], int] = low) -> int:
        """⌈log₂⌉, never above; never below where `log` is `high`.

        What is no power of two has an odd factor, so its logarithm is no integer: ⌈x⌉ = ⌊x⌋ + 1.
        """
        told = [(b, e) for b, e in self.powers if e and b != 1]
        if len(told) == 1 == told[0][1]:
            return (told[0][0] - 1 + self.more).bit_length()
        places = 64 + sum(e for _, e in told).bit_length()
        whole = sum(e * log(b, places) for b, e in told) >> places
        return whole + (self.more or any(b & (b - 1) for b, _ in told))


def one(b: int, e: int = 1, more: bool = False, exact: bool = True) -> Count:
    """b^e, or one more."""
    return Count(((b, e),), more, exact)


@lru_cache(maxsize=1 << 10)
def log_binomial(n: int, k: int, places: int, above: bool = False) -> int:
    """2^places·log₂C(n,k), from below or above; long ones by Stirling's series."""
    k = min(k, n - k)
    near, far = (high, low) if above else (low, high)
    if k <= 64 or 2 * k * n.bit_length() <= _WRITTEN:
        return near(comb(n, k), places)
    fine = places + n.bit_length() + 2
    total = 2 * (n * near(n, fine) - k * far(k, fine) - (n - k) * far(n - k, fine))
    π = PI[not above]
    total += near(n, fine) - far(2 * π.numerator * k * (n - k), fine) + near(π.denominator, fine)
    rest = Fraction(1, 12 * n) - Fraction(1, 12 * k) - Fraction(1, 12 * (n - k))  # below 0
    rest += Fraction(1, 360 * k**3) + Fraction(1, 360 * (n - k) ** 3) if above else -Fraction(1, 360 * n**3)
    scaled = rest * LOG2_E[not above] * (1 << places)
    return (total >> fine - places + 1) + scaled.numerator // scaled.denominator + 2 * above


def sets(K: int, most: int, signs: int, times: Callable[[int], int] = lambda s: 1) -> Count:
    """Σ_{s=0}^{most} times(s)·C(K,s)·signs^s; of a long sum what the largest terms make, or less."""
    most = min(most, K)
    if most <= _SUMMED and most * (K.bit_length() + signs) <= 8 * _WRITTEN:
        total, term = 0, 1
        for s in range(most + 1):
            total, term = total + times(s) * term, term * (K - s) * signs // (s + 1)
        return one(max(total, 1))
    peak = min(most, (K + 1) * signs // (signs + 1))
    total, up, down = times(peak) << 256, 1 << 256, 1 << 256
    for s in range(_TERMS):
        if not (down and s < peak) and not (up and peak + s < most):
            break  # all further terms are 0 in these places
        if peak + s < most:
            up = up * (K - peak - s) * signs // (peak + s + 1)
            total += times(peak + s + 1) * up
        if s < peak:
            down = down * (peak - s) // ((K - peak + s + 1) * signs)
            total += times(peak - s - 1) * down
    log = log_binomial(K, peak, 96) + peak * low(signs, 96) + low(total, 96) - (256 << 96)
    return one(2, -(-log >> 96) - 1, more=True, exact=False)  # as many bits


@lru_cache(maxsize=1 << 8)
def subsets(K: int, most: int, empty: int) -> Count:
    """Subsets of K with at most so many elements, the empty one `empty` times; or fewer."""
    return sets(K, most, 1, lambda s: 1 if s else empty)


def covers(T: int, N: int, Q: int, Θ: int) -> bool:
    """T uniform draws from N values take fewer than Θ of them with a probability surely below 2^-(Q+1)."""
    k = Θ - 1
    if k == 0 or k >= N:
        return k == 0 < T
    places = 96 + T.bit_length()
    rare = T * (low(N, places) - high(k, places))
    return log_binomial(N, k, places, above=True) + (1 + Q << places) < rare


def kept(of: int, told: int, among: int) -> int:
    """The largest whole Θ with Θ - 1 surely below x = of·2^(-told/among): ⌈x⌉, or a little less."""
    halvings, rest = divmod(told, among)
    if rest == 0 or halvings > of.bit_length():
        return -(-of >> min(halvings, of.bit_length()))
    places = of.bit_length() + 64
    need(places <= _PLACES, "the numbers are too long to be calculated with here")
    digits = (among - rest << places) // among  # 2^(-rest/among) = 2^g/2
    root, power = 2 << places, 1 << places
    for i in range(places - 1, -1, -1):
        root = isqrt(root << places)
        power = power * root >> places if digits >> i & 1 else power
    return -(-of * power >> places + halvings + 1)


def diverges(p: Fraction, q: Fraction, deficit: Fraction, P: int = 192) -> bool:
    """p ≥ q and surely d(p‖q) ≥ deficit: no guess that chance gets right with q gets there on so few bits."""
    b = 1 << 128
    a = min(p.numerator * b // p.denominator, b)
    u, v = q.numerator, q.denominator
    if not u or u >= v or a * v < b * u:
        return False
    d = a * low(a, P) + (b - a) * low(max(b - a, 1), P) - b * high(b, P)
    d += b * low(v, P) - a * high(u, P) - (b - a) * high(v - u, P)
    return d * deficit.denominator >= deficit.numerator * b << P


@lru_cache(maxsize=1 << 10)
def highest(q: Fraction, deficit: Fraction) -> Fraction:
    """A p above which no p' has d(p'‖q) ≤ deficit, or 1: the least to 50 places, to 31 at tiny deficits."""
    below, above = q, Fraction(1)
    if not diverges(above, q, deficit):
        return above
    for P in [64] * 48 + [128] * 24:  # what is sure to fewer places is sure
        middle = Fraction((below + above) * 2**119 // 1, 2**120)
        below, above = (below, middle) if diverges(middle, q, deficit, P) else (middle, above)
    return above
