r"""The lowest ceiling on accuracy that an average case allows: a search in balls; the kernel decides.

    d(p‖q) = p·log₂(p/q) + (1-p)·log₂((1-p)/(1-q))

If a guess that is right by chance with probability q is given `deficit` bits about the answer, it is right
with a probability p with d(p‖q) ≤ deficit.  (Data processing; the relation is convex, so it holds of means.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from heapq import heappop, heappush

from limen.core.balls import Ball, ball, constant, ln_2
from limen.core.certificate import not_below
from limen_check.cannot.depth import Average, Balanced
from limen_check.cannot.shells import Shells

_STEPS = 48  # halvings: the result is a float, exact, and at most 2^-48 above the truth
_CUTS = 256  # how often the cells of rates of false alarms are cut: the ceiling is then some 10⁻³ too high


def lowest(average: Average | Balanced | Shells) -> float:
    """The least accuracy at which the average holds, or a little more."""
    if isinstance(average, Shells):
        return not_below(average.most())
    if isinstance(average, Balanced):
        return _balanced(average)
    numbers = (average.q, average.deficit)
    precision = 128 + 2 * max(max(x.numerator, x.denominator).bit_length() for x in numbers)
    p = highest(_ball(average.deficit, precision), _ball(average.q, precision))
    if p == 1 or (average.slope == 1 and not average.shift):
        return p
    return min(1.0, math.nextafter(float((Fraction(p) - average.shift) / average.slope), math.inf))


def divergence(p: Ball, q: Ball) -> Ball:
    """d(p‖q) in bits."""
    return _part(p, q) + _part(1 - p, 1 - q)


def highest(deficit: Ball, chance: Ball) -> float:
    """The highest p with d(p‖chance) ≤ deficit, rounded up; 1 where the bits would do for certainty.

    >>> highest(ball(0), ball(0.5)) - 0.5 < 1e-6, highest(ball(1), ball(0.5))
    (True, 1.0)
    """
    start = float(chance.high())

    def beyond(p: float) -> bool:
        return divergence(ball(p), chance) > deficit

    if not start < 1 or not beyond(1.0):
        return 1.0
    low, high = _change(start, _about(deficit, chance))
    if beyond(high) and (low == start or not beyond(low)):  # d grows with p: there is one change
        return high
    return _change(start, beyond)[1]


def _about(deficit: Ball, chance: Ball) -> Callable[[float], bool]:
    """Whether d(p‖chance) is above the deficit, in floats: a guess of where to look, and nothing more."""
    told, q, rest = float(deficit), float(chance.log2()), float((1 - chance).log2())
    log2 = math.log2
    return lambda p: p * (log2(p) - q) + (1 - p) * (log2(1 - p) - rest) > told


def _change(low: float, beyond: Callable[[float], bool]) -> tuple[float, float]:
    """The ends of a small part of [low, 1] at which `beyond` is false, then true."""
    high = 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if beyond(middle) else (middle, high)
    return low, high


def _part(p: Ball, q: Ball) -> Ball:
    """p·log₂(p/q), 0 at p = 0."""
    return p if p.is_zero() else p * (p / q).log2()


def detected(average: Balanced, φ: float) -> float:
    """The highest rate of true positives at a rate φ of false ones."""
    ε, seen, told = map(_ball, average)
    return _above(highest(told, ε + (1 - ε) * φ + seen) / (1 - ε))


def _balanced(average: Balanced) -> float:
    """max over φ of (detected(φ) + 1 - φ)/2, from above.

    On a cell [a, b] of φ it is at most (detected(b) + 1 - a)/2; the cell with the most is cut in two.
    d(p‖q) ≤ u gives p - q ≤ √(u·ln2/2) (Pinsker), and with it an accuracy that does not depend on φ; it is
    the better one where few bits are sent.
    """
    cells: list[tuple[float, float, float]] = []

    def add(a: float, b: float) -> None:
        heappush(cells, (-math.nextafter((detected(average, b) + (1 - a)) / 2, math.inf), a, b))

    add(0.0, 1.0)
    for _ in range(_CUTS):
        _, a, b = heappop(cells)
        add(a, (a + b) / 2)
        add((a + b) / 2, b)
    ε, seen, told = map(_ball, average)
    anyway = (1 + (ε + seen + (told * constant(ln_2, 128) / 2).sqrt()) / (1 - ε)) / 2
    return min(1.0, -cells[0][0], _above(anyway))


def _ball(x: Fraction, precision: int = 128) -> Ball:
    return ball(x.numerator, precision) / x.denominator


def _above(x: Ball) -> float:
    """A float not below x, at most 1."""
    return min(1.0, math.nextafter(float(x.high()), math.inf))
