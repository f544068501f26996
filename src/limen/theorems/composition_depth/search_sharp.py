"""Good free sizes for the sharp inequalities of one or two full layers, which stand in `sharp_floats.py`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from limen.core.architecture import Architecture
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.tasks.composition import Composition
from limen.tasks.facts import Facts
from limen.theorems._case import Accuracy, Case, Sides, read_stack
from limen.theorems._stated import evaluated
from limen.theorems.composition_depth.climb import Point, Score, climbed, spread
from limen.theorems.composition_depth.search import REMEMBERED
from limen.theorems.composition_depth.sharp_floats import (
    FULL_LINEAR,
    LARGEST,
    LF,
    LF_SPLIT,
    LINEAR_FULL,
    LINEAR_FULL_LINEAR,
    NOTHING,
    ONE_LAYER,
    THREE_HOPS_MANY_KEYS,
    THREE_HOPS_ONE_KEY,
    TWO_FULL_AVERAGE,
    TWO_FULL_BY_GROUPS,
    TWO_FULL_LINEAR,
    TWO_FULL_LINEAR_BY_PAIRS,
    Found,
    Route,
    SharpStack,
    Tables,
    between,
    lightest,
)
from limen_check import Refused
from limen_check.cannot.depth import composition_depth, serial


class Reading(NamedTuple):
    """A stack in series: full parts first, and linear parts first."""

    full: SharpStack
    linear: SharpStack

    @classmethod
    def of(cls, architecture: Architecture, n: int) -> Reading | None:
        """For texts of n tokens; None where nothing is said of such layers."""
        if any(part.mixer.sees_future for layer in architecture.counted for part in layer.parts):
            return None
        try:
            β, full, linear = serial(read_stack(architecture), n)
        except (Refused, BadInput):  # replies of no fixed size, or it cannot read so long a text
            return None
        return cls(SharpStack(β, tuple(full)), SharpStack(β, tuple(linear)))

    def stack(self, route: Route) -> SharpStack:
        """The way round that serves the route, with numbers that floats can hold."""
        stack = self.linear if route.upper else self.full
        return SharpStack(min(stack.β, LARGEST), tuple(min(S_t, LARGEST) for S_t in stack.S))

    def exact(self, L: int) -> list[Route]:
        """The inequalities for L tables; where one implies another, the one that says more."""
        full, linear = self
        if full.F == 1 and full.S[0] == linear.S[1] == 0:
            return [ONE_LAYER]
        if full.F == 1 and L >= 2:
            return [LINEAR_FULL] if linear.S[1] == 0 else [LINEAR_FULL_LINEAR] if full.S[0] else [FULL_LINEAR]
        if full.F == 2 and L >= 2:
            behind = [TWO_FULL_LINEAR_BY_PAIRS, TWO_FULL_LINEAR] if full.S[2] else [TWO_FULL_BY_GROUPS]
            two = [] if full.S[0] or full.S[1] else behind
            return [*two, THREE_HOPS_ONE_KEY, THREE_HOPS_MANY_KEYS] if L >= 3 else two
        return []

    def average(self, L: int) -> list[Route]:
        """The average cases that may say cannot where the exact inequalities do not."""
        full, linear = self
        if full.F == 1 and linear.S[1] == 0 < linear.S[0] and L >= 2:
            return [LF, LF_SPLIT]
        return [TWO_FULL_AVERAGE] if full.S == (0, 0, 0) and L >= 2 else []


def candidates(case: Case) -> Iterator[Case]:
    """The routes that apply, with their free sizes; those that say cannot first, the widest margin first."""
    task = _composition(case)
    reading = None if task is None else Reading.of(case.architecture, task.length)
    if task is None or reading is None:
        return
    filled = (
        each for route in reading.exact(task.L) for each in _filled(case, task, route, reading.stack(route))
    )
    cases = (*filled, *_averages(case, task, reading))
    yield from (each for _, each in sorted(_stated(cases), key=lambda pair: _rank(pair[0])))


def routed(case: Case, route: Route) -> Iterator[Case]:
    """The case by one route, with free sizes that are the best in floats; none where it does not apply."""
    task = _composition(case)
    reading = None if task is None else Reading.of(case.architecture, task.length)
    if task is not None and reading is not None and route in reading.exact(task.L):
        yield from _filled(case, task, route, reading.stack(route))


def average(case: Case) -> Case | None:
    """The average case with the lowest ceiling; None where none applies."""
    task = _composition(case)
    reading = None if task is None else Reading.of(case.architecture, task.length)
    if task is None or reading is None:
        return None
    averages = (each for each in _averages(case, task, reading) if "hops" not in each.sizes)
    ceilings = [(sides.ceiling, each) for sides, each in _stated(averages) if isinstance(sides, Accuracy)]
    return min(ceilings, key=lambda pair: pair[0], default=(1.0, None))[1]


def smallest_sharp(architecture: Architecture, L: int) -> tuple[int, Case] | None:
    """The fewest tokens of a composition of L tables that is surely beyond the architecture, and why."""
    reading = Reading.of(architecture, L + 2)
    best: Case | None = None
    for route in [] if reading is None else [*reading.exact(L), *reading.average(L)]:
        best = _smallest(route, architecture, L, best.task.length if best else LARGEST) or best
    return None if best is None else (best.task.length, best)


def _composition(case: Case) -> Composition | None:
    task = case.task.composition if isinstance(case.task, Facts) else case.task
    return task if isinstance(task, Composition) and case.steps == 0 else None


def _stated(cases: Iterable[Case]) -> list[tuple[Sides | Accuracy, Case]]:
    """The cases of which something is said."""
    sides = [(evaluated("composition_depth", composition_depth, case), case) for case in cases]
    return [(each, case) for each, case in sides if not isinstance(each, NoStatement)]


def _rank(sides: Sides | Accuracy) -> tuple[bool, bool, float]:
    """Whether it says nothing, whether it is an accuracy, how narrow it is: the best rank is the least."""
    if isinstance(sides, Accuracy):
        return sides.ceiling >= 1, True, sides.ceiling
    much = 1000 * sides.needs  # how far beyond does not matter
    return sides.has >= sides.needs, False, min(sides.has, much) / sides.needs if sides.needs else math.inf


def _filled(case: Case, task: Composition, route: Route, stack: SharpStack) -> Iterator[Case]:
    """The case with the best free sizes; where these are too small to be rounded, those for more bits.

    Each inequality is monotone in the bits: what holds with more of them holds with fewer, sizes unchanged.
    """
    tables = _tables(task, route)
    for eighths in _MORE_BITS if route.free else _MORE_BITS[:1]:
        there = SharpStack(-(-stack.β * eighths // 8), tuple(-(-S_t * eighths // 8) for S_t in stack.S))
        u = _widest(route, tables, there)
        outcome = route.at(tables, there, u)
        if outcome.margin == -math.inf and route is not ONE_LAYER:  # which has no sizes to find
            return
        filled = replace(case, route=route.name, sizes=_whole(outcome.sizes) | route.hops(task.L))
        yield filled
        if not outcome.margin > _NEAR or _excludes(filled):
            return


@lru_cache(maxsize=REMEMBERED)
def _widest(route: Route, tables: Tables, stack: SharpStack) -> Point:
    """Where the margin is widest, at these tables: those of a growing task are mostly the same."""
    return _best(lambda u: route.at(tables, stack, u).margin, route.free)


_MORE_BITS, _NEAR = (8, 9, 10, 12, 16), -0.5  # eighths of the bits; a margin that no rounding turns


def _excludes(case: Case) -> bool:
    return any(_rank(sides)[0] is False for sides, _ in _stated([case]))


def _averages(case: Case, task: Composition, reading: Reading) -> Iterator[Case]:
    """The average cases for such a stack; without free sizes, of one layer and of S_1 after it:

    F_average    d(p‖1/N_1) ≤ (n_1·β + S)/(n_1·m)
    FL_average   d(p‖1/N_1) ≤ min(β(n_1 + (3m+1)/2) + S_1, β(n_1 + 1) + m·S_1)/(n_1·m)
    """
    full, linear = reading
    if full.F == 2 and not any(full.S) and task.L >= 2:
        yield replace(case, route="two_full_average", sizes=TWO_FULL_AVERAGE.hops(task.L))
    elif full.F == 1 and full.S[0] == linear.S[1] == 0:
        yield replace(case, route="one_layer_average", sizes={})
    elif full.F == 1 and linear.S[1] == 0 and task.L >= 2:
        yield replace(case, route="linear_full_average", sizes={})
        c4 = lightest(_tables(task, LF_SPLIT), reading.stack(LF_SPLIT))
        yield replace(case, route="linear_full_average", sizes={"c4": c4})
    elif full.F == 1 and full.S[0] == 0 and task.L == 2:
        yield replace(case, route="full_linear_average", sizes={})


def _tables(task: Composition, route: Route) -> Tables:
    """The tables that the route is about."""
    if not route.upper:
        m, n = task.m, task.n[: route.tables - 1]
    else:
        m, n = (task.m, (1,)) if task.L == 1 else (task.N(task.L - 2), task.n[-1:])
    return Tables(_float(m), tuple(map(_float, n)))


def _float(x: int) -> float:
    return float(x) if x < LARGEST else math.inf


def _whole(sizes: dict[str, float]) -> dict[str, int]:
    return {name: int(size) for name, size in sizes.items()}


class Placed(NamedTuple):
    """A case, and where the search found it."""

    case: Case
    u: Point


def _smallest(route: Route, architecture: Architecture, L: int, below: int) -> Case | None:
    """By bisection over the number of tokens, where fewer than `below` are enough."""
    low, high = L + 1, min(2 * L + 4, below - 1)
    while (placed := _possible(route, architecture, L, high)) is None:
        if high == below - 1:
            return None
        low, high = high, min(high**2, below - 1)
    while high - low > 1 + (low >> 12):
        middle = math.isqrt(low * high) if high > 2 * low else (low + high) // 2
        nearer = _possible(route, architecture, L, middle, placed.u)
        low, high, placed = (middle, high, placed) if nearer is None else (low, middle, nearer)
    for _ in range(16):  # floats may be wrong by a hair
        for sides, case in _stated([placed.case]):
            silent, *_ = _rank(sides)
            if not silent:
                return case
        high += 1 + (high >> 12)
        placed = _possible(route, architecture, L, high, placed.u) or placed
    return None


def _possible(
    route: Route, architecture: Architecture, L: int, n: int, near: Point | None = None
) -> Placed | None:
    """Tables of at most n tokens for which the inequality holds in floats."""
    reading = Reading.of(architecture, n)
    if reading is None:
        return None
    stack, cuts = reading.stack(route), route.tables - 1

    def outcome(u: Point) -> Found:
        tables = _divided(route, L, n, u[:cuts])
        return route.at(tables, stack, u[cuts:]) if tables.m >= 1 else NOTHING

    u = _best(lambda u: outcome(u).margin, cuts + route.free, near, until=0.0)
    margin, sizes = outcome(u)
    if not margin > 0:
        return None
    m, n_l = _divided(route, L, n, u[:cuts])
    task = _task(route, L, int(m), tuple(map(int, n_l)))
    return Placed(Case(task, architecture, route=route.name, sizes=_whole(sizes) | route.hops(L)), u)


def _divided(route: Route, L: int, n: int, u: Point) -> Tables:
    """Tables that n tokens have room for: n_l from u, m what is left; further ones as small as can be."""
    if L == 1:
        return Tables(n - 2.0, (1.0,))
    n_l: list[float] = []
    width, tokens = 1.0, 1.0  # N_l/m, and all entries/m
    for u_l in u:
        n_l.append(between(min(max(u_l, 0.0), 1.0), 1, n / 2 / width))
        width *= n_l[-1]
        tokens += width
    further = L - route.tables
    room, each = (n - 2 - further, tokens) if route.upper else (n - 2, tokens + further * width)
    return Tables(float(room // each), tuple(n_l))


def _task(route: Route, L: int, m: int, n: tuple[int, ...]) -> Composition:
    further = L - route.tables
    if further <= 0:
        return Composition(m, n[: L - 1])
    ones = (1,) * further
    return Composition(1, (*ones[1:], m, *n)) if route.upper else Composition(m, n + ones)


def _best(margin: Score, free: int, near: Point | None = None, until: float = math.inf) -> Point:
    """Where the margin is widest (or just above `until`); perhaps `near` a point.

    The last free size starts in several slices of its range: there may be two peaks.
    """
    if free == 0:
        return ()
    slices = [
        [] if near is None else [near],
        *([u for u in spread(_POINTS * free, free) if int(u[-1] * _SLICES) == i] for i in range(_SLICES)),
    ]
    starts = [climbed(margin, points, 0, until)[0] for points in slices if points]
    return climbed(margin, [seen.at for seen in starts], _SIDE, until, climbs=_SLICES)[0].at


_POINTS, _SLICES, _SIDE = 24, 4, 0.2  # points for each free size, slices, and the side of the first simplex
