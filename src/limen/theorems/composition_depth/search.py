r"""Good free sizes for the inequalities C, W and P of `levels.py`.

Everything here is a guess in floating point, in logarithms to the base 2; what comes of it counts only once
the checker has done the arithmetic again in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from math import exp2, inf, log1p, log2
from typing import NamedTuple

from limen.tasks.composition import Composition
from limen.theorems.composition_depth.climb import Point, added, climbed, scaled, spread
from limen.theorems.composition_depth.levels import Levels
from limen.theorems.composition_depth.stages import tables
from limen_check.cannot.depth import chained
from limen_check.cannot.logs import covers

Free = dict[str, int]  # the sizes of a proof

_HOPS = 4  # up to which route chain is searched
_STARTS, _CLIMBS = 240, 4  # points at which a search looks first, and climbs from the best of them
_GRID = 40  # numbers of entries at which the search for route each_w looks first
_FEW = 2**20  # values of which the largest Θ is sought exactly
_EXACT = 50.0  # bits of a number that a float holds as it is
CLEAR = 1e-4  # a gap of so many powers of two will stand in whole numbers, too, if these are large
_WIDE = 64.0  # no search ends before its last round for such a gap
_HARDER = ((8, CLEAR), (8, _WIDE), (9, _WIDE), (10, _WIDE), (12, _WIDE), (16, _WIDE))  # eighths of the bits
REMEMBERED = 256  # searches: `flips_at` asks again and again about the same first hops of a growing task
_TRIED, _FAR = 3, -0.5  # rows that are rounded; a gap that no rounding turns
_NEWTON, _NEAR = 8, 1e-7  # steps of Newton's rule at most, and how near it is near enough
HIDDEN = 60.0  # a number that is smaller by so many powers of two is not seen in a sum
LOG2_E = log2(math.e)


class LogSizes(NamedTuple):
    """A candidate for route chain: logarithms of x_0 … x_{L-1}, w_1 … w_{L-1}, v, and of m, n_1, …"""

    x: Sequence[float]
    w: Sequence[float]
    v: float
    m: float
    n: Sequence[float]


def free_sizes(
    task: Composition, bits: Levels, near: Mapping[str, int] | None = None, *, excluding: bool = False
) -> Iterator[tuple[str, Free]]:
    """Routes with their free sizes, for bits by level W; perhaps `near` those of another task.

    With `excluding` only where some sizes may rule the task out: most sizes that a search over tasks looks at
    are nowhere near.
    """
    for μ in placements(bits):
        hops = μ[-1] + 1
        if hops > task.L or hops > _HOPS:
            continue
        short, placed = Composition(task.m, task.n[: hops - 1]), bits.placed(μ, hops)
        if excluding and hopeless(short, placed):
            continue
        shown = {"hops": hops} if hops < task.L else {}
        for route, sizes in _best(short, placed, near or {}):
            yield route, shown | labels(μ) | sizes


def placements(bits: Levels) -> tuple[tuple[int, ...], ...]:
    """Levels as low as can be, or with none at 0."""
    return tuple(range(len(bits.σ))), tuple(range(1, len(bits.σ) + 1))


def labels(μ: tuple[int, ...]) -> Free:
    """The sizes mu0, mu1, … of a certificate."""
    return {f"mu{a}": level for a, level in enumerate(μ)}


def _best(task: Composition, bits: Levels, near: Mapping[str, int]) -> Iterator[tuple[str, Free]]:
    """Routes for bits that are placed: with two hops W and P, where they apply, are never both behind C."""
    if task.L == 1:
        yield "chain", {"x0": task.m, "v": task.m}
    elif task.L == 2 and not bits.β[1]:
        yield "each_w", each_w(task, bits)
        if bits.β[0]:
            yield "pairs", pairs(task, bits)
    else:
        yield from (("chain", sizes) for sizes in scheme_c(task, bits, near))


def each_w(task: Composition, bits: Levels) -> Free:
    """y, h, b of route each_w, near the best y for each number y·h of entries."""
    m, n_1 = log2(task.m), log2(task.n[0])

    def sizes(at: Point) -> tuple[float, float, float]:
        v = _within(at[0], m)
        y = _within(groups(bits, v, m, n_1) + at[1], v)
        if m >= _EXACT:
            return y, v - y, m - y
        y = log2(round(exp2(y)))
        h, b = (log2(max(1, math.floor(exp2(log - y) * (1 + 1e-12)))) for log in (v, m))
        return y, h, b

    starts = [(m * i / _GRID, 0.0) for i in range(_GRID + 1)]
    points = climbed(lambda at: gap_w(bits, *sizes(at), n_1, m + n_1), starts, m / _GRID)
    y, h, _ = sizes(points[0].at)
    number, entries = rounded(y, task.m), rounded(h + y, task.m)
    return {"y": number, "h": max(1, entries // number), "b": task.m // number}


def pairs(task: Composition, bits: Levels) -> Free:
    """h and b of route P."""
    return {"h": rounded(entries(bits, log2(task.m), log2(task.n[0])), task.m), "b": task.m}


def entries(bits: Levels, m: float, n_1: float) -> float:
    """log₂h for b = m: the maximum of n_1·m(1 - d/h)·log₂N_1 - 2β_0·h, at h² = n_1·m·d·log₂N_1/2β_0."""
    (β_0, _), (ω_0, _), (σ_0, _) = bits
    return _within((n_1 + m + logarithm(ω_0 + σ_0) + logarithm(n_1 + m) - log2(2 * β_0)) / 2, m)


def gap_p(bits: Levels, h: float, m: float, n_1: float) -> float:
    """log₂(needs/has) of route pairs, with b = m."""
    (β_0, _), (ω_0, ω_1), (σ_0, σ_1) = bits
    left = 1 - exp2(min(logarithm(ω_0 + σ_0) - h, 1.0))
    has = log_sum(logarithm(σ_0 + σ_1), n_1 + logarithm(ω_0 + ω_1), log2(β_0) + log_add(h + 1, m))
    return n_1 + m + logarithm(max(left, 0)) + logarithm(n_1 + m) - has


def groups(bits: Levels, v: float, m: float, n_1: float) -> float:
    """log₂y for y·h = 2^v and b = m/y: the minimum of n_1·y·ω_1 + β_0·y·h·b."""
    (β_0, _), (_, ω_1), _ = bits
    return _within((log2(β_0) - log2(ω_1) + v + m - n_1) / 2, v) if β_0 and ω_1 else 0.0


def gap_w(bits: Levels, y: float, h: float, b: float, n_1: float, N_1: float) -> float:
    """log₂(needs/has) of route W."""
    (β_0, _), (ω_0, ω_1), (σ_0, σ_1) = bits
    J = y + b - (exp2(min(logarithm(ω_0 + σ_0) - y - h, HIDDEN)) if ω_1 else 0)
    each = n_1 + logarithm(ω_0), n_1 + y + logarithm(ω_1), logarithm(β_0) + y + h + log_add(b, 0.0)
    return n_1 + J + logarithm(N_1) - log_sum(logarithm(σ_0 + σ_1), *each)


def scheme_c(task: Composition, bits: Levels, near: Mapping[str, int]) -> Iterator[Free]:
    """x, w, v of route chain by search, and the largest Θ that the checker will accept; the likeliest first.

    Where sizes are small, rounding them costs more than a search in floats leaves: then it goes on for a
    wider gap, and for more bits than there are.  What holds with more of them holds with fewer, sizes
    unchanged: each D_l falls, and with it what a cover is asked for.
    """
    score = inf
    for more, enough in _HARDER:
        if more == 8 and score < CLEAR:  # that search did not end early: it would be the same again
            continue
        harder = Levels(*(tuple(-(-b * more // 8) for b in by) for by in bits))
        score, rows = _searched(task, harder, enough, tuple(near.items()))
        yield from (_in_whole_numbers(task, bits, row) for row in rows)
        if score < (0 if near else _FAR):  # it began where a good one was: there is none here
            return


def hopeless(task: Composition, bits: Levels) -> bool:
    r"""Whether no sizes make route chain hold, by what any of them must obey, in whole numbers.

    b_l > log₂N_l bits.  A cover with Θ_l > 1 needs T·log₂N > Q, and T values are at most T: so Θ_l ≤ x_l·q_l,
    A·ω_0 + σ_0 < m·b_0, and with the last inequality D_{l+1} < q_{l+1}·b_l for l = 1..L-1.  There
    D_{l+1} ≥ (L-1)·A(ω_0+ω_1), so Θ_l = 1, q_{l+1} = w_l is out where that is b_{L-1} or more without A.  And

        D_{l+1} ≥ (L-l)(β_0+…+β_l)·x_l·u_l,   q_{l+1} ≤ w_l·x_l·q_l,   q_l ≤ u_l:
            w_l > (L-l)(β_0+…+β_l)/b_l
        q_{l+1} ≤ w_l·N_{l-1}:   (L-1)(ω_0+ω_1)·Π_{j≠l} w_j < N_{l-1}·b_l

    If every β_l is 0, D_{l+1} ≥ A·x_0⋯x_{l-1}·ω_l ≥ w_l·q_l·ω_l.  Where all ω_l ≥ b_l no Θ_l is 1, and so
    ω_l·q_l < b_l·Θ_l ≤ b_l·q_{l+1}, from q_1 ≥ 1 on, up to Θ_l ≤ N_{l-1}.
    """
    L, (β, ω, σ), N = task.L, bits, tables(task)
    b, questions = [N_l.bit_length() for N_l in N], (L - 1) * sum(ω[:2])
    if L > 2 and not any(β) and all(ω_l >= b_l for ω_l, b_l in zip(ω[1:], b[1:], strict=True)):
        Θ = list(accumulate(range(1, L), lambda q, l: q * ω[l] // b[l] + 1, initial=1))
        return any(Θ_l > N_l for Θ_l, N_l in zip(Θ[1:], N[:-1], strict=True))
    if (
        L == 1 or not any(β) or questions < b[-1] or (L == 2 and not β[1])
    ):  # routes each_w and pairs, or nothing is known
        return False
    w = [max(1, (L - l) * sum(β[: l + 1]) // b[l]) for l in range(1, L)]  # the least w_1 …
    A = math.prod(w)
    return (
        any(w_l > n_l for w_l, n_l in zip(w, task.n, strict=True))
        or A * ω[0] + σ[0] >= N[0] * b[0]
        or any(questions * (A // w_l) >= N[l] * b[l + 1] for l, w_l in enumerate(w))
    )


@lru_cache(maxsize=REMEMBERED)
def _searched(
    task: Composition, bits: Levels, enough: float, near: tuple[tuple[str, int], ...]
) -> tuple[float, list[LogSizes]]:
    """The best rows for route chain, and how wide the gap of the first one is."""
    L, m, n = task.L, log2(task.m), [log2(n_l) for n_l in task.n]
    gap, wide = GapC.of(bits), m + added(n)
    most = (m, *[wide + 30] * (L - 1), *n, m)

    def row(at: Point) -> LogSizes:
        v, x = at[-1], [x_l if x_l > 0.0 else 0.0 for x_l in at[:L]]
        v = 0.0 if v < 0 else v if v < m else m
        if x[0] > v:
            x[0] = v
        w = [0.0 if w_l < 0 else w_l if w_l < n_l else n_l for w_l, n_l in zip(at[L:-1], n, strict=True)]
        return LogSizes(x, w, v, m, n)

    known, names = dict(near), [*(f"x{l}" for l in range(L)), *(f"w{l}" for l in range(1, L)), "v"]
    starts = [tuple(log2(known.get(name, 1)) for name in names)]
    if not known.keys() >= set(names):  # nothing is near, or only sizes of another route are
        anywhere = [scaled(point, most) for point in spread(_STARTS, 2 * L)]
        starts = [*(at[:L] + most[L:] for at in anywhere[::2]), *anywhere[1::2]]
    points = climbed(lambda at: gap(row(at)), starts, wide / 16, enough, _CLIMBS)
    return points[0].value, [row(seen.at) for seen in points[:_TRIED]]


def _in_whole_numbers(task: Composition, bits: Levels, logs: LogSizes) -> Free:
    """The sizes of one row, rounded."""
    w = [rounded(l, most) for l, most in zip(logs.w, task.n, strict=True)]
    v = rounded(logs.v, task.m)
    x = [rounded(logs.x[0], v), *(rounded(l) for l in logs.x[1:])]
    N, Θ, q = tables(task), [x[0]], x[0]
    _, Q = chained(N, bits, x, w, v)
    for l in range(1, task.L):
        Θ.append(_largest(x[l] * q, N[l - 1], Q[l - 1]))
        q = w[l - 1] * Θ[l]
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
    y = _thinned(logarithm(T), log2(N), logarithm(Q))
    guess = min(_whole(log2(N) - y), N) if y >= 0 else 1
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


class GapC(NamedTuple):
    """log₂(needs/has) of chain for these bits: it holds their logarithms, and those of the sums up to l.

    Where a cover holds for one value only, what it lacks is taken off, the more the earlier: from there a
    search must find its way up.
    """

    β: list[float]
    ω: list[float]
    σ: list[float]
    β_to: list[float]
    σ_to: list[float]

    @classmethod
    def of(cls, bits: Levels) -> GapC:
        β, ω, σ = ([logarithm(b) for b in by_level] for by_level in bits)
        return cls(β, ω, σ, *([logarithm(total) for total in accumulate(by)] for by in (bits.β, bits.σ)))

    def __call__(self, s: LogSizes) -> float:
        (x, w, v, m, n), A = s, 0.0
        for w_l in w:
            A += w_l
        L, N, N_l = len(x), [m], m
        for n_l in n:
            N_l += n_l
            N.append(N_l)
        u = [v]  # u_1 …, or a little more
        if self.β_to[-1] > -inf:  # else nothing is received
            u += [log_add(w[l], 0.0) + N[l] for l in range(L - 2)]
        q, D, X, lacks = x[0], log_add(A + self.ω[0], self.σ[0]), 0.0, 0.0
        for l in range(1, L):
            X += x[l - 1]
            x_l, N_l = x[l], N[l - 1]
            y = _thinned(x_l + q, N_l, x_l + D if l > 1 else x_l + D + X - v)
            if y < 0:
                lacks += y * (L - l + 1)
            q = w[l - 1] + (N_l - y if 0 <= y < N_l else 0)
            D = self._lost(x, u, D, l, A, X)
        return q + log2(N[L - 1]) - D + lacks if N[L - 1] > 0 else -inf

    def _lost(self, x: Sequence[float], u: list[float], D: float, l: int, A: float, X: float) -> float:
        """D_{l+1}."""
        β, ω, σ, β_to, σ_to = self
        L, x_l, questions = len(x), x[l], A + X + ω[l]
        if β_to[-1] == -inf:
            return log_sum(D, questions, σ[l])
        received = β_to[l] + x_l + u[l - 1]
        if l == 1:
            z_0 = β[0] + X, β[1] + X + (x_l if β[0] > -inf else 0)
            return log_add(log2(L - 1) + log_sum(A + ω[0], questions, *z_0, received), σ_to[1])
        lower = log_sum(X, *(u[i - 1] + added(x[i:l]) for i in range(1, l)))
        return log_sum(x_l + D, 0.0, log2(L - l) + log_sum(questions, β[l] + lower, received), σ_to[l])


def _thinned(T: float, N: float, Q: float) -> float:
    """The least y with N·h(2^-y) + 1 + Q < T·y, h the binary entropy; beyond log₂N -(what is lacking there).

    By Newton's rule on f(y) = log₂(N·h(2^-y) + 1 + Q) - log₂(T·y), which falls; with ρ = 2^-y

        h = ρ·η,   η = y - (1-ρ)log₂(1-ρ)/ρ,      df/d(ln y) = -(share of N·h)·y·log₂((1-ρ)/ρ)/η - log₂e

    from y = (1 + Q)/T + log₂(N/T), which is near where one of both is large.  A search asks it a million
    times: no function is called that an operator can do.
    """
    q = Q + log1p(exp2(-Q)) * LOG2_E if 0 <= Q < HIDDEN else log_add(0.0, Q)
    y = exp2(q - T if q - T < HIDDEN else HIDDEN)
    if N > T:
        y += N - T
    if y < 1e-3:
        y = 1e-3
    for _ in range(_NEWTON):
        if y > N:
            y = N
        if y < 1e-9:
            y = 1e-9
        ρ = exp2(-y)
        ρ = 1e-9 if ρ < 1e-9 else ρ if ρ < 1 - 1e-12 else 1 - 1e-12
        rest = log1p(-ρ)
        η = y - (1 - ρ) * rest * LOG2_E / ρ
        entropy = N + log2(η) - y
        if entropy < q:
            total = q + log1p(exp2(entropy - q)) * LOG2_E if entropy > q - HIDDEN else q
        else:
            total = entropy + log1p(exp2(q - entropy)) * LOG2_E if q > entropy - HIDDEN else entropy
        above = total - T - log2(y)
        if y == N and above >= 0:
            return -above
        odds = y + rest * LOG2_E  # log₂((1-ρ)/ρ)
        step = above / (exp2(entropy - total) * y * odds / η + LOG2_E)
        y *= 1 + step if step > -7 / 8 else 1 / 8
        if -_NEAR < step < _NEAR:
            break
    return y if y < N else N


def log_add(a: float, b: float) -> float:
    """log₂(2^a + 2^b)."""
    low, high = (a, b) if a < b else (b, a)
    return high + log1p(exp2(low - high)) * LOG2_E if low > high - HIDDEN else high


def log_sum(*terms: float) -> float:
    """log₂Σ2^term."""
    top = max(terms)
    if top == -inf:
        return top
    total, least = 0.0, top - HIDDEN
    for term in terms:
        if term > least:
            total += exp2(term - top)
    return top + log2(total)


def logarithm(count: float) -> float:
    """log₂, of 0 too."""
    return log2(count) if count else -inf


def _within(log: float, most: float) -> float:
    return 0.0 if log < 0 else min(log, most)


def _whole(log: float) -> int:
    """⌊2^log⌋, at least 1, to the precision of the float."""
    return int(2**log) if log < 52 else int(2 ** (log % 1) * 2**52) << (int(log) - 52)


def rounded(log: float, most: int | None = None) -> int:
    """2^log in 1..most; the most itself where it comes near."""
    if most is not None and log > log2(most) - 1e-6:
        return most
    return max(1, round(2**log)) if log < 52 else _whole(log)
