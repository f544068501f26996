"""Functions of one number as they are computed: the ends of an interval go to ends of what may come out.

An exponential errs by less than 2^-16 of itself; sums, products, quotients and roots are rounded to the
nearest number of the accumulator, and the result to the format.  Softplus is its argument from 20 on.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import floor

from limen_check.can.rational import Rational
from limen_check.can.vectors import ONE, ZERO, Format, Interval, power

Function = Callable[[Fraction, Fraction, Format], Interval]  # an interval in, an interval out
_LN2 = Rational("0.693147180559945309417232121458176568075500134360255254120680")  # within 10^-60
_FAR = 1 << 11  # beyond e^±2048 nobody looks


def exponential(x: Fraction) -> Interval:
    """e^x, as it is computed, before it is rounded."""
    x = max(min(x, Rational(_FAR)), Rational(-_FAR))
    whole = floor(x / _LN2)
    r, term, total = Rational(round((x - whole * _LN2) * (1 << 96)), 1 << 96), ONE, ONE
    for i in range(1, 32):  # 0 ≤ r < 0.7: the rest is below 2^-100
        term = Rational(floor(term * r / i * (1 << 128)), 1 << 128)
        total += term
    return power(whole) * total * (1 - power(-16)), power(whole) * total * (1 + power(-16))


def _inner(f: Format) -> Format:
    return Format.named("float64" if f.t > 24 else "float32")


def _over_one_plus(x: Fraction, e: Fraction, f: Format) -> Fraction:
    """x/(1 + e), each operation rounded; 0 where 1 + e overflows."""
    if e > power(_inner(f).least * -1):
        return ZERO
    return _inner(f).rn(x / _inner(f).rn(1 + e))


def sigmoid(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """1/(1 + e^-x), which rises."""
    ends = _over_one_plus(ONE, exponential(-lo)[1], f), _over_one_plus(ONE, exponential(-hi)[0], f)
    small = ZERO if lo < -80 else ends[0]  # 1 + e^-x may overflow, or not
    return f.rn(small), f.rn(max(ends[1], exponential(hi)[1] if hi < -80 else ZERO))


def silu(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """x/(1 + e^-x): it rises from 0 on; below 0 it is between -0.28 and 0, and from -80 down above 2xe^x."""
    if lo >= 0 or (lo == hi and lo >= -80):
        images = [_over_one_plus(x, e, f) for x in (lo, hi) for e in exponential(-x)]
        return f.rn(min(images)), f.rn(max(images))
    least = 2 * lo * exponential(lo)[1] if lo == hi else Rational(-3, 10)
    return f.rn(least), silu(hi, hi, f)[1] if hi > 0 else ZERO


def gelu(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """xΦ(x) up to 2^-20·|x|: between x and 0, and above -1/5; it is x from 16 on, and 0 up to -16.

    Down to -2^10 one interval is said of all of these, so that they are alike.
    """
    err = power(-20) * max(abs(lo), abs(hi))
    if hi <= -16:
        err = max(err, power(-10))
        return -err, err
    low = lo if lo >= 16 else max(min(lo, ZERO), Rational(-1, 5))
    return f.rn(low - err), f.rn(max(hi, ZERO) + err)


def softplus(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """ln(1 + e^x): at least 0 and x, at most e^x, and less than 1 more than both."""
    least, most = max(ZERO, lo - power(-14)), min(max(ZERO, hi) + 1, 2 * exponential(hi)[1])
    return (f.rn(lo), f.rn(hi)) if lo > 20 else (f.rn(least), f.rn(most))


def tanh(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """1 - 2/(1 + e^2x), which rises."""
    ends = [1 - 2 / (1 + e) for x in (lo, hi) for e in exponential(2 * x)]
    return f.rn(min(ends) - power(-16) * abs(min(ends))), f.rn(max(ends) + power(-16) * abs(max(ends)))


def elu1(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """elu(x) + 1: x + 1 from 0 on; 0 up to -64, where e^x - 1 is rounded to -1; between them from 0 to 1."""
    return (f.rn(f.rn(lo) + 1) if lo >= 0 else ZERO), (
        f.rn(f.rn(hi) + 1) if hi >= 0 else ZERO if hi <= -64 else ONE
    )


def exp(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    """1 at 0, exactly."""
    (low, _), (_, high) = exponential(lo), exponential(hi)
    return f.rn(ONE if lo == 0 else low), f.rn(ONE if hi == 0 else high)


def relu(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    return max(ZERO, lo), max(ZERO, hi)


def identity(lo: Fraction, hi: Fraction, f: Format) -> Interval:
    return lo, hi
