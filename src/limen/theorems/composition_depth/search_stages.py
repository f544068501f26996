r"""Free sizes for route H, the inequality of `stages.py`: a search in floats, done again in integers.

Only x_0 … x_{L-1} are searched for: what a stage loses does not depend on g and ρ, so the best ρ is the one
that allows the most new values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from limen.core.arrays import np
from limen.tasks.composition import Composition
from limen.theorems._case import Sides
from limen.theorems.composition_depth.inequality import WRITTEN, Levels
from limen.theorems.composition_depth.search import CLEAR, Free, Logs, labels, log_sum, placements, rounded
from limen.theorems.composition_depth.stages import Stage, Wires, by_stages, first, logarithms

LEAST, _HIGHEST = (
    4,
    8,
)  # hops from which on it is sharper than route C; hops beyond which nothing is searched for
_ROUNDS, _KEPT, _MOVED, _NEARER = 100, 12, 160, 0.9  # the best kept, new ones, how much less far they move
_SEEDS, _HOPELESS = 5, -1.0  # searches at a task, unless one ends with so much too little for each stage,
_FAR = 3  # and hops beyond which the search itself may be at fault
_TRIED, _ROUNDING = 500, 0.05  # rows in whole numbers near the best, unless these lack more than so much
_HALVINGS = 14  # of the interval in which ρ is sought
_FIRST, _LAST = 0.1, 0.001  # by how much of it a size is made smaller, at first and in the end


def free(task: Composition, bits: Wires) -> Free | None:
    """x, g and r of route H at a task; None where the search finds none."""
    L = task.L
    if L > _HIGHEST or task.length.bit_length() > WRITTEN:
        return None
    m, n = math.log2(task.m), np.array([math.log2(n_l) for n_l in task.n])
    size, most = float(m + n.sum()), np.maximum([m, *(m - 1 + n[:k].sum() for k in range(L - 1))], 0)
    shape = np.concatenate([_shapes(bits, L, size * share)[:, :L] for share in np.linspace(0.3, 1.2, 20)])

    def score(θ: Logs) -> Logs:
        return gap(bits, np.clip(θ, 0, most), np.full(len(θ), m), np.broadcast_to(n, (len(θ), L - 1)))

    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        start = np.concatenate([shape, rng.random((400, L)) * most])
        gained, rows = _climbed(score, start, size / 8, rng, CLEAR)
        near = np.concatenate(
            [rows, rows[rng.integers(len(rows), size=_TRIED)] + rng.standard_normal((_TRIED, L)) / 16]
        )
        for row in near if gained > -_ROUNDING else ():
            if (sizes := _whole(task, bits, np.clip(row, 0, most))) is not None:
                return sizes
        if gained < _HOPELESS * L and L <= _FAR:
            break
    return None


def candidates(task: Composition, bits: Levels) -> Iterator[tuple[str, Free]]:
    """Route H with its free sizes, for bits by level W, where route C is behind it."""
    for μ in placements(bits):
        hops = μ[-1] + 1
        if LEAST <= hops <= task.L:
            found = free(Composition(task.m, task.n[: hops - 1]), bits.placed(μ, hops).wires)
            if found is not None:
                yield "H", ({"hops": hops} if hops < task.L else {}) | labels(μ) | found


def _whole(task: Composition, bits: Wires, logs: Logs) -> Free | None:
    """The same in whole numbers, if it holds there."""
    x = [rounded(float(log), None if l else task.m) for l, log in enumerate(logs)]
    plan = greedy(task, bits, x)
    said = None if plan is None else by_stages(task, bits, x[0], plan)
    return (
        named(x[0], plan) if plan is not None and isinstance(said, Sides) and said.has < said.needs else None
    )


def _climbed(
    score: Callable[[Logs], Logs], rows: Logs, far: float, rng: np.random.Generator, enough: float
) -> tuple[float, Logs]:
    """The best score found, and the best rows: good ones are moved at random, less and less far."""
    scores = score(rows)
    for _ in range(_ROUNDS):
        best = np.argsort(-scores, kind="stable")[:_KEPT]
        rows, scores = rows[best], scores[best]
        if scores[0] >= enough:
            break
        near = rows[rng.integers(len(rows), size=_MOVED)]
        near = near + far * rng.standard_normal(near.shape) * (rng.random(near.shape) < 0.6)
        rows, scores = np.concatenate([rows, near]), np.concatenate([scores, score(near)])
        far *= _NEARER
    best = np.argsort(-scores, kind="stable")[:_KEPT]
    return float(scores[best[0]]), rows[best]


def named(x_0: int, plan: list[Stage]) -> Free:
    """The sizes as a certificate has them."""
    sizes = {"x0": x_0}
    for k, (x, g, ρ) in enumerate(plan, 1):
        sizes |= {f"x{k}": x, f"g{k}": g, f"r{k}": ρ}
    return sizes


def greedy(task: Composition, bits: Wires, x: list[int]) -> list[Stage] | None:
    """The most new values at each stage; None where there is not one."""
    λ, _ = logarithms(task)
    at, n, plan = first(bits, task, x[0]), (1, *task.n), []
    for k in range(1, task.L):
        N, q = task.N(k - 1), n[k - 1] * at.θ

        def values(ρ: int, N: int = N, q: int = q, δ: int = at.δ, x_k: int = x[k]) -> int:
            return min((ρ * q - δ - 2) // λ + 1 if λ else 1, (N >> ρ) // x_k)

        low, high = 0, N.bit_length()  # what can be found grows with ρ, the room for it shrinks
        while high - low > 1:
            ρ = (low + high) // 2
            low, high = (ρ, high) if (ρ * q - at.δ - 2) // max(λ, 1) + 1 <= (N >> ρ) // x[k] else (low, ρ)
        ρ = max((low, high), key=values)
        if values(ρ) < 1 or ρ * q < at.δ + 2:
            return None
        plan.append(Stage(x[k], values(ρ), ρ))
        at = at.after(bits, k, N, plan[-1])
    return plan


def gap(bits: Wires, x: Logs, m: Logs, n: Logs) -> Logs:
    """The least slack of the inequalities, in powers of two, or the sum of those below 0; row by row."""
    w0, w, s = (math.log2(b) if b else -math.inf for b in bits)
    L = x.shape[1]
    A, parts = n.sum(1), np.column_stack([np.zeros(len(x)), n])
    λ, ι = (np.maximum(1, of) for of in (np.ceil(m + n[:, : L - 2].sum(1)), np.floor(m + A)))
    δ, θ, u, p = log_sum(s, w0 + A), x[:, 0], x[:, 0], x[:, 0] + A
    room_for, slack = [m - x[:, 0]], []
    for k in range(1, L):
        N, x_k, q = m + n[:, : k - 1].sum(1), x[:, k], parts[:, k - 1] + θ
        room, need = np.maximum(N - x_k, 1), log_sum(δ, 1.0)
        room_for.append(N - x_k - 1)
        slack.append(np.log2(np.floor(room)) + q - need)
        near = x_k + log_sum(N, u)
        θ = _most(q, need, np.log2(λ), room) + x_k
        δ = log_sum(δ + log_sum(x_k, 0.0), s, log_sum(w0, w + math.log2(k)) + near, w + p)
        u, p = np.full(len(x), -math.inf), log_sum(near, x_k + p)
    slack.append(parts[:, L - 1] + θ + np.log2(ι) - δ)
    below = np.minimum([*room_for, *slack], 0).sum(0)
    found: Logs = np.where(below < 0, below, np.min(slack, 0))
    return found


def _most(q: Logs, need: Logs, λ: Logs, room: Logs) -> Logs:
    """log₂ of the most new values: the best of min((ρq - need)/λ + 1, 2^(room-ρ)) over whole ρ."""

    def found(ρ: Logs) -> Logs:
        some = np.log2(ρ) + q
        more = some + np.log1p(-np.exp2(np.minimum(need - some, -1e-12))) / math.log(2)
        return log_sum(np.where(some > need, more - λ, -math.inf), 0.0)

    low, high = np.ones_like(q), np.floor(room)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        grows = found(middle) <= room - middle
        low, high = np.where(grows, middle, low), np.where(grows, high, middle)
    ways = [np.clip(np.floor(low) + step, 1, np.floor(room)) for step in (0, 1)]
    return np.asarray(np.maximum.reduce([np.minimum(found(ρ), room - ρ) for ρ in ways]))


def _closed(L: int) -> Logs:
    """log₂ of x_0 … x_{L-1}, n_1 … n_{L-1} as shares of log₂N_{L-1}, in proofs/many_hops_explicit.v."""
    n: list[int] = []
    x: list[int] = []
    for _ in range(L - 1):
        new = 1 + sum(n)
        n.insert(0, 1 + new + sum(x))
        x.insert(0, new)
    x_0 = 1 + sum(n)
    whole = x_0 + sum(x) + sum(n)
    return np.array([x_0, *x, *n]) / whole


def smallest(bits: Wires, L: int) -> tuple[Composition, Free] | None:
    """The smallest task of L hops that is found, with its sizes: from closed form on, ever smaller."""
    if not 1 < L <= _HIGHEST:
        return None
    rng = np.random.default_rng(1)
    size = 8 * L * math.log2(4 + sum(bits))
    while _sized(bits, L, size)(best := _shapes(bits, L, size)).max() < CLEAR:
        size *= 1.2
    step, found = _FIRST, None
    while step > _LAST:
        less = size * (1 - step)
        start = np.concatenate([best * (1 - step), best])
        gained, rows = _climbed(_sized(bits, L, less), start, 2 * step * size + 1, rng, CLEAR)
        task = _task(rows, L, less)
        sizes = _whole(task, bits, np.maximum(rows[0, :L], 0)) if gained >= CLEAR else None
        if sizes is None:
            step /= 2
        else:
            size, best, found = less, rows, (task, sizes)
    return found


def _shapes(bits: Wires, L: int, size: float) -> Logs:
    """The closed form; and, where nothing is lost for each w, one of few values of z_0, and m near n_1."""
    shares = _closed(L)
    few = shares * size / (shares[L] + shares[L:].sum())
    few[0] = math.log2(4 + bits.s)
    return np.array([shares * size] if bits.w0 else [few, shares * size])


def _task(rows: Logs, L: int, size: float) -> Composition:
    n = _parts(rows[:1], L, size)[0]
    return Composition(max(2, rounded(size - float(n.sum()))), tuple(rounded(float(n_l)) for n_l in n))


def _sized(bits: Wires, L: int, size: float) -> Callable[[Logs], Logs]:
    def score(θ: Logs) -> Logs:
        n = _parts(θ, L, size)
        return gap(bits, np.maximum(θ[:, :L], 0), size - n.sum(1), n)

    return score


def _parts(θ: Logs, L: int, size: float) -> Logs:
    """n_1 …, with room left for m."""
    n = np.maximum(θ[:, L:], 0)
    return np.asarray(n * np.minimum(1, size / np.maximum(n.sum(1), 1e-9))[:, None])
