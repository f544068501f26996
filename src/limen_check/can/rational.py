"""Exact rationals: Python's Fraction, whose sums, products and comparisons are computed without its detours.

A derivation spends most of its time on these.  What is not written here is Fraction's, and so is what is
done with other numbers than a Rational or an int.  As in every Fraction the numerator and the denominator,
which is positive, have no common factor.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from math import gcd
from typing import Any

_BITS = sys.hash_info.modulus.bit_length()  # 2^_BITS is 1 modulo the prime of Python's hashes


class Rational(Fraction):
    __slots__ = ()
    _numerator: int
    _denominator: int

    def __add__(self, other: Any) -> Fraction:  # type: ignore[override]
        """a/b + c/d = n/(b·d/g) with g = gcd(b, d): n has no common factor with b/g nor with d/g."""
        a, b = self._numerator, self._denominator
        if type(other) is int:
            return _made(a + other * b, b)
        if type(other) is not Rational:
            return _rational(Fraction.__add__(self, other))
        c, d = other._numerator, other._denominator
        if b == d == 1:
            return _made(a + c, 1)
        g = gcd(b, d)
        n = a * (d // g) + c * (b // g)
        h = gcd(n, g)
        return _made(n // h, b // g * (d // h))

    def __mul__(self, other: Any) -> Fraction:  # type: ignore[override]
        """a/b·c/d: a has no common factor with b, nor c with d."""
        a, b = self._numerator, self._denominator
        if type(other) is int:
            g = gcd(other, b)
            return _made(a * (other // g), b // g)
        if type(other) is not Rational:
            return _rational(Fraction.__mul__(self, other))
        c, d = other._numerator, other._denominator
        if b == d == 1:
            return _made(a * c, 1)
        g, h = gcd(a, d), gcd(b, c)
        return _made(a // g * (c // h), b // h * (d // g))

    def __neg__(self) -> "Rational":
        return _made(-self._numerator, self._denominator)

    def __abs__(self) -> "Rational":
        return self if self._numerator >= 0 else -self

    def __sub__(self, other: Any) -> Fraction:  # type: ignore[override]
        return self.__add__(-other)

    def __rsub__(self, other: Any) -> Fraction:  # type: ignore[override]
        return (-self).__add__(other)

    def __truediv__(self, other: Any) -> Fraction:  # type: ignore[override]
        return _rational(Fraction.__truediv__(self, other))

    def __eq__(self, other: object) -> bool:
        if type(other) is Rational:
            return self._numerator == other._numerator and self._denominator == other._denominator
        return Fraction.__eq__(self, other)

    def __hash__(self) -> int:  # type: ignore[override]
        """The hash of an equal number of any type; that of a/2^k is the one of a·2^(-k mod _BITS)."""
        if self._denominator & (self._denominator - 1):
            return Fraction.__hash__(self)
        return hash(self._numerator << (1 - self._denominator.bit_length()) % _BITS)

    def _richcmp(self, other: Any, op: Callable[[Any, Any], bool]) -> bool:
        """Behind <, ≤, > and ≥: a/b against c/d is a·d against c·b."""
        if type(other) is Rational:
            return op(self._numerator * other._denominator, other._numerator * self._denominator)
        if type(other) is int:
            return op(self._numerator, other * self._denominator)
        return bool(super()._richcmp(other, op))  # type: ignore[misc]

    __radd__, __rmul__ = __add__, __mul__  # type: ignore[assignment]


def _made(numerator: int, denominator: int) -> Rational:
    """The rational with these parts, which have no common factor."""
    made = object.__new__(Rational)
    made._numerator, made._denominator = numerator, denominator
    return made


def _rational(made: Fraction) -> Fraction:
    """A Fraction as a Rational; any other number as it is."""
    return _made(made.numerator, made.denominator) if type(made) is Fraction else made
