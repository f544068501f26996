r"""Free sizes for route stages, the inequality of `stages.py`: a search in floats, done again in integers.

Only x_0 … x_{L-1} are searched for: what a stage loses does not depend on g and ρ, so the best ρ is the one
that allows the most new values.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp2, floor, inf, log1p, log2
from typing import NamedTuple

from limen.tasks.composition import Composition
from limen.theorems._case import Sides
from limen.theorems.composition_depth.climb import Point, added, climbed, scaled, spread
from limen.theorems.composition_depth.convex import StageLogs, least
from limen.theorems.composition_depth.levels import WRITTEN, Levels, Wires
from limen.theorems.composition_depth.search import (
    CLEAR,
    HIDDEN,
    LOG2_E,
    REMEMBERED,
    Free,
    labels,
    log_add,
    log_sum,
    logarithm,
    placements,
    rounded,
)
from limen.theorems.composition_depth.stages import Stage, by_stages, logarithms, lost, named, tables

LEAST, _HIGHEST = (
    4,
    8,
)  # hops from which on it is sharper than route chain, and beyond which nothing is searched for
_SHARES, _STARTS, _CLIMBS = 20, 60, 5  # points of closed form and others at which a search looks first
_ROUNDING = 0.05  # what rows in whole numbers near the best may lack at most, to be tried
_TRIED, _NEAR = 200, 1 / 8  # such rows, and how near they are
_FAR = 40.0  # powers of two beyond which no ρ is
_MANY = 2**16  # bits of states from which on it does not pay to have one new value at stage 1
# Powers of two by which all inequalities hold in floats, the fewest first: then they hold in whole numbers.
_CLEARER = (3e-4, 2e-3, 1e-2, 0.05, 0.2, 0.5, 1.0)


class Logs(NamedTuple):
    """The logarithms of the bits of wires."""

    w0: float
    w: float
    s: float


@lru_cache(maxsize=REMEMBERED)
def free(task: Composition, bits: Wires) -> Free | None:
    """x, g and r of route stages at a task; None where the search finds none."""
    L = task.L
    if not 2 <= L <= _HIGHEST or task.length.bit_length() > WRITTEN or hopeless(task, bits):
        return None
    logs, m, n = Logs(*map(logarithm, bits)), log2(task.m), [log2(n_l) for n_l in task.n]
    N = list(accumulate(n, initial=m))
    most = (m, *(max(N_l - 1, 0.0) for N_l in N[: L - 1]))

    def within(at: Point) -> Point:
        return tuple(min(max(x, 0.0), top) for x, top in zip(at, most, strict=True))

    shares = (0.3 + 0.9 * i / (_SHARES - 1) for i in range(_SHARES))
    starts = [shape[:L] for share in shares for shape in _shapes(bits, L, N[-1] * share)]
    starts += [scaled(point, most) for point in spread(_STARTS, L)]
    points = climbed(lambda at: gap(logs, within(at), m, n), starts, N[-1] / 8, CLEAR, _CLIMBS)
    if points[0].value < -_ROUNDING:
        return None
    best = points[0].at
    near = (
        tuple(x + _NEAR * (2 * u - 1) for x, u in zip(best, point, strict=True))
        for point in spread(_TRIED, L)
    )
    rows = (_whole(task, bits, within(at)) for at in (best, *near))
    return next((sizes for sizes in rows if sizes is not None), None)


def hopeless(task: Composition, bits: Wires) -> bool:
    """Whether no sizes make route stages hold, by what any of them must obey, in whole numbers.

    As 2^ρ_k·θ_k ≤ N_{k-1} and ρ_k ≥ 1, ρ_{k+1} and ι at most b_k = ⌊log₂N_k⌋:

        stage 1:   x_0 ≥ (δ_0 + 2)/b_0,   x_0 ≤ m
        stages 2 … and the end:   (w_0 + k·w)N_{k-1} + w·x_0·A ≤ δ_k ≤ b_k·n_k·θ_k ≤ b_k·N_k/2
    """
    (w0, w, s), N = bits, tables(task)
    b, A = [N_k.bit_length() - 1 for N_k in N], N[-1] // N[0]
    if b[0] == 0:
        return True
    x_0 = -(-(s + w0 * A + 2) // b[0])
    lost = ((w0 + k * w) * N[k - 1] + w * x_0 * A for k in range(1, task.L))
    return x_0 > N[0] or any(2 * δ > b[k] * N[k] for k, δ in enumerate(lost, 1))


def by_many_stages(task: Composition, bits: Levels) -> Iterator[tuple[str, Free]]:
    """Route stages with its free sizes, for bits by level W, where route chain is behind it."""
    for μ in placements(bits):
        hops = μ[-1] + 1
        if LEAST <= hops <= task.L:
            sizes = free(Composition(task.m, task.n[: hops - 1]), bits.placed(μ, hops).wires)
            if sizes is not None:
                yield "stages", ({"hops": hops} if hops < task.L else {}) | labels(μ) | sizes


def _whole(task: Composition, bits: Wires, logs: Point) -> Free | None:
    """The same in whole numbers, if it holds there."""
    x = [rounded(log, None if l else task.m) for l, log in enumerate(logs)]
    plan = greedy(task, bits, x)
    sides = None if plan is None else by_stages(task, bits, x[0], plan)
    return (
        named(x[0], plan)
        if plan is not None and isinstance(sides, Sides) and sides.has < sides.needs
        else None
    )


def greedy(task: Composition, bits: Wires, x: list[int]) -> list[Stage] | None:
    """The most new values at each stage; None where there is not one."""
    λ, _ = logarithms(task)
    θ, n, plan = x[0], (1, *task.n), []
    for k, δ in enumerate(lost(task, bits, x)[:-1], 1):
        N, q = task.N(k - 1), n[k - 1] * θ

        def values(ρ: int, N: int = N, q: int = q, δ: int = δ, x_k: int = x[k]) -> int:
            return min((ρ * q - δ - 2) // λ + 1 if λ else 1, (N >> ρ) // x_k)

        low, high = 0, N.bit_length()  # what can be found grows with ρ, the room for it shrinks
        while high - low > 1:
            ρ = (low + high) // 2
            low, high = (ρ, high) if (ρ * q - δ - 2) // max(λ, 1) + 1 <= (N >> ρ) // x[k] else (low, ρ)
        ρ = max((low, high), key=values)
        if values(ρ) < 1 or ρ * q < δ + 2:
            return None
        plan.append(Stage(x[k], values(ρ), ρ))
        θ = values(ρ) * x[k]
    return plan


def gap(logs: Logs, x: Sequence[float], m: float, n: Sequence[float]) -> float:
    """The least slack of the inequalities, in powers of two, or the sum of those below 0."""
    w0, w, s = logs
    L, A, N = len(x), added(n), list(accumulate(n, initial=m))
    λ, ι = log2(max(1, math.ceil(N[L - 2]))), max(1, floor(N[L - 1]))
    δ, θ, u, p = log_add(s, w0 + A), x[0], x[0], x[0] + A
    room_for, slack = [m - x[0]], []
    for k in range(1, L):
        x_k, N_k = x[k], N[k - 1]
        q = (n[k - 2] if k > 1 else 0.0) + θ
        room, need = max(N_k - x_k, 1.0), log_add(δ, 1.0)
        room_for.append(N_k - x_k - 1)
        slack.append(log2(floor(room)) + q - need)
        near = x_k + log_add(N_k, u)
        θ = _most(q, need, λ, room) + x_k
        δ = log_sum(δ + log_add(x_k, 0.0), s, log_add(w0, w + log2(k)) + near, w + p)
        u, p = -inf, log_add(near, x_k + p)
    slack.append(n[L - 2] + θ + log2(ι) - δ)
    lacks = [lack for lack in (*room_for, *slack) if not lack >= 0.0]
    return added(lacks) if lacks else min(slack)


def _most(q: float, need: float, λ: float, room: float) -> float:
    """log₂ of the most new values: the best of min((ρq - need)/λ + 1, 2^(room-ρ)) over whole ρ in 1..room."""
    low, high, step = 0, floor(room), 1  # what can be found grows with ρ, the room for it shrinks
    below = above = -1.0  # new values at both, where they are known
    ρ = _near_the_most(q, need, λ, room)
    while high - low > 1:
        if not low < ρ < high:
            ρ = (low + high) // 2
        values = _new_values(q, need, λ, ρ)
        if values <= room - ρ:
            low, below, ρ = ρ, values, ρ + step
        else:
            high, above, ρ = ρ, values, ρ - step
        step *= 2
    if below < 0:
        low = 1
        below = _new_values(q, need, λ, low)
    if above < 0:
        above = _new_values(q, need, λ, high)
    return max(min(below, room - low), min(above, room - high))


def _new_values(q: float, need: float, λ: float, ρ: int) -> float:
    """log₂((2^q·ρ - 2^need)/2^λ + 1), 0 where nothing is left; a search asks it a million times."""
    some = log2(ρ) + q
    if some <= need + 1e-12:
        return 0.0
    new = some + log2(1 - exp2(need - some)) - λ
    if new < 0.0:
        return log1p(exp2(new)) * LOG2_E if new > -HIDDEN else 0.0
    return new + log1p(exp2(-new)) * LOG2_E if new < HIDDEN else new


def _near_the_most(q: float, need: float, λ: float, room: float) -> int:
    """Where log₂(ρq - need) - λ = room - ρ, or near it: ρ = need/q + t - log₂t, about."""
    first = exp2(min(need - q, _FAR))
    t = room + λ - q - first
    return floor(first + (t - log2(t) if t > 2 else exp2(t - 1)))


def _closed(L: int) -> list[float]:
    """log₂ of x_0 … x_{L-1}, n_1 … n_{L-1} as shares of log₂N_{L-1}, in proofs/many_hops_explicit.v."""
    n: list[int] = []
    x: list[int] = []
    for _ in range(L - 1):
        new = 1 + sum(n)
        n.insert(0, 1 + new + sum(x))
        x.insert(0, new)
    x_0 = 1 + sum(n)
    whole = x_0 + sum(x) + sum(n)
    return [share / whole for share in (x_0, *x, *n)]


def smallest_by_stages(bits: Wires, L: int, most: float) -> tuple[Composition, Free] | None:
    """The smallest task of L hops found, of at most 2^most entries in its last table, with its sizes.

    By the least sizes up to roundings (`convex.py`), from those in closed form on.
    """
    if not 1 < L <= _HIGHEST:
        return None
    tasks = (_by_start(bits, *way, most) for way in _starts(bits, L))
    return min((task for task in tasks if task), key=lambda task: task[0].length, default=None)


def _by_start(
    bits: Wires, start: StageLogs, single: bool, up: bool, most: float
) -> tuple[Composition, Free] | None:
    for clear in _CLEARER:
        sizes = least(bits, start, single, most, clear, up)
        if sizes is None:
            return None
        task = Composition(max(2, rounded(sizes.m)), tuple(map(rounded, sizes.n)))
        if (whole := _whole(task, bits, sizes.x)) is not None:
            return task, whole
    return None


def _starts(bits: Wires, L: int) -> list[tuple[StageLogs, bool, bool]]:
    """StageLogs at which route stages surely holds; where nothing is lost for each w also with g_1 = 1.

    Then x_0 may be a small number, which is rounded either way.
    """
    logs, size = Logs(*map(logarithm, bits)), 8 * L * log2(4 + sum(bits))
    while max(_sized(logs, L, size, at) for at in _shapes(bits, L, size)) < CLEAR:
        size *= 1.2
    closed = tuple(share * size for share in _closed(L))
    x, n = closed[:L], closed[L:]
    m = added(x[1:])
    few = StageLogs((log2(4 + bits.s), *x[1:]), m, (added([m, *x[2:], x[-1]]), *n[1:]))
    more = [] if bits.w0 or bits.s > _MANY else [(few, True, up) for up in (False, True)]
    return [(StageLogs(x, size - added(n), n), False, True), *more]


def _shapes(bits: Wires, L: int, size: float) -> list[Point]:
    """The closed form; and, where nothing is lost for each w, one of few values of z_0, and m near n_1."""
    shares = _closed(L)
    closed = tuple(share * size for share in shares)
    if bits.w0:
        return [closed]
    whole = shares[L] + added(shares[L:])
    return [(log2(4 + bits.s), *(share * size / whole for share in shares[1:])), closed]


def _task(at: Point, L: int, size: float) -> Composition:
    n = _parts(at, L, size)
    return Composition(max(2, rounded(size - added(n))), tuple(map(rounded, n)))


def _sized(logs: Logs, L: int, size: float, at: Point) -> float:
    n = _parts(at, L, size)
    return gap(logs, [max(x_l, 0.0) for x_l in at[:L]], size - added(n), n)


def _parts(at: Point, L: int, size: float) -> list[float]:
    """n_1 …, with room left for m."""
    n = [max(n_l, 0.0) for n_l in at[L:]]
    return [n_l * min(1.0, size / max(added(n), 1e-9)) for n_l in n]
