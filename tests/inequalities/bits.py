"""Logarithms of large numbers in the balls of python-flint; `limen` itself has them in whole numbers."""

from __future__ import annotations

from flint import arb, ctx, fmpz


def log2(x: int) -> arb:
    """log₂ x as a ball, at the working precision."""
    return arb(fmpz(x)).log() / arb.const_log2()


def log2_binomial(n: int, k: int) -> arb:
    """log₂ C(n,k) as a ball, by the Γ function: no large number is written out.

    Differences of Γ's cancel: the working precision must exceed the bits of n by as many as are wanted.
    """
    if not 0 <= k <= n:
        raise ValueError(f"C({n}, {k}) is 0")
    return log2_factorial(n) - log2_factorial(k) - log2_factorial(n - k)


def log2_factorial(n: int) -> arb:
    """log₂ n! as a ball."""
    return arb(fmpz(n + 1)).lgamma() / arb.const_log2()


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
        with ctx.workprec(precision):
            fraction = sum((arb(fmpz(e)) * (log2(b) - (b.bit_length() - 1)) for b, e in rest), arb(0))
            above = fraction.ceil().unique_fmpz()  # none while the ball contains an integer
        if above is not None:
            return whole + int(above)
        precision *= 2


def floor_bits(x: arb) -> int:
    """The largest integer that is surely not above x."""
    return _integer(x.lower().floor())


def ceil_bits(x: arb) -> int:
    """The least integer that is surely not below x."""
    return _integer(x.upper().ceil())


def _integer(x: arb) -> int:
    """The integer in a ball that contains exactly one."""
    whole = x.unique_fmpz()
    if whole is None:
        raise ValueError(f"{x} is not precise enough to be rounded: raise the working precision")
    return int(whole)
