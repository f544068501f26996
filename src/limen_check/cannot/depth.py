"""Composition: what stacks with full layers cannot chain.  The theorem `composition_depth`.

Every proof fixes messages that depend on the highest table, one after the other, each to its most frequent
value: `has` bits leave a share 2^-has of the tables.  If the inputs still allowed ask for R of its entries
and has < R·log₂N, two tables that are left differ in one of them, and one answer is wrong.  What is fixed
stands in brackets.
"""

from collections import namedtuple
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from math import isqrt, prod
from typing import NamedTuple

from limen_check.cannot.architecture import Architecture, Part
from limen_check.cannot.logs import covers, diverges, highest, kept, one
from limen_check.cannot.rows import Task
from limen_check.cannot.shells import UNIFORM, Shells
from limen_check.files import need

_LN2 = Fraction("0.6931471805599453094172321214581766")  # above ln 2
_CELLS = 2048  # of false alarm rates that are looked at
_TABLES, _WORK, _LONG = 64, 1 << 17, 1 << 14  # tables; parts times steps; tables times bits: at most
_ROOTS = [Fraction(isqrt(isqrt(2**i << 400)) + 1, 1 << 100) for i in range(4)]  # above 2^(i/4)
_HEAVY = Fraction("0.5307378454230429885333773572343719")  # above log₂e/e
TOKENS = "tokens"  # that one token reads: what some theorems count instead of bits

Levels = tuple[Sequence[int], Sequence[int], Sequence[int]]  # bits β, ω, σ by level


class Case(NamedTuple):
    # A route of a theorem, a task, an architecture with steps of thought, the free sizes of a proof.
    theorem: str
    route: str
    task: Task
    architecture: Architecture
    steps: int
    sizes: dict[str, int]

    def plain(self, *routes: str) -> None:
        need(not self.sizes and self.route in routes, "there are no free sizes here, and no such route")
        need(self.steps == 0, "it is about one pass, without chain of thought")


class Sides(NamedTuple):
    # The architecture has so many bits at most, the task needs so many at least: cannot if has < needs.
    has: int
    needs: int
    unit: str = "bits"


class Average(NamedTuple):
    # No accuracy is above c where d(slope·c + shift ‖ q) surely is at least the deficit.
    q: Fraction
    deficit: Fraction
    shift: Fraction = Fraction(0)
    slope: Fraction = Fraction(1)

    def holds(self, c: Fraction) -> bool:
        return diverges(self.slope * c + self.shift, self.q, self.deficit)


class Balanced(NamedTuple):
    # (TPR + 1 - FPR)/2 ≤ c whenever d((1-ε)·TPR ‖ ε + (1-ε)·FPR + seen) ≤ told, for all FPR in [0, 1].
    ε: Fraction
    seen: Fraction
    told: Fraction

    def holds(self, c: Fraction) -> bool:
        ε, seen, told = self
        room = (2 * c - 1) * (1 - ε) - ε - seen
        if room >= 0 and room**2 >= told * _LN2 / 2:
            return True
        cells, looked = [(Fraction(0), Fraction(1))], 0
        while cells and looked < _CELLS:
            (x, y), looked = cells.pop(), looked + 1
            most = 2 * c - 1 + x
            if most < 1 and not diverges((1 - ε) * most, ε + (1 - ε) * y + seen, told):
                cells += [(x, (x + y) / 2), ((x + y) / 2, y)]
        return not cells


class Ceiling(NamedTuple):
    # No weights are right on more than a share c of these random inputs where the average holds at c.
    average: Average | Balanced | Shells
    distribution: str


Found = tuple[bool, int, int] | Average  # what sizes must meet, `has`, entries asked for; or an accuracy


def composition_depth(case: Case) -> Sides | Ceiling:
    """The inequality that the route names."""
    N, route, stack, sizes = case.task.N, case.route, case.architecture, dict(case.sizes)
    need(0 < len(N) <= _TABLES, f"it is about composition, and facts, of at most {_TABLES} tables")
    need(len(N) * N[-1].bit_length() <= _LONG, "the numbers are too long to be calculated with here")
    need(not any(part.sizes.get("bidirectional") for part, _ in stack.counted), "later tokens are read")
    hops = sizes.pop("hops", len(N))
    need(1 <= hops <= len(N), f"hops must be 1..{len(N)}")
    if route in BY_LEVEL:
        levels = placed(by_level(stack, case.task.length, hops, case.steps), sizes, hops)
        need(all(size >= 1 for size in sizes.values()), "free sizes are at least 1")
        return BY_LEVEL[route](N[:hops], levels, sizes)
    need(route in SHARP, f"there is no route {route[:20]!r}: {', '.join([*BY_LEVEL, *SHARP])}")
    need(case.steps == 0, "this route is about one pass, without chain of thought")
    found = _sharp(case, N[:hops], sizes)
    if isinstance(found, Sides):
        return found
    fixed = f"z_l(w,i) = i in the tables above z_{hops}, else " if hops < len(N) else ""
    return Ceiling(found, fixed + UNIFORM)


# What may be held: the last token knows i_0 … i_W, token z_0 knows i_0 … i_T; φ full parts in a row.
Level = namedtuple("Level", "W T φ")


def by_level(architecture: Architecture, n: int, L: int, steps: int) -> Levels:
    """By level 0..κ+Tφ < L: β replies at full parts that are read on, ω at all full parts, σ states."""
    size = {id(part): part.most(n) for part, _ in architecture.counted}
    first = list(_walk(architecture, Level(-1, 0, 0)))
    κ, φ = (max(level[i] for _, _, _, level in first) for i in (0, 2))
    need(κ + steps * φ < L, f"so many hops are not limited: κ + Tφ = {κ} + T·{φ}")
    steps = steps if φ else 0  # without a full part no step brings a reply
    need((steps + 1) * len(first) <= _WORK, "too many parts and steps to be calculated with here")
    β, ω, σ = ([0] * (κ + steps * φ + 1) for _ in range(3))
    for step in range(steps + 1):
        walk = _walk(architecture, Level(κ + (step - 1) * φ, 0, 0)) if step else first
        for layer, part, shift, level in walk:
            if part.full and not shift:
                ω[level.W] += size[id(part)]
                β[level.W] += size[id(part)] if step == 0 and layer < len(architecture.layers) - 1 else 0
            elif step == 0:
                σ[level.W] += part.shift() if shift else size[id(part)]
    return β, ω, σ


def _walk(architecture: Architecture, start: Level) -> Iterator[tuple[int, Part, bool, Level]]:
    """Levels along the stack, q of what queries read, kv of what keys, values and updates read."""
    inputs = [start]
    for i, layer in enumerate(architecture.layers):
        after = inputs[i]
        for part in layer:
            q, kv, full = inputs[i], inputs[i] if part.kv is None else inputs[part.kv], int(part.full)
            if part.shift():
                q = Level(max(q.W, q.T), q.T, q.φ)
                kv = Level(*map(max, kv, q))
                yield i, part, True, q
            level = Level(max(q.W + full, kv.W, kv.T), full or max(q.T, kv.T), max(q.φ + full, kv.φ))
            yield i, part, False, level
            after = Level(*map(max, after, level))
        inputs.append(after)


def placed(levels: Levels, sizes: dict[str, int], L: int) -> Levels:
    """Level a becomes mu_a, a size that is taken out: any increasing relabelling below L keeps a proof."""
    μ = [sizes.pop(f"mu{a}", -1) for a in range(len(levels[0]))]
    need(all(a < b for a, b in zip([-1, *μ], [*μ, L], strict=True)), "mu0 < mu1 < … must be levels below L")
    β, ω, σ = ([told[μ.index(l)] if l in μ else 0 for l in range(L)] for told in levels)
    return β, ω, σ


def _each_w(N: tuple[int, ...], levels: Levels, sizes: dict[str, int]) -> Sides:
    """each_w: two hops; y groups of h entries of z_1, each with b values of its own, the others constant."""
    need(len(N) == 2 and set(sizes) == {"y", "h", "b"}, "route each_w is about two hops, with sizes y, h, b")
    ((β0, β1), (ω0, ω1), (σ0, σ1)), (m, N1), n1 = levels, N, N[1] // N[0]
    y, h, b = sizes["y"], sizes["h"], sizes["b"]
    need(not β1 and y * h <= m and y * b <= m, "nothing reads full parts of level 1, y·h ≤ m and y·b ≤ m")
    J = kept(y * b, ω0 + σ0 if ω1 else 0, y * h)
    return Sides(σ0 + σ1 + n1 * (ω0 + y * ω1) + β0 * y * h * (b + 1), one(N1, n1 * J).bits())


def _pairs(N: tuple[int, ...], levels: Levels, sizes: dict[str, int]) -> Sides:
    """pairs: two hops; the last h entries of z_1 have one of two values each, but for z_0's: one of b."""
    need(len(N) == 2 and set(sizes) == {"h", "b"}, "route pairs is about two hops, with sizes h, b")
    ((β0, β1), (ω0, ω1), (σ0, σ1)), (m, N1), n1 = levels, N, N[1] // N[0]
    h, b, d = sizes["h"], sizes["b"], ω0 + σ0
    need(not β1 and d < h <= m and b <= m, "nothing reads full parts of level 1, d < h ≤ m and b ≤ m")
    G = -(-n1 * b * (h - d) // h)
    return Sides(σ0 + σ1 + n1 * (ω0 + ω1) + β0 * (2 * h + b - 1), one(N1, G).bits())


def _chain(N: tuple[int, ...], levels: Levels, sizes: dict[str, int]) -> Sides:
    """chain: L hops; sets Z_l of x_l tables z_l on which nothing that is said from above changes."""
    L = len(N)
    names = [f"x{l}" for l in range(L)], [f"Th{l}" for l in range(1, L)], [f"w{l}" for l in range(1, L)]
    need(set(sizes) == {"v"}.union(*names), "the sizes of route chain are x_l, Th_l, w_l and v")
    x, Θ, w = ([sizes[name] for name in group] for group in names)
    parts = all(w[l] <= N[l + 1] // N[l] for l in range(L - 1))
    need(x[0] <= sizes["v"] <= N[0] and parts, "x0 ≤ v ≤ m and w_l ≤ n_l")
    D, Q = chained(N, levels, x, w, sizes["v"])
    q = [x[0], *(w[l] * Θ[l] for l in range(L - 1))]  # q[l-1] entries of z_l
    for l in range(1, L):
        reached = covers(x[l] * q[l - 1], N[l - 1], Q[l - 1], Θ[l - 1])
        need(reached, f"Th{l} values are not surely reached")
    return Sides(D, one(N[-1], q[-1]).bits())


def chained(
    N: Sequence[int], levels: Levels, x: Sequence[int], w: Sequence[int], v_1: int
) -> tuple[int, list[int]]:
    """D_L, what the tables have lost in the end; and Q_1 … Q_{L-1}, how rare failing covers must be."""
    L, (β, ω, σ), A, Q = len(N), levels, prod(w), list[int]()
    v = [v_1, *(w[l] * N[l] for l in range(L - 1))]  # v[l-1] entries of z_l vary; so u
    u = [v[0], *(v[l] + N[l - 1] - v[l - 1] for l in range(1, L))]
    D = A * ω[0] + σ[0]
    for l in range(1, L):
        Q.append(x[l] * D if l > 1 else -(-x[1] * D * x[0] // v[0]))
        asked, told = A * prod(x[:l]) * ω[l], sum(β[: l + 1]) * x[l] * u[l - 1]
        if not any(β):
            D += asked + σ[l]
        elif l == 1:
            z_0 = β[0] * x[0] + β[1] * x[0] * (x[1] if β[0] else 1)
            D = (L - 1) * (A * ω[0] + asked + z_0 + told) + σ[0] + σ[1]
        else:
            below = prod(x[:l]) + sum(u[i - 1] * prod(x[i:l]) for i in range(1, l))
            D = x[l] * D + 1 + (L - l) * (asked + β[l] * below + told) + sum(σ[: l + 1])
    return D, Q


def _stages(N: tuple[int, ...], levels: Levels, sizes: dict[str, int]) -> Sides:
    """H: L hops by stages, x_k functions z_k, chosen one at a time, each with g_k new values of i_k."""
    L = len(N)
    stages = [[f"x{k}", f"g{k}", f"r{k}"] for k in range(1, L)]
    need(set(sizes) == {"x0"}.union(*stages), "the sizes are x_k, g_k and r_k")
    need(sizes["x0"] <= N[0], "x0 ≤ m")
    δ, θ = staged(N, levels, [sizes[f"x{k}"] for k in range(L)]), sizes["x0"]
    λ, parts = (N[max(0, L - 2)] - 1).bit_length(), [1, *(b // a for a, b in pairwise(N))]
    for k, stage in enumerate(stages, 1):
        x, g, r = (sizes[name] for name in stage)
        many = r <= N[k - 1].bit_length() and g * x << r <= N[k - 1]
        need(many, f"stage {k}: there are not so many values")
        new = δ[k - 1] + 2 + λ * (g - 1) <= r * parts[k - 1] * θ
        need(new, f"stage {k}: new values are not surely found")
        θ = g * x
    return Sides(δ[-1], parts[-1] * θ * (N[-1].bit_length() - 1))


def staged(N: Sequence[int], levels: Levels, x: Sequence[int]) -> list[int]:
    """δ_0 … δ_{L-1}: what the tables above have lost before each stage, and in the end."""
    (_, ω, σ), A = levels, N[-1] // N[0]
    w, s, w0 = max(ω), sum(σ), max(ω) if ω[0] else 0
    δ, u, p = [s + w0 * A], x[0], x[0] * A
    for k in range(1, len(N)):
        lost = 1 + (δ[-1] + 2) * x[k] + s + (w0 + k * w) * x[k] * (N[k - 1] + u) + w * p
        δ, u, p = [*δ, δ[-1] + lost], 0, x[k] * (N[k - 1] + u + p)
    return δ


BY_LEVEL = {"chain": _chain, "stages": _stages, "pairs": _pairs, "each_w": _each_w}


def serial(architecture: Architecture, n: int) -> tuple[int, list[int], list[int]]:
    """The largest reply β, and S_0, S_1, … twice: full parts of a layer first, or linear ones (before)."""
    size = {id(part): part.most(n) for part, _ in architecture.counted}
    β, S, before = 0, [0], [0]
    for layer in architecture.layers:
        replies = [size[id(part)] for part in layer if part.full]
        state = sum(size[id(part)] for part in layer if not part.full)
        shift = sum(part.shift() for part in layer)
        before[-1] += shift + state
        S[-1] += shift
        if replies:
            β, S, before = max(β, sum(replies)), [*S, 0], [*before, 0]
        S[-1] += state
    return β, S, before


def _sharp(case: Case, N: tuple[int, ...], sizes: dict[str, int]) -> Sides | Average:
    """By m, n_1, N_1 of the upper two tables: those below may be given to the last token."""
    word, tables, names, formula = SHARP[case.route]
    β, S, before = serial(case.architecture, case.task.length)
    slots, states = word.split("F"), before if word == "LF" else S
    if word == "H":  # one layer, states beside the full parts
        need(S[:1] == before[1:] == [0], "this route is about one layer")
        slots = ["", "L"]
    need(len(states) == len(slots), f"this route is about {len(slots) - 1} full layers")
    need(not any(S for S, slot in zip(states, slots, strict=True) if not slot), "a linear layer elsewhere")
    many = len(N) >= int(tables[0]) if tables.endswith("+") else len(N) == int(tables)
    need(many, f"this route is about {tables} tables")
    given = set(sizes) - ({"c4"} if case.route == "linear_full_average" else set())
    need(given == set(names.split()), f"the free sizes are {names or 'none'}")
    need(all(size >= 1 for size in sizes.values()), "free sizes are at least 1")
    upper = N[-2:][0]
    known = N if tables == "3" else (upper, N[-1] // upper, N[-1])
    found = formula(*known, β, *(S for S, slot in zip(states, slots, strict=True) if slot), **sizes)
    if isinstance(found, Average):
        return found
    met, has, asked = found
    need(met, "the free sizes do not meet what the proof asks of them")
    return Sides(has, one(N[-1], asked).bits())


def _d(m: int, N1: int, N2: int, β: int, S0: int, S1: int, S2: int, **free: int) -> Found:
    """linear_full_linear for z_1, then x_2-tuples of z_2, then replies of z_3."""
    x0, x1, x2, w1, w2, Th1, Th2 = (free[name] for name in SHARP["three_hops_many_keys"][2].split())
    asked = x0 * (1 + w1 * w2)
    met = x0 <= m and w1 <= N1 // m and w2 <= N2 // N1 and covers(x0 * x1, m, -(-x0 * x1 * S0 // m), Th1)
    met = met and covers(x2 * w1 * Th1, N1, x2 * (S0 + β * asked + x1 * S1), Th2)
    U, V = m + (x1 - 1) * (m if S0 else x0), N1 + (x2 - 1) * w1 * (m if S0 else Th1)
    replies = asked + U + V + w1 * w2 * x0 * x1 + (x0 * x1 if S2 else 0)
    return met, S0 + S1 + β * replies + x1 * x2 * (S1 + S2) + 1, w2 * Th2


def _e(m: int, N1: int, N2: int, β: int, S0: int, S1: int, S2: int, **free: int) -> Found:
    """The same with one key, where x_1 members of a class of z_1 differ; behind layer 2 states alone."""
    x1, x2, w1, w2, Th = (free[name] for name in SHARP["three_hops_one_key"][2].split())
    ends, choice = 1 + w1 * w2, x1 * S1 + 1
    met = w1 <= N1 // m and w2 <= N2 // N1 and x1 <= kept(m, S0, m)
    met = met and covers(x2 * w1 * x1, N1, x2 * (S0 + β * ends + choice), Th)
    replies = ends + x1 * m + x2 * w1 * m + x1 * ends
    return met, S0 + S1 + β * replies + choice * (x2 + 1) + 1 + x1 * x2 * S2, w2 * Th


def _lf_average(m: int, n1: int, N1: int, β: int, S0: int, c4: int = 0) -> Average:
    """y = g(z_0): the states tell S_0/m bits of y; or, with c4, but for heavy values of y."""
    q, states = Fraction(1, N1), Fraction(S0, m)
    if c4 == 0:
        independent = highest(q, Fraction(S0 + n1 * β, n1 * m))
        return Average(independent, states)
    need(c4 <= 4 * m.bit_length(), "2^c is at most 2m")
    heavy = (states + _HEAVY) * Fraction(4, c4)
    light = Fraction(S0, n1 * m) + Fraction(β, m) * _ROOTS[c4 % 4] * 2 ** (c4 // 4)
    return Average(q, light, -heavy)


def _fl_average(m: int, n1: int, N1: int, β: int, S1: int) -> Average:
    """What is known of f: replies to w, z_0, (z_0,y), tokens behind, states before; or after g for each y."""
    lost = min(β * (n1 + Fraction(3 * m + 1, 2)) + S1, Fraction(β * (n1 + 1) + m * S1))
    return Average(Fraction(1, N1), lost / (n1 * m))


def _b3(m: int, n1: int, N1: int, β: int) -> Average:
    """Each g(a) is one of a uniform pair, of which g's reply to w tells β/m bits; then f's replies."""
    independent = highest(Fraction(1, N1), Fraction(β * (3 * m - 1 + 2 * n1), n1 * m))
    return Average(Fraction(1, 2), Fraction(β, m), (1 - independent) / 2, Fraction(1, 2))


# Layers, tables, free sizes; then what the sizes must meet, `has`, and how many entries are asked for.
# Averages: by Fano's inequality d(p‖1/N) is at most the entropy that the entry asked for has lost, and d is
# convex: what all entries lose together is spread over them.
SHARP: dict[str, tuple[str, str, str, Callable[..., Found]]] = {
    # [Replies to w, whose query is its own: n_1·β; states beside.]  All n_1·m entries are asked for.
    "one_layer": ("H", "1+", "", lambda m, n1, N1, β, S: (True, n1 * β + S, n1 * m)),
    "one_layer_average": ("H", "1+", "", lambda m, n1, N1, β, S: (
        Average(Fraction(1, N1), Fraction(n1 * β + S, n1 * m)))),
    # [States; replies to w: n_1·β.]  A class of z_1 keeps Th values at some entry.
    "linear_full": ("LF", "2+", "Th", lambda m, n1, N1, β, S0, Th: (
        Th <= kept(m, S0, m), S0 + n1 * β, n1 * Th)),
    "linear_full_average": ("LF", "2+", "", _lf_average),
    # [Replies to w and z_0; the states after each of x_1 tables z_1 that differ on x_0 keys.]
    "full_linear": ("FL", "2", "x0 x1", lambda m, n1, N1, β, S1, x0, x1: (
        x0 <= m, β * (n1 + x0) + x1 * S1, n1 * min(x0 * x1, m))),
    "full_linear_average": ("FL", "2", "", _fl_average),
    # [S_0; replies to w and z_0 for each key; S_1 after each of x_1 members of a class.]
    "linear_full_linear": ("LFL", "2", "x0 x1 Th", lambda m, n1, N1, β, S0, S1, x0, x1, Th: (
        x0 <= m and covers(x0 * x1, m, -(-x0 * x1 * S0 // m), Th),
        S0 + β * x0 * (n1 + 1) + min(x1 * S1, S1 + x1 * m * β), n1 * Th)),
    # As each_w.  [Layer 1: replies to w, z_0, tokens of z_1 and values.  Layer 2: to w by group.]
    "two_full_by_groups": ("FF", "2", "x0 y b J", lambda m, n1, N1, β, x0, y, b, J: (
        y <= x0 <= m and y * b <= m and kept(y * b, β, y * (x0 // y)) >= J,
        β * (n1 * (1 + y) + m + x0 * b), n1 * J)),
    "two_full_average": ("FF", "2", "", _b3),
    # z_1 varies at x_0 tokens; x_1 members of a class.  [Replies in both layers; S_2 as above S_1.]
    "two_full_linear": ("FFL", "2", "x0 x1 w1 Th", lambda m, n1, N1, β, S2, x0, x1, w1, Th: (
        x0 <= m and w1 <= n1 and covers(x0 * x1, m, x1 * w1 * β, Th),
        β * (w1 + w1 * x0 + 2 * x0 * x1 + m) + min(x1 * S2, S2 + x1 * m * β), w1 * Th)),
    # As pairs, but one class for all w_1 rows: x functions z_1, S_2 and a reply to z_0 for each.
    "two_full_linear_by_pairs": ("FFL", "2", "w1 h b x", lambda m, n1, N1, β, S2, w1, h, b, x: (
        h <= m and b <= m and w1 <= n1 and h * (x - 1) < b * (h - w1 * β),
        β * (2 * (h - 1) + b + 1 + w1 + x + w1) + x * S2, w1 * x)),
    "three_hops_many_keys": ("LFLFL", "3", "x0 x1 x2 w1 w2 Th1 Th2", _d),
    "three_hops_one_key": ("LFLFL", "3", "x1 x2 w1 w2 Th", _e),
}  # fmt: skip
