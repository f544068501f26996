r"""Good free sizes for the inequalities of `inequality.py`.

Everything here is a guess in floating point, in logarithms to the base 2, many candidates at a time; what
comes of it counts only once the checker has done the arithmetic again in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from limen.core.arrays import NDArray, np
from limen.tasks.composition import Composition
from limen.theorems.composition_depth.cover import covers
from limen.theorems.composition_depth.inequality import Chain, Levels

Logs: TypeAlias = "NDArray[np.float64]"
Free = dict[str, int]  # the sizes of a proof

_COARSELY, _FINELY = 20, 50  # halvings of the interval in which y = log₂(N/Θ) is sought
_ROUNDS = {1: 0, 2: 10, 3: 20, 4: 30}  # of a search, by hops; beyond, none is made
_FEW = 2**20  # values of which the largest Θ is sought exactly
_KEPT, _MOVED, _NEARER = 12, 160, 0.8  # of each round: the best kept, new ones, how much less far they move
_EXACT = 50.0  # bits of a number that a float holds as it is
_HOPELESS = -4.0  # a score that some more rounds will hardly raise above 0
CLEAR = 1e-4  # a gap of so many powers of two will stand in whole numbers, too, if these are large
_WIDE = 64.0  # no search ends before its last round for such a gap
_HARDER = ((8, CLEAR), (8, _WIDE), (9, _WIDE), (10, _WIDE), (12, _WIDE), (16, _WIDE))  # eighths of the bits
_TRIED, _FAR = 3, -0.5  # rows that are rounded; a gap that no rounding turns
_E = math.log2(math.e)


@dataclass(frozen=True)
class Rows:
    """Candidates for route C, one a row: logarithms of x_0 … x_{L-1}, w_1 … w_{L-1}, v, and of m, n_1, …"""

    x: Logs
    w: Logs
    v: Logs
    m: Logs
    n: Logs

    def N(self, l: int) -> Logs:
        return np.asarray(self.m + self.n[:, :l].sum(1))


def free_sizes(task: Composition, bits: Levels) -> Iterator[tuple[str, Free]]:
    """Routes with their free sizes, for bits by level W."""
    for μ in placements(bits):
        hops = μ[-1] + 1
        if hops > task.L or hops > max(_ROUNDS):
            continue
        short, placed = Composition(task.m, task.n[: hops - 1]), bits.placed(μ, hops)
        shown = {"hops": hops} if hops < task.L else {}
        for route, sizes in _best(short, placed):
            yield route, shown | labels(μ) | sizes


def placements(bits: Levels) -> tuple[tuple[int, ...], ...]:
    """Levels as low as can be, or with none at 0."""
    return tuple(range(len(bits.σ))), tuple(range(1, len(bits.σ) + 1))


def labels(μ: tuple[int, ...]) -> Free:
    """The sizes mu0, mu1, … of a certificate."""
    return {f"mu{a}": level for a, level in enumerate(μ)}


def _best(task: Composition, bits: Levels) -> Iterator[tuple[str, Free]]:
    """Routes for bits that are placed: with two hops W and P, where they apply, are never both behind C."""
    if task.L == 1:
        yield "C", {"x0": task.m, "v": task.m}
    elif task.L == 2 and not bits.β[1]:
        yield "W", each_w(task, bits)
        if bits.β[0]:
            yield "P", pairs(task, bits)
    else:
        yield from (("C", sizes) for sizes in scheme_c(task, bits))


def each_w(task: Composition, bits: Levels) -> Free:
    """y, h, b of route W, near the best y for each number y·h of entries."""
    m, n_1 = math.log2(task.m), math.log2(task.n[0])
    v, more = np.meshgrid(np.linspace(0, m, 256), np.linspace(-0.5, 0.5, 9))
    y = np.clip(groups(bits, v, m, n_1) + more, 0, v)
    h, b = v - y, m - y
    if m < _EXACT:
        y = np.log2(np.round(np.exp2(y)))
        h, b = (np.log2(np.maximum(1, np.floor(np.exp2(log - y) * (1 + 1e-12)))) for log in (v, m))
    gap = gap_w(bits, y, h, b, n_1, m + n_1)
    best = np.unravel_index(np.argmax(gap), gap.shape)
    number, entries = (rounded(float(log[best]), task.m) for log in (y, h + y))
    return {"y": number, "h": max(1, entries // number), "b": task.m // number}


def pairs(task: Composition, bits: Levels) -> Free:
    """h and b of route P."""
    m, n_1 = math.log2(task.m), math.log2(task.n[0])
    log = float(entries(bits, np.array(m), np.array(n_1)))
    return {"h": rounded(log, task.m), "b": task.m}


def entries(bits: Levels, m: Logs, n_1: Logs) -> Logs:
    """log₂h for b = m: the maximum of n_1·m(1 - d/h)·log₂N_1 - 2β_0·h, at h² = n_1·m·d·log₂N_1/2β_0."""
    (β_0, _), (ω_0, _), (σ_0, _) = bits
    with np.errstate(divide="ignore"):
        best = (n_1 + m + _log(ω_0 + σ_0) + np.log2(n_1 + m) - _log(2 * β_0)) / 2
    return np.asarray(np.clip(best, 0, m))


def gap_p(bits: Levels, h: Logs, m: Logs | float, n_1: Logs | float) -> Logs:
    """log₂(needs/has) of route P, with b = m."""
    (β_0, _), (ω_0, ω_1), (σ_0, σ_1) = bits
    with np.errstate(divide="ignore"):
        left = np.log2(np.maximum(1 - np.exp2(_log(ω_0 + σ_0) - h), 0))
        has = log_sum(_log(σ_0 + σ_1), n_1 + _log(ω_0 + ω_1), _log(β_0) + log_sum(h + 1, m))
        return np.asarray(n_1 + m + left + np.log2(n_1 + m) - has)


def groups(bits: Levels, v: Logs, m: Logs | float, n_1: Logs | float) -> Logs:
    """log₂y for y·h = 2^v and b = m/y: the minimum of n_1·y·ω_1 + β_0·y·h·b."""
    (β_0, _), (_, ω_1), _ = bits
    if not β_0 or not ω_1:
        return np.zeros_like(v)
    return np.clip((math.log2(β_0) - math.log2(ω_1) + v + m - n_1) / 2, 0, v)


def gap_w(bits: Levels, y: Logs, h: Logs, b: Logs, n_1: Logs | float, N_1: Logs | float) -> Logs:
    """log₂(needs/has) of route W."""
    (β_0, _), (ω_0, ω_1), (σ_0, σ_1) = bits
    J = y + b - (np.exp2(np.minimum(_log(ω_0 + σ_0) - y - h, 60)) if ω_1 else 0)
    has = log_sum(_log(σ_0 + σ_1), n_1 + _log(ω_0), n_1 + y + _log(ω_1), _log(β_0) + y + h + log_sum(b, 0.0))
    with np.errstate(divide="ignore"):
        return np.asarray(n_1 + J + np.log2(N_1) - has)


def scheme_c(task: Composition, bits: Levels) -> Iterator[Free]:
    """x, w, v of route C by search, and the largest Θ that the checker will accept; the likeliest first.

    Where sizes are small, rounding them costs more than a search in floats leaves: then it goes on for a
    wider gap, and for more bits than there are.  What holds with more of them holds with fewer, sizes
    unchanged: each D_l falls, and with it what a cover is asked for.
    """
    for more, enough in _HARDER:
        score, best = _searched(task, Levels(*(tuple(-(-b * more // 8) for b in by) for by in bits)), enough)
        for row in range(_TRIED):
            yield _in_whole_numbers(task, bits, best, row)
        if score < _FAR:
            return


def _searched(task: Composition, bits: Levels, enough: float) -> tuple[float, Rows]:
    """The best rows for route C, and how wide the gap of the first one is."""
    L, rng = task.L, np.random.default_rng(1)
    m, n = math.log2(task.m), np.array([math.log2(n_l) for n_l in task.n])
    most = np.concatenate([[m], np.full(L - 1, m + n.sum() + 30), n, [m]])
    start = rng.random((2 * _MOVED, 2 * L)) * most
    start[::2, L:] = most[L:]

    def rows(θ: Logs) -> Rows:
        v = np.clip(θ[:, -1], 0, m)
        x = np.column_stack([np.clip(θ[:, 0], 0, v), np.clip(θ[:, 1:L], 0, None)])
        w = np.clip(θ[:, L:-1], 0, n)
        return Rows(x, w, v, np.full(len(θ), m), np.broadcast_to(n, w.shape))

    score, best = climbed(lambda θ: gap_c(bits, rows(θ)), start, _ROUNDS[L], (m + n.sum()) / 8, rng, enough)
    return score, rows(best)


def _in_whole_numbers(task: Composition, bits: Levels, found: Rows, row: int) -> Free:
    """The sizes of one row, rounded."""
    w = [rounded(l, most) for l, most in zip(found.w[row], task.n, strict=True)]
    v = rounded(found.v[row], task.m)
    x = [rounded(found.x[row, 0], v), *(rounded(l) for l in found.x[row, 1:])]
    Θ = [x[0]]
    c = Chain(task, bits, x, [1, *w], v, Θ)
    D = c.first()
    for l in range(1, task.L):
        Θ.append(_largest(*c.test(l, D)))
        D = c.next(l, D)
    names = (
        [f"x{l}" for l in range(task.L)],
        [f"w{l}" for l in range(1, task.L)],
        [f"Th{l}" for l in range(1, task.L)],
    )
    sizes = dict(zip([name for group in names for name in group], [*x, *w, *Θ[1:]], strict=True))
    return sizes | {"v": v}


def _largest(T: int, N: int, Q: int) -> int:
    """The largest Θ that is surely covered, or a little less."""
    if N <= _FEW:
        return _bisected(lambda Θ: covers(T, N, Q, Θ), N)
    draws, values, rarity = (np.array([_log(i)]) for i in (T, N, Q))
    y = float(_thinned(draws, values, rarity, _FINELY)[0])
    guess = min(_whole(math.log2(N) - y), N) if y < math.inf else 1
    for parts in (0, 2**40, 2**30, 2**20, 2**10, 2**5):
        Θ = guess - (guess // parts + 1 if parts else 0)
        if Θ > 1 and covers(T, N, Q, Θ):
            return Θ
    return 1


def _bisected(holds: Callable[[int], bool], most: int) -> int:
    """The largest number in 1..most up to which it holds: the values that are covered are an interval."""
    low, high = 1, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gap_c(bits: Levels, s: Rows) -> Logs:
    """log₂(needs/has) of route C."""
    β, ω, σ = (np.array([_log(b) for b in by_level]) for by_level in bits)
    L, A, alone = s.x.shape[1], s.w.sum(1), not any(bits.β)
    u = [
        s.v,
        *(log_sum(s.w[:, l - 2], 0.0) + s.N(l - 2) for l in range(2, L)),
    ]  # u_1 … u_{L-1}, or a little more
    q, D = s.x[:, 0], log_sum(A + ω[0], σ[0])
    for l in range(1, L):
        x_l, X, N = s.x[:, l], s.x[:, :l].sum(1), s.N(l - 1)
        Q = x_l + D if l > 1 else x_l + D + X - s.v
        q = s.w[:, l - 1] + np.maximum(N - _thinned(x_l + q, N, Q), 0)
        asked, states = A + X + ω[l], np.logaddexp2.reduce(σ[: l + 1])
        received = np.logaddexp2.reduce(β[: l + 1]) + x_l + u[l - 1]
        if alone:
            D = log_sum(D, asked, σ[l])
        elif l == 1:
            z_0 = log_sum(β[0] + X, β[1] + X + (x_l if bits.β[0] else 0))
            D = log_sum(math.log2(L - 1) + log_sum(A + ω[0], asked, z_0, received), states)
        else:
            lower = log_sum(X, *(u[i - 1] + s.x[:, i:l].sum(1) for i in range(1, l)))
            D = log_sum(x_l + D, 0.0, math.log2(L - l) + log_sum(asked, β[l] + lower, received), states)
    with np.errstate(divide="ignore"):
        return np.asarray(q + np.log2(s.N(L - 1)) - D)


def _thinned(T: Logs, N: Logs, Q: Logs, halvings: int = _COARSELY) -> Logs:
    """The least y with N·h(2^-y) + 1 + Q < T·y, h the binary entropy; ∞ where N·2^-y would be below 1."""
    low, high = np.full(N.shape, -60.0), np.log2(np.maximum(N, 1e-9))  # of log₂y

    def enough(log_y: Logs) -> NDArray[np.bool_]:
        y = np.exp2(log_y)
        ρ = np.clip(np.exp2(-y), 1e-9, 1 - 1e-12)
        h = np.log2(y - (1 - ρ) * np.log1p(-ρ) * _E / ρ) - y
        return np.asarray(log_sum(N + h, 0.0, Q) < T + log_y)

    some = enough(high)
    for _ in range(halvings):
        middle = (low + high) / 2
        good = enough(middle)
        low, high = np.where(good, low, middle), np.where(good, middle, high)
    return np.where(some, np.exp2(high), math.inf)


def climbed(
    score: Callable[[Logs], Logs],
    rows: Logs,
    rounds: int,
    far: float,
    rng: np.random.Generator,
    enough: float,
) -> tuple[float, Logs]:
    """The best score found, and the best rows: good ones are moved at random, less and less far.

    A score of `enough` ends it, and one that is hopeless after a third of the rounds.
    """
    scores = score(rows)
    for done in range(rounds):
        best = np.argsort(-scores, kind="stable")[:_KEPT]
        rows, scores = rows[best], scores[best]
        if scores[0] >= enough or (3 * done > rounds and scores[0] < _HOPELESS):
            break
        near = rows[rng.integers(len(rows), size=_MOVED)]
        near = near + far * rng.standard_normal(near.shape) * (rng.random(near.shape) < 0.6)
        rows, scores = np.concatenate([rows, near]), np.concatenate([scores, score(near)])
        far *= _NEARER
    best = np.argsort(-scores, kind="stable")[:_KEPT]
    return float(scores[best[0]]), rows[best]


def log_sum(*terms: Logs | float) -> Logs:
    total = terms[0]
    for term in terms[1:]:
        total = np.logaddexp2(total, term)
    return np.asarray(total)


def _log(count: int) -> float:
    return math.log2(count) if count else -math.inf


def _whole(log: float) -> int:
    """⌊2^log⌋, at least 1, to the precision of the float."""
    return int(2**log) if log < 52 else int(2 ** (log % 1) * 2**52) << (int(log) - 52)


def rounded(log: float, most: int | None = None) -> int:
    """2^log in 1..most; the most itself where it comes near."""
    if most is not None and log > math.log2(most) - 1e-6:
        return most
    return max(1, round(2**log)) if log < 52 else _whole(log)
