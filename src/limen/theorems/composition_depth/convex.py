r"""The least sizes for route stages, up to roundings: a convex program, by Newton's rule on a log barrier.

In logarithms to the base 2 every inequality of `stages.py` is a sum of powers below one power: convex, once
ρ_k is a number of its own, not its logarithm.  With θ_k = g_k·x_k, N_k = m·n_1⋯n_k and
δ_k = x_k·δ_{k-1} + (w_0 + k·w)·x_k(N_{k-1} + u_{k-1}) + w·p_{k-1}, which is hardly less than what is lost:

    minimise log₂N_{L-1}   where   log₂(δ_{k-1} + 2 + λ·2^(θ_k - x_k)) ≤ n_{k-1} + θ_{k-1} + log₂ρ_k
                                   ρ_k + θ_k ≤ N_{k-1},   0 ≤ x_k ≤ θ_k,   0 ≤ n_k,   x_0 ≤ m,   1 ≤ ρ_k
                                   log₂δ_{L-1} ≤ n_{L-1} + θ_{L-1} + log₂ι

So there is one hill, and some dozens of steps lead up to it from anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import exp2, log2
from typing import NamedTuple

from limen.theorems.composition_depth.climb import added
from limen.theorems.composition_depth.levels import Wires

LOG2_E = log2(math.e)
_FIRST, _SHARPER, _LAST = 0.001, 20.0, 200.0  # weights of the size against the barrier, from one to the next
_STEPS = 40  # of Newton's rule for each weight
_NEAR = 1e-3  # half the square of a step, in the norm of the Hessian, that is near enough
_ROUNDS = 4  # λ and ι are those of the sizes before; in the last round ρ are whole numbers
_OUTSIDE = (
    1.0,
    1.03,
    1.1,
    1.3,
    2.0,
    4.0,
)  # by how much sizes are made larger, so that a first point is inside
_SMALL = 20.0  # a logarithm up to which rounding counts
_INSIDE = 0.1  # by how much a first point stays inside
_TRIED = (1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0)  # values of ρ at a first point

Power = tuple[float, dict[int, float]]  # log₂ of a coefficient, and exponents by the number of a variable


class ConvexLimit(NamedTuple):
    """log₂Σ powers - (an affine function) - log₂ρ ≤ 0, without ρ where `ρ` is -1."""

    powers: Sequence[Power]
    below: Power
    ρ: int = -1


class StageLogs(NamedTuple):
    """Logarithms of x_0 … x_{L-1}, m and n_1 … n_{L-1}."""

    x: tuple[float, ...]
    m: float
    n: tuple[float, ...]

    @property
    def size(self) -> float:
        return self.m + added(self.n)

    def scaled(self, by: float) -> StageLogs:
        return StageLogs(tuple(by * x for x in self.x), by * self.m, tuple(by * n for n in self.n))


class ConvexProgram(NamedTuple):
    """The variables are m, n_1 …, x_0 …, θ_1 … and, unless they are given, ρ_1 …, in this order."""

    L: int
    limits: list[ConvexLimit]
    lost: list[list[Power]]  # δ_0 … δ_{L-1}
    λ: float
    ρ: Sequence[int]  # whole numbers that are given, or none
    single: bool  # g_1 = 1: then λ(g_1 - 1) = 0, which counts where little is lost before stage 1
    clear: float

    @classmethod
    def of(
        cls, bits: Wires, near: StageLogs, given: Sequence[int], clear: float, single: bool, up: bool
    ) -> ConvexProgram:
        """For wires, with λ and ι of sizes nearby; the inequalities hold by `clear` powers of two."""
        L, (w0, w, s) = len(near.x), (log2(b) if b else -math.inf for b in bits)
        λ, ι = log2(max(1.0, near.size - near.n[-1])), log2(max(1.0, near.size))
        N = [dict.fromkeys(range(k + 1), 1.0) for k in range(L)]
        A = dict.fromkeys(range(1, L), 1.0)
        x, θ, ρ = range(L, 2 * L), range(2 * L - 1, 3 * L - 1), range(3 * L - 2, 4 * L - 2)  # θ, ρ from 1 on
        lost: list[list[Power]] = [[power for power in ((s, {}), (w0, A), (0.0, {})) if power[0] > -math.inf]]
        told: list[Power] = [(0.0, _times(A, {x[0]: 1.0}))]  # p
        for k in range(1, L):
            near_k = [_times(N[k - 1], {x[k]: 1.0}), *([{x[0]: 1.0, x[1]: 1.0}] if k == 1 else [])]
            each = log2(bits.w0 + k * bits.w)
            more = [*((each, a) for a in near_k), *((w + c, a) for c, a in told)]
            lost.append([*((c, _times(a, {x[k]: 1.0})) for c, a in lost[-1]), *more])
            told = [*((0.0, a) for a in near_k), *((c, _times(a, {x[k]: 1.0})) for c, a in told)]
        limits = [ConvexLimit([(0.0, {x[0]: 1.0})], (0.0, {0: 1.0}))]
        for k in range(1, L):
            asks = {x[0]: 1.0} if k == 1 else {θ[k - 1]: 1.0, k - 1: 1.0}
            sums = [*lost[k - 1], (1.0, {}), (λ, {θ[k]: 1.0, x[k]: -1.0})]
            low, high = x[k], θ[k]
            if single and k == 1:
                sums, low, high = sums[:-1], θ[k], x[k]
            limits.append(ConvexLimit([(0.0, {low: 1.0})], (0.0, {high: 1.0})))
            if not given:
                limits += [
                    ConvexLimit(sums, (-clear, asks), ρ[k]),
                    ConvexLimit([(0.0, {ρ[k]: 1.0, θ[k]: 1.0})], (0.0, N[k - 1])),
                    ConvexLimit([(1.0, {})], (0.0, {ρ[k]: 1.0})),
                ]
            else:
                limits += [
                    ConvexLimit(sums, (log2(given[k - 1]) - clear, asks)),
                    ConvexLimit([(given[k - 1], {θ[k]: 1.0})], (0.0, N[k - 1])),
                ]
        limits.append(ConvexLimit(lost[L - 1], (ι - clear, {L - 1: 1.0, θ[L - 1]: 1.0})))
        whole = up and given and near.x[0] < _SMALL
        limits.append(
            ConvexLimit([(log2(math.ceil(exp2(near.x[0]))) if whole else 0.0, {})], (0.0, {x[0]: 1.0}))
        )
        limits += [ConvexLimit([(0.0, {})], (0.0, {i: 1.0})) for i in (*range(1, L), *x[1:])]
        return cls(L, limits, lost, λ, given, single, clear)

    def first(self, sizes: StageLogs) -> list[float] | None:
        """A point inside, with θ and ρ for given sizes; None where there is none."""
        at, chosen = [sizes.m, *sizes.n, *sizes.x], list[float]()
        N, θ = sizes.m, sizes.x[0]
        for k in range(1, self.L):
            need = max(_log_sum(self.lost[k - 1], at), 1.0) + _INSIDE
            asks = θ + (sizes.n[k - 2] if k > 1 else 0.0) - max(2 * self.clear - _INSIDE, 0.0)
            tried = (self.ρ[k - 1],) if self.ρ else _TRIED
            alone = self.single and k == 1
            new = {r: 0.0 if alone else self._new(asks + log2(r), need) for r in tried}
            room = {r: min(N - r, new[r] + sizes.x[k]) for r in tried}
            best = max(room, key=room.__getitem__)
            θ = room[best] - _INSIDE
            at.append(θ)
            chosen.append(best)
            N += sizes.n[k - 1]
        at += [] if self.ρ else chosen
        return at if all(_value(limit, at)[0] < 0 for limit in self.limits) else None

    def _new(self, asks: float, need: float) -> float:
        """log₂ of g with need + λ·g below what asks."""
        return asks + log2(1 - exp2(need - asks)) - self.λ if asks > need else -math.inf

    def solved(self, at: list[float]) -> list[float]:
        """The best point, from one inside."""
        weight = _FIRST
        while weight <= _LAST:
            for _ in range(_STEPS):
                step, length = self._step(at, weight)
                if length / 2 < _NEAR:
                    break
                at = self._along(at, step, weight, length)
            weight *= _SHARPER
        return at

    def _size(self, at: Sequence[float]) -> float:
        return added(at[: self.L])

    def _barrier(self, at: Sequence[float], weight: float) -> float:
        values = [_value(limit, at)[0] for limit in self.limits]
        if not all(value < 0 for value in values):
            return math.inf
        return weight * self._size(at) - added(math.log(-value) for value in values)

    def _along(self, at: list[float], step: list[float], weight: float, length: float) -> list[float]:
        """As far as the barrier falls."""
        here, share = self._barrier(at, weight), 1.0
        while share > 1e-9:
            there = [a + share * d for a, d in zip(at, step, strict=True)]
            if self._barrier(there, weight) <= here - share * length / 10:
                return there
            share /= 2
        return at

    def _step(self, at: Sequence[float], weight: float) -> tuple[list[float], float]:
        """Newton's step, and the square of its length."""
        many = len(at)
        down = [-weight if i < self.L else 0.0 for i in range(many)]
        hessian = [[0.0] * many for _ in range(many)]
        for limit in self.limits:
            value, shares = _value(limit, at)
            slope, bent = dict[int, float](), -math.log(2) / value
            for share, (_, a) in zip(shares, limit.powers, strict=True):
                for i, e in a.items():
                    slope[i] = slope.get(i, 0.0) + share * e
                _outer(hessian, a, bent * share)
            _outer(hessian, slope, -bent)
            for i, e in limit.below[1].items():
                slope[i] = slope.get(i, 0.0) - e
            if limit.ρ >= 0:
                slope[limit.ρ] = slope.get(limit.ρ, 0.0) - LOG2_E / at[limit.ρ]
                hessian[limit.ρ][limit.ρ] -= LOG2_E / at[limit.ρ] ** 2 / value
            for i, e in slope.items():
                down[i] += e / value
            _outer(hessian, slope, 1 / value**2)
        step = _solved(hessian, down)
        return step, added(d * s for d, s in zip(down, step, strict=True))


def least(
    bits: Wires, start: StageLogs, single: bool, most: float, clear: float, up: bool
) -> StageLogs | None:
    """The least sizes at which route stages holds, by `clear` powers of two; from sizes where it surely does.

    None where they are above `most`.  With `single` g_1 is 1, with `up` a small x_0 is rounded up.
    """
    best, given = start, list[int]()
    for left in range(_ROUNDS, 0, -1):
        program = ConvexProgram.of(bits, best, given, clear, single, up)
        inside = (program.first(sizes.scaled(more)) for sizes in (best, start) for more in _OUTSIDE)
        first = next((at for at in inside if at is not None), None)
        if first is None:
            return None
        L, at = program.L, program.solved(first)
        best = StageLogs(tuple(at[L : 2 * L]), at[0], tuple(at[1:L]))
        if left == 2:
            if best.size > most:  # whole ρ do not make it smaller
                return None
            given = [max(1, round(ρ)) for ρ in at[3 * L - 1 :]]
    return best


def _outer(matrix: list[list[float]], a: dict[int, float], share: float) -> None:
    """Adds share·a·aᵀ."""
    for i, e in a.items():
        row, scaled = matrix[i], share * e
        for j, f in a.items():
            row[j] += scaled * f


def _times(a: dict[int, float], b: dict[int, float]) -> dict[int, float]:
    return {i: a.get(i, 0.0) + b.get(i, 0.0) for i in {**a, **b}}


def _affine(power: Power, at: Sequence[float]) -> float:
    c, a = power
    for i, e in a.items():
        c += e * at[i]
    return c


def _log_sum(powers: Sequence[Power], at: Sequence[float]) -> float:
    logs = [_affine(power, at) for power in powers]
    top = max(logs)
    return top + log2(added(exp2(log - top) for log in logs))


def _value(limit: ConvexLimit, at: Sequence[float]) -> tuple[float, list[float]]:
    """What must be below 0, and the shares of the powers in their sum."""
    logs = [_affine(power, at) for power in limit.powers]
    top = max(logs)
    parts = [exp2(log - top) for log in logs]
    total = added(parts)
    value = top + log2(total) - _affine(limit.below, at)
    if limit.ρ >= 0:
        value = value - log2(at[limit.ρ]) if at[limit.ρ] > 0 else math.inf
    return value, [part / total for part in parts]


def _solved(matrix: list[list[float]], right: Sequence[float]) -> list[float]:
    """By elimination; the matrix is symmetric and positive."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    many = len(rows)
    for i, pivot in enumerate(rows):
        for below in rows[i + 1 :]:
            share = below[i] / pivot[i]
            if share:
                for j in range(i, many + 1):
                    below[j] -= share * pivot[j]
    step = [0.0] * many
    for i in range(many - 1, -1, -1):
        row = rows[i]
        step[i] = (row[many] - added(row[j] * step[j] for j in range(i + 1, many))) / row[i]
    return step
