r"""The highest point of a function of a few numbers, by the simplex of Nelder and Mead, in plain Python.

The gaps of the proofs are sums and least values of powers, seen in logarithms: few hills, with sharp ridges.
A simplex follows these without derivatives, in some hundred values.  A search is a guess: who asks does the
arithmetic again in whole numbers.  The guess is the same on every Python: `added` adds from left to right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce
from operator import add, itemgetter
from typing import NamedTuple, TypeAlias

Point: TypeAlias = tuple[float, ...]
Score: TypeAlias = Callable[[Point], float]

_VALUES = 60  # of the function for each number, in one climb
_LEVEL = 1e-5  # a simplex whose corners are level to so much has arrived
_AGAIN = 3.0  # how much smaller the second simplex of a climb begins, where the first one arrived


class Spot(NamedTuple):
    """A point, and what the function is there: -∞ where it makes no sense."""

    value: float
    at: Point


def climbed(
    score: Score, starts: Iterable[Point], far: float, enough: float = math.inf, climbs: int = 3
) -> list[Spot]:
    """The best points found, the highest first: a simplex from each of the best starts, until enough."""
    ranked = sorted((Spot(score(start), start) for start in starts), reverse=True, key=_height)
    highest = ranked[:1]
    for start in ranked[:climbs]:
        if highest[0].value >= enough:
            break
        if far:
            corners = _simplex(score, start, far, enough)
            corners = (
                corners if corners[0].value >= enough else _simplex(score, corners[0], far / _AGAIN, enough)
            )
            highest = sorted([*highest, *corners], reverse=True, key=_height)
    return highest


_height = itemgetter(0)  # the value of a spot


def _simplex(score: Score, start: Spot, far: float, enough: float) -> list[Spot]:
    """The last corners, the highest first."""
    free = len(start.at)
    corners = [start, *(_seen(score, _moved(start.at, i, far)) for i in range(free))]
    for _ in range(_VALUES * free):
        corners.sort(reverse=True, key=_height)
        best, worst = corners[0], corners[-1]
        if best.value >= enough or best.value - worst.value < _LEVEL or best.value == -math.inf:
            break
        middle = [reduce(add, at) / free for at in zip(*[c.at for c in corners[:-1]], strict=True)]
        across = _seen(score, _beyond(middle, worst.at, 1.0))
        if across.value > best.value:
            further = _seen(score, _beyond(middle, worst.at, 2.0))
            corners[-1] = max(across, further, key=_height)
        elif across.value > corners[-2].value:
            corners[-1] = across
        else:
            inner = _seen(score, _beyond(middle, worst.at, 0.5 if across.value > worst.value else -0.5))
            if inner.value > max(across.value, worst.value):
                corners[-1] = inner
            else:
                corners[1:] = [_seen(score, _beyond(best.at, c.at, -0.5)) for c in corners[1:]]
    corners.sort(reverse=True, key=_height)
    return corners


def _seen(score: Score, at: Point) -> Spot:
    return Spot(score(at), at)


def _moved(at: Point, i: int, far: float) -> Point:
    return (*at[:i], at[i] + far, *at[i + 1 :])


def _beyond(middle: Sequence[float], corner: Point, share: float) -> Point:
    """From a corner through the middle, so much further."""
    return tuple([m + share * (m - c) for m, c in zip(middle, corner, strict=True)])


@cache
def spread(points: int, free: int) -> tuple[Point, ...]:
    """Points i·(1/φ, 1/φ², …) mod 1, φ^(free+1) = φ + 1: they leave no large hole in the cube."""
    φ = 2.0
    for _ in range(64):
        φ = (1 + φ) ** (1 / (free + 1))
    return tuple(tuple(i * φ**-j % 1 for j in range(1, free + 1)) for i in range(1, points + 1))


def added(terms: Iterable[float]) -> float:
    """Their sum, rounded after each term: since Python 3.12 `sum` of floats rounds otherwise than before."""
    return reduce(add, terms, 0.0)


def scaled(point: Sequence[float], most: Sequence[float]) -> Point:
    """A point of the cube, in the box 0..most."""
    return tuple(u * top for u, top in zip(point, most, strict=True))
