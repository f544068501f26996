"""Numbers with their errors, in whole numbers: x stands for x/2^64, and a ball (x, r) for all within r of x.

A vector has one radius for all its numbers.  Products are exact and then rounded down; what is lost is added
to the radius.  Nothing here is a float, so nothing depends on how a machine rounds.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import isqrt
from operator import mul
from typing import NamedTuple

from limen_check.files import need

PLACES = 64
ONE = 1 << PLACES
_MORE = 32  # places that exponentials are computed with beyond these
_LARGEST = 1 << PLACES + 32  # of a weight


class Ball(NamedTuple):
    mid: int
    rad: int

    @property
    def low(self) -> int:
        return self.mid - self.rad

    @property
    def high(self) -> int:
        return self.mid + self.rad

    @property
    def most(self) -> int:
        return abs(self.mid) + self.rad

    def plus(self, other: "Ball") -> "Ball":
        return Ball(self.mid + other.mid, self.rad + other.rad)

    def minus(self, other: "Ball") -> "Ball":
        return Ball(self.mid - other.mid, self.rad + other.rad)

    def times(self, other: "Ball") -> "Ball":
        lost = self.most * other.rad + other.most * self.rad
        return Ball(self.mid * other.mid >> PLACES, (lost >> PLACES) + 2)

    def over(self, other: "Ball") -> "Ball":
        """x/y for y > 0: |x/y - x'/y'| ≤ (|x|·r_y + |y|·r_x)/(y·y')."""
        need(other.low > 0, "a division by what may be 0")
        lost = self.most * other.rad + other.most * self.rad
        return Ball((self.mid << PLACES) // other.mid, (lost << PLACES) // (other.mid * other.low) + 2)


class Vec(NamedTuple):
    mid: list[int]
    rad: int

    @property
    def most(self) -> int:
        """Not below the sum of the absolute values."""
        return sum(map(abs, self.mid)) + len(self.mid) * self.rad

    def plus(self, other: "Vec") -> "Vec":
        return Vec([a + b for a, b in zip(self.mid, other.mid, strict=True)], self.rad + other.rad)

    def minus(self, other: "Vec") -> "Vec":
        return Vec([a - b for a, b in zip(self.mid, other.mid, strict=True)], self.rad + other.rad)

    def scaled(self, by: Ball) -> "Vec":
        top = max(map(abs, self.mid), default=0) + self.rad
        lost = (top * by.rad + by.most * self.rad >> PLACES) + 2
        return Vec([a * by.mid >> PLACES for a in self.mid], lost)

    def each(self, other: "Vec") -> "Vec":
        """Number by number, their products."""
        top = [max(map(abs, v.mid), default=0) + v.rad for v in (self, other)]
        lost = (top[0] * other.rad + top[1] * self.rad >> PLACES) + 2
        return Vec([a * b >> PLACES for a, b in zip(self.mid, other.mid, strict=True)], lost)

    def at(self, i: int) -> Ball:
        return Ball(self.mid[i], self.rad)


def vec(balls: Iterable[Ball]) -> Vec:
    """One radius for all: the largest."""
    balls = list(balls)
    return Vec([b.mid for b in balls], max((b.rad for b in balls), default=0))


def weights(numbers: Iterable[float]) -> Vec:
    """Floats are whole multiples of a power of two: exact, or rounded down at the 64th place."""
    mids, rad = [], 0
    for number in numbers:
        top, below = number.as_integer_ratio()
        mid, lost = divmod(top << PLACES, below)
        need(abs(mid) <= _LARGEST, "a weight is too large")
        mids.append(mid)
        rad |= lost != 0
    return Vec(mids, int(rad))


def dot(a: Vec, b: Vec) -> Ball:
    """Σ a_i b_i."""
    lost = a.most * b.rad + b.most * a.rad if a.rad or b.rad else 0
    return Ball(sum(map(mul, a.mid, b.mid)) >> PLACES, (lost >> PLACES) + 2)


@lru_cache(maxsize=1)
def _ln2() -> int:
    """⌊2^(64+32)·ln 2⌋, or one less: Σ 1/(j 2^j), 16 more places for what 112 terms and the rest lose."""
    places = PLACES + _MORE + 16
    return sum((1 << places - j) // j for j in range(1, places)) >> 16


def exp(x: Ball) -> Ball:
    """e^x = 2^k e^f, 0 ≤ f < 0.7, by Taylor's series; e^(x±r) is within 2r·e^x of e^x while r ≤ 1."""
    need(x.rad <= ONE, "an exponent is too blurred")
    k = (x.mid << _MORE) // _ln2()
    need(k <= 32, "an exponential is too large")
    if k < -2 * PLACES:
        return Ball(0, 1)
    places = PLACES + _MORE
    f = (x.mid << _MORE) - k * _ln2()
    total, term, j = 0, 1 << places, 1
    while term:
        total, term, j = total + term, (term * f >> places) // j, j + 1
    lost = 2 * (j + 2) + 2 * abs(k) + 2  # roundings of all terms, the rest of the series, and ln 2
    down = _MORE - k
    value = total >> down if down > 0 else total << -down
    error = (lost >> down if down > 0 else lost << -down) + 2
    return Ball(value, error + (2 * x.rad * (value + error) >> PLACES) + 1)


def sigmoid(x: Ball) -> Ball:
    """1/(1 + e^-x); its slope is at most 1/4."""
    z = exp(Ball(-abs(x.mid), 0))
    below = Ball(ONE + z.mid, z.rad)
    value = (Ball(ONE, 0) if x.mid >= 0 else z).over(below)
    return Ball(value.mid, value.rad + x.rad)


def softplus(x: Ball) -> Ball:
    """max(x, 0) + ln(1 + e^-|x|); ln(1 + z) = 2 artanh w, w = z/(2 + z) ≤ 1/3; its slope is at most 1."""
    z = exp(Ball(-abs(x.mid), 0))
    w = z.over(Ball(2 * ONE + z.mid, z.rad)).mid  # what z is blurred by stands in the radius below
    total, power, j = 0, w, 1
    while power:
        total, power, j = total + power // j, (power * w >> PLACES) * w >> PLACES, j + 2
    return Ball(max(x.mid, 0) + 2 * total, x.rad + 2 * z.rad + 4 * j + 8)


def elu1(x: Ball) -> Ball:
    """x + 1 or e^x; its slope is at most 1."""
    value = Ball(x.mid + ONE, 0) if x.mid >= 0 else exp(Ball(x.mid, 0))
    return Ball(value.mid, value.rad + x.rad)


def root(x: Vec, epsilon: int, mean: bool) -> Ball:
    """√(Σx² + ε), or of the mean: no number moves it by more than the vector's length moves, √n·r at most."""
    many = len(x.mid) if mean else 1
    squares = sum(map(mul, x.mid, x.mid)) // many + (epsilon << PLACES)
    blur = x.rad if mean else x.rad * (isqrt(len(x.mid)) + 1)
    return Ball(isqrt(squares), blur + 2)
