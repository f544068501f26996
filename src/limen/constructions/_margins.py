r"""How far an answer is from flipping, over every input and every rounding, in balls (`core/balls.py`).

The arithmetic of a precision with t significant bits: the result of every operation is rounded, with a
relative error of at most u = 2^-t; sums inside one operation (a matrix product, a softmax) are accumulated
with at least 24 bits (53 for float64 and for simulated formats), whatever the order.  That is what torch
does on a CPU: 16-bit products accumulate in float32.  `settled` and `copied` use two facts more: results
are rounded to the nearest number, and inside a softmax the largest score has the weight e^0 = 1 exactly.
Everything here is an upper bound on errors or a lower bound on margins; a ball's outer end is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from limen.core.balls import Ball, ball
from limen.core.numbers import Exact, Fixed, Float, Precision, Significand
from limen.model.last import CHUNK


@dataclass(frozen=True)
class Roundoff:
    """u bounds the relative error of a rounded result, acc that of one addition inside an operation.

    Long sums are made in pieces (`model/last.py`); `piece` bounds the error of adding one more.  `least` is
    the least number above 0 of what sums are made in.
    """

    u: Ball
    acc: Ball
    piece: Ball
    least: Ball

    @classmethod
    def of(cls, precision: Precision) -> Roundoff | None:
        """None for fixed point and exact integers, which have no relative error."""
        if not isinstance(precision, Float | Significand):
            return None
        u, machine = ball(2) ** -precision.t, isinstance(precision, Float)
        short = machine and precision.t <= 24
        inside, least = ball(2) ** (-24 if short else -53), ball(2) ** (-149 if short else -1074)
        return cls(u, inside, inside if machine else u, least)  # a simulated format rounds every addition

    def sums(self, n: int) -> Ball:
        """The error of a sum of n numbers, relative to the sum of their sizes: n·acc/(1 - n·acc)."""
        error = n * self.acc + n // CHUNK * self.piece
        return error / (1 - error) if error < 1 else ball(math.inf)


def lower(x: Ball) -> float:
    """A float that is surely not above x."""
    return math.nextafter(float(x.low()), -math.inf)


def certified(margin: Ball) -> float | None:
    """The margin if it is surely positive; otherwise nothing is certified."""
    bound = lower(margin)
    return bound if bound > 0 else None


@dataclass(frozen=True)
class Read:
    """What a retrieval head reads of a value in {0, 1}: at least `one` of a 1, at most `zero` of a 0."""

    one: Ball
    zero: Ball


def retrieved(off: Ball, n: int, r: Roundoff) -> Read:
    """A softmax whose weight off the right key is at most `off` times the weight on it, over n tokens.

    Each exponential carries the error of its argument's rounding (in `off` already), of exp and of the
    result; the weights are rounded once, the weighted sum is accumulated and rounded.
    """
    slack = (1 + r.u) ** 4 * (1 + r.sums(n)) ** 2
    return Read(one=1 / ((1 + off) * slack), zero=off / (1 + off) * slack)


def off_mass(keys: int, bits: int, gap: Ball, noise: Ball, idle: int = 0) -> Ball:
    """The weight of all other tokens, relative to the right key; at Hamming distance h one scores h·gap less.

    Keys are different words of `bits` bits, so at most C(bits, h) are at distance h, and
    Σ C(bits, h)e^{-h·gap} = (1 + e^{-gap})^bits - 1; there are keys-1 wrong ones in all, at distance ≥ 1.
    `idle` tokens have key 0 and score bits·gap less.  `noise` is the largest error of a score.
    """
    by_distance = (1 + (-gap).exp()) ** bits - 1
    by_number = (keys - 1) * (-gap).exp()
    least = by_distance if by_distance < by_number else by_number
    return (least + idle * (-bits * gap).exp()) * (2 * noise).exp()


def holds(precision: Precision, integers: int, largest: int) -> bool:
    """Whether this precision has every integer up to `integers`, and nothing up to `largest` overflows."""
    if isinstance(precision, Float):
        return integers <= 1 << precision.t and largest <= precision.largest
    return isinstance(precision, Significand) and integers <= 1 << precision.t


def whole(precision: Precision, largest: int) -> bool:
    """Whether every integer up to `largest` is a number of this precision, so that whole numbers stay whole.

    Fixed point has them below 2^top, where it saturates; without a top it is carried in float64, and exact
    integers in int64.
    """
    match precision:
        case Fixed():
            return largest <= 1 << 53 and (precision.top is None or largest < 1 << precision.top)
        case Exact():
            return largest < 1 << 63
    return holds(precision, largest, largest)


def settled(error: Ball, top: int, r: Roundoff) -> Ball:
    """How far a number within `error` of an integer ≤ top is from it after rounding to the nearest.

    The neighbours of an integer ≥ 1 are at least u away: an error below u/2 vanishes; one at 0 grows by u.
    """
    return error * (1 + r.u) if error < r.u / 2 else error + r.u * (top + error)


def copied(off: Ball, top: int, r: Roundoff) -> Ball:
    """How far a softmax read of an integer ≤ top is from it, when its right keys, one or two, score the same.

    Inside the operation exponentials, their sum and the weighted sum err by a few acc, relative; wrong keys,
    `off` of the weight, move a sum by at most twice that: the nearest number to a + ε is no farther than a.
    """
    inside = top * (8 * r.acc + 4 * off)
    return 4 * top * off * (1 + r.u) if inside < r.u / 2 else inside + r.u * (top + inside)
