"""Numbers of rows that may be too large to write out: exact while they are small, else at least a power."""

from functools import lru_cache
from math import comb, factorial

from limen.core.balls import ball
from limen.core.bits import Count, floor_bits, log2_binomial, power_bits

_WRITTEN = 2**14  # bits of a number that is written out
_FACTORIALS = 1024  # bits of n up to which C(n,k) is taken by factorials
_PLACES = 256  # binary places of its terms, as parts of the largest
_TERMS = 512  # beside the largest one of a sum that is too long


def power_and(b: int, e: int, extra: int, formula: str) -> Count:
    """b^e + extra, or at least b^e."""
    if power_bits((b, e)) > _WRITTEN:
        return Count(((b, e),), formula, exact=extra == 0)
    return Count.of(b**e + extra, formula)


def log_binomial(n: int, k: int) -> int:
    """⌊log₂ C(n,k)⌋, or one less; where factorials would take too long, ⌊log₂ (n/k)^k⌋ ≤ log₂ C(n,k)."""
    if k in (0, n):
        return 0
    if n.bit_length() > _FACTORIALS:
        least = min(k, n - k)
        return floor_bits(least * (ball(n, 128 + least.bit_length()) / least).log2())
    return max(floor_bits(log2_binomial(n, k, 128 + 2 * n.bit_length())), 0)


def binomial(n: int, k: int, formula: str, *more: tuple[int, int]) -> Count:
    """C(n,k)·Π b^e over `more`, or at least a power of two below it."""
    bits = log_binomial(n, k)
    if bits > _WRITTEN:
        return Count(((2, bits), *more), formula, exact=False)
    return Count(((comb(n, k), 1), *more), formula)


@lru_cache(maxsize=2**10)
def partitions(n: int, k: int) -> int:
    """Stirling₂(n,k), the partitions of n things into k parts: Σ_j (-1)^{k-j}·C(k,j)·j^n / k!."""
    total, choices = 0, 1
    for j in range(k + 1):
        total, choices = choices * j**n - total, choices * (k - j) // (j + 1)
    return total // factorial(k)


def subsets(m: int, most: int, formula: str) -> Count:
    """Σ_{s=1}^{most} C(m,s), or at least a power of two below it."""
    total = signed_subsets(m, most, signs=1)
    if total is not None:
        return Count.of(total, formula)
    half = m - 1 if 2 * most >= m else 0  # from the middle on, half of all sets are among them
    return Count(((2, max(half, log_of_sum(m, most, signs=1))),), formula, exact=False)


@lru_cache(maxsize=2**10)  # the search for the flip asks for the same row again and again
def signed_subsets(m: int, most: int, signs: int) -> int | None:
    """Σ_{s=1}^{most} C(m,s)·signs^s, None where it is too long to be written; it has `most` bits at least."""
    most = min(most, m)
    if most > _WRITTEN or log_of_sum(m, most, signs) > _WRITTEN:
        return None
    total, term = 0, 1
    for s in range(1, most + 1):
        term = term * signs * (m - s + 1) // s
        total += term
    return total


def log_of_sum(m: int, most: int, signs: int) -> int:
    """⌊log₂ Σ_{s=1}^{most} C(m,s)·signs^s⌋, or less: of a long sum the largest terms; signs is 1 or 2.

    Each term follows from the one beside it: C(m,s+1)/C(m,s) = (m-s)/(s+1).
    """
    peak = min(most, signs * (m + 1) // (signs + 1))  # the terms grow up to here
    if m.bit_length() > _FACTORIALS:
        return log_binomial(m, peak) + peak * (signs - 1)
    total = up = down = 1 << _PLACES  # terms over the largest, each rounded down
    for s in range(peak, min(most, peak + _TERMS)):
        up = up * (m - s) * signs // (s + 1)
        total += up
    for s in range(peak, max(1, peak - _TERMS), -1):
        down = down * s // ((m - s + 1) * signs)
        total += down
    largest = log2_binomial(m, peak, 128 + 2 * m.bit_length()) + peak * (signs - 1)
    return max(floor_bits(largest + ball(total, largest.precision).log2() - _PLACES), 0)
