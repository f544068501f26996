r"""Real numbers with their errors, in whole numbers of the standard library.

A ball holds every number within rad·2^place of mid·2^place.  The ball of a result holds what the operation
makes of any numbers of its balls: `mid` is cut to `precision` bits, towards 0, and what is lost stands in
`rad`, which is rounded up.  What needs no rounding has no error.

A comparison is true if it is surely true: neither a < b nor a ≥ b holds where the balls overlap.  Where
nothing is known, as after a division by what may be 0, the ball is the whole line: no comparison holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from operator import index
from typing import TypeAlias, Union

Real: TypeAlias = Union["Ball", int, float]

_PRECISION = 128
_MORE = 16  # bits that a function is computed with beyond these
_LARGE = 64  # bits of an exponent beyond which e^x is as good as 0 or not known
_GUESSED = 60  # bits of a logarithm that a float begins


@dataclass(frozen=True, eq=False, slots=True)
class Ball:
    mid: int
    rad: int = 0  # below 0: the whole line
    place: int = 0
    precision: int = _PRECISION

    def is_zero(self) -> bool:
        return self.mid == 0 == self.rad

    def low(self) -> Ball:
        """The lower end, as a number; all of a line."""
        return self if self.rad < 0 else Ball(self.mid - self.rad, 0, self.place, self.precision)

    def high(self) -> Ball:
        """The upper end, as a number; all of a line."""
        return self if self.rad < 0 else Ball(self.mid + self.rad, 0, self.place, self.precision)

    def __float__(self) -> float:
        """The float nearest to the middle, nan for a line."""
        if self.rad < 0:
            return math.nan
        sign, size = (self.mid > 0) - (self.mid < 0), self.mid.bit_length() + self.place
        if size < -1100:
            return sign * 0.0
        try:
            return (self.mid << min(max(self.place, 0), 1100)) / (1 << max(-self.place, 0))
        except OverflowError:
            return sign * math.inf

    def widened(self, by: Ball) -> Ball:
        """All within the high end of `by` of this."""
        if by.rad < 0:
            return by
        return self + Ball(0, by.mid + by.rad, by.place, self.precision)

    # ------------------------------------------------------------ arithmetic

    def __neg__(self) -> Ball:
        return Ball(-self.mid, self.rad, self.place, self.precision)

    def __add__(self, other: Real) -> Ball:
        a, b = self, ball(other, self.precision)
        precision = max(a.precision, b.precision)
        if a.rad < 0 or b.rad < 0:
            return Ball(0, -1, 0, precision)
        if a.place < b.place:
            a, b = b, a
        if a.place - b.place > 4 * precision and not a.is_zero():
            below = a.place - 2 * precision  # where a has no bits
            if b.place + 1 + max(b.mid.bit_length(), b.rad.bit_length()) <= below:
                b = Ball(0, int(not b.is_zero()), below)
        by = a.place - b.place
        return _cut((a.mid << by) + b.mid, (a.rad << by) + b.rad, b.place, precision)

    __radd__ = __add__

    def __sub__(self, other: Real) -> Ball:
        return self + -ball(other, self.precision)

    def __rsub__(self, other: Real) -> Ball:
        return -self + other

    def __mul__(self, other: Real) -> Ball:
        a, b = self, ball(other, self.precision)
        precision = max(a.precision, b.precision)
        if a.rad < 0 or b.rad < 0:
            return Ball(0, -1, 0, precision)
        lost = abs(a.mid) * b.rad + (abs(b.mid) + b.rad) * a.rad
        return _cut(a.mid * b.mid, lost, a.place + b.place, precision)

    __rmul__ = __mul__

    def __truediv__(self, other: Real) -> Ball:
        """|x/y - x'/y'| ≤ (|x|·r_y + |y|·r_x)/(|y|·(|y| - r_y))."""
        a, b = self, ball(other, self.precision)
        precision, least = max(a.precision, b.precision), abs(b.mid) - b.rad
        if a.rad < 0 or b.rad < 0 or least <= 0:
            return Ball(0, -1, 0, precision)
        more = max(0, precision + 1 + b.mid.bit_length() - a.mid.bit_length())
        mid, left = divmod(abs(a.mid) << more, abs(b.mid))
        lost = abs(a.mid) * b.rad + abs(b.mid) * a.rad
        rad = _ceil(lost << more, abs(b.mid) * least) + (left != 0)
        return _cut(mid if (a.mid < 0) == (b.mid < 0) else -mid, rad, a.place - b.place - more, precision)

    def __rtruediv__(self, other: Real) -> Ball:
        return ball(other, self.precision) / self

    def __pow__(self, n: int) -> Ball:
        if n < 0:
            return 1 / self**-n
        power, square = Ball(1, 0, 0, self.precision), self
        while n:
            power, n = power * square if n & 1 else power, n >> 1
            square = square * square if n else square
        return power

    # ------------------------------------------------------------ comparisons

    def __lt__(self, other: Real) -> bool:
        apart = other - self
        return apart.mid > apart.rad >= 0

    def __le__(self, other: Real) -> bool:
        apart = other - self
        return apart.mid >= apart.rad >= 0

    def __gt__(self, other: Real) -> bool:
        apart = self - other
        return apart.mid > apart.rad >= 0

    def __ge__(self, other: Real) -> bool:
        apart = self - other
        return apart.mid >= apart.rad >= 0

    def max(self, other: Ball) -> Ball:
        """The ball with the higher end, in which the larger number is."""
        return other if other.rad < 0 or other.high() > self.high() else self

    # ------------------------------------------------------------ functions

    def sqrt(self) -> Ball:
        """|√x - √x'| ≤ |x - x'|/√x."""
        if self.rad < 0 or self.mid < self.rad:
            return Ball(0, -1, 0, self.precision)
        if self.mid == 0:
            return self
        more = max(0, 2 * self.precision + 2 - self.mid.bit_length())
        more += (self.place - more) % 2
        root = math.isqrt(self.mid << more)
        rad = _ceil(self.rad << more, root) + (root * root != self.mid << more)
        return _cut(root, rad, (self.place - more) // 2, self.precision)

    def exp(self) -> Ball:
        """e^x; e^(x±r) is within e^x·2r of e^x while r ≤ 1."""
        if self.rad < 0:
            return self
        if self.rad and self.rad.bit_length() + self.place > 0:  # e^x is between 0 and the highest
            half = self.high().exp() / 2
            return half.widened(half)
        if self.mid == 0 == self.rad:
            return Ball(1, 0, 0, self.precision)
        size = self.mid.bit_length() + self.place
        if size > _LARGE:
            return Ball(0, 1 if self.mid < 0 else -1, -(1 << _LARGE), self.precision)
        places = self.precision + _MORE
        fine = places + max(0, size)
        # x = k·ln 2 + f: |k| times the error of ln 2 and two roundings make f wrong by 5 units at most.
        k, f = divmod(_at(self.mid, self.place, fine), ln_2(fine))
        value = _cut(_exp(f >> fine - places, places), 16, k - places, self.precision)
        return value.widened(value * 2 * Ball(0, self.rad, self.place)) if self.rad else value

    def log(self) -> Ball:
        """ln x; |ln x - ln x'| ≤ r/(x - r)."""
        least = self.mid - self.rad
        if self.rad < 0 or least <= 0:
            return Ball(0, -1, 0, self.precision)
        blur = Ball(0, _ceil(self.rad << self.precision, least), -self.precision)
        bits = self.mid.bit_length()
        down = bits - (4 * self.mid < 3 << bits)
        k = self.place + down  # x = 2^k·y with y = mid/2^down in [3/4, 3/2)
        apart = self.mid - (1 << down)
        if k == 0 == apart:
            return Ball(0, 0, 0, self.precision).widened(blur)
        near = 0 if k else down - apart.bit_length()  # ln y is about 2^-near
        places = self.precision + _MORE + k.bit_length() + near
        mid, error = _log(_at(self.mid, -down, places), places)
        value = _cut(mid + k * ln_2(places), error + 2 * abs(k), -places, self.precision)
        return value.widened(blur) if self.rad else value

    def log2(self) -> Ball:
        return self.log() / constant(ln_2, self.precision)

    def sin_pi(self) -> Ball:
        """sin πx for 0 ≤ x ≤ 1; its slope is at most π < 4."""
        if not (self >= 0 and self <= 1):
            return Ball(0, -1, 0, self.precision)
        x = 1 - self if 2 * self > 1 else self
        places = self.precision + _MORE + max(0, -(x.mid.bit_length() + x.place))
        angle = _at(x.mid, x.place, places) * pi(places) >> places  # 6 units below the angle at most
        square = angle * angle >> places
        total = term = angle
        j = 2
        while term:  # less than 3 units are lost in each term
            term = -(term * square >> places) // (j * (j + 1))
            total, j = total + term, j + 2
        return _cut(total, 3 * j + 12, -places, self.precision).widened(Ball(0, 4 * x.rad, x.place))


def ball(x: Real, precision: int = _PRECISION) -> Ball:
    """This very number; infinity and what is no number are the line."""
    if isinstance(x, Ball):
        return x
    if not isinstance(x, float):
        return Ball(index(x), 0, 0, precision)
    if not math.isfinite(x):
        return Ball(0, -1, 0, precision)
    above, below = x.as_integer_ratio()
    return Ball(above, 0, 1 - below.bit_length(), precision)


def constant(digits: Callable[[int], int], precision: int) -> Ball:
    """ln 2 or π, less than 2 units beside their digits."""
    return Ball(digits(precision + _MORE), 2, -precision - _MORE, precision)


@lru_cache(maxsize=64)
def ln_2(places: int) -> int:
    """⌊2^places·ln 2⌋, or one less: ln 2 = 2 artanh 1/3."""
    more = _MORE + places.bit_length()
    return 2 * _inverses(3, places + more, 1) >> more


@lru_cache(maxsize=64)
def pi(places: int) -> int:
    """⌊2^places·π⌋, or one more or less: π = 16 arctan 1/5 - 4 arctan 1/239."""
    more = _MORE + places.bit_length()
    return 16 * _inverses(5, places + more, -1) - 4 * _inverses(239, places + more, -1) >> more


def _inverses(x: int, places: int, sign: int) -> int:
    """Σ sign^j/((2j+1)·x^(2j+1)): artanh 1/x or arctan 1/x; two units are lost in each term at most."""
    total, power, j = 0, (1 << places) // x, 1
    while power:
        total += power // j if j % 4 == 1 else sign * (power // j)
        power, j = power // (x * x), j + 2
    return total


def _exp(x: int, places: int) -> int:
    """e^x for 0 ≤ x < 1, less at most 4 units: Taylor's series of x/2^s, squared s times.

    With `fine` places a term loses 2 units and the rest of the series is below 8, of a number from 1 on.
    A square doubles what was lost, in proportion, and adds a unit: in all (2·terms + 9)·2^s units of e^x at
    most.  There are less than 2^(s+4) terms, as each has s places less than the one before.
    """
    s = math.isqrt(places) * 2 // 3
    fine = places + 2 * s + 6
    x <<= fine - places - s
    total = term = 1 << fine
    j = 1
    while term:
        term = (term * x >> fine) // j
        total, j = total + term, j + 1
    for _ in range(s):
        total = total * total >> fine
    return total >> fine - places


def _log(y: int, places: int) -> tuple[int, int]:
    """ln y for y in [3/4, 3/2), and by how many units it may be wrong, y by 1 of them.

    A float g is near ln y; y·e^-g = (1 + w)/(1 - w), ln y = g + 2 artanh w.  A bad guess costs terms alone.
    """
    guess = int(math.log(y / (1 << places)) * 2.0**_GUESSED) << places - _GUESSED
    power = _exp(abs(guess), places)  # in [1, 2)
    ratio = (y << places) // power if guess >= 0 else y * power >> places  # 8 units wrong at most
    power = ((ratio - (1 << places)) << places) // (ratio + (1 << places))  # its slope is below 1
    square, total, j = power * power >> places, 0, 1
    while power not in (0, -1):
        total += power // j
        power, j = power * square >> places, j + 2
    return guess + 2 * total, 20 + 4 * j


def _at(mid: int, place: int, places: int) -> int:
    """⌊mid·2^(place + places)⌋."""
    up = place + places
    return mid << up if up >= 0 else mid >> -up


def _ceil(above: int, below: int) -> int:
    return -(-above // below)


def _cut(mid: int, rad: int, place: int, precision: int) -> Ball:
    """This ball, or one around it, of numbers with at most so many bits."""
    over = max(mid.bit_length(), rad.bit_length()) - precision
    if over <= 0:
        return Ball(mid, rad, place, precision)
    kept = mid >> over if mid >= 0 else -(-mid >> over)
    return Ball(kept, -(-rad >> over) + (kept << over != mid), place + over, precision)
