r"""Composition through one or two full layers: the inequalities A1 … D and the average cases, at given sizes.

Letters: a stack is written as full layers F of β bits a reply, and linear ones, whose states have together
S_t bits after t full layers: S_0 F S_1 F S_2.  A layer with parts of both kinds may be read either way round,
since neither part reads the other.  m, n_1, N_1 = n_1·m and N_2 = n_2·N_1 are the sizes of the task.

What is proved of them stands in `proof.md`.  Each inequality is strict and in whole bits; the free
sizes of a proof come with the case and are only verified here.  The size `hops` says that only the lowest
so many tables are asked about: the higher ones are fixed, z_l(0,i) = i, and w_l = 0 there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple

from flint import arb, ctx, fmpz

from inequalities.bits import log2, power_bits
from inequalities.cover import covers
from inequalities.entropy import highest, total_variation
from limen.core.architecture import Architecture, Layer
from limen.core.graph import most_bits
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.tasks.composition import UNIFORM, Composition
from limen.tasks.facts import Facts
from limen.theorems import Accuracy, Case, Sides

Statement = Sides | Accuracy | NoStatement


class Unmet(Exception):
    """A hypothesis fails: the reason in one sentence."""


def require(met: bool, reason: str) -> None:
    """The hypothesis, or the reason why nothing is said."""
    if not met:
        raise Unmet(reason)


class LayerBits(NamedTuple):
    """Of one layer: a reply, all states, and the convolutions that its queries pass before."""

    reply: int | None  # None: no full part
    state: int
    shift: int


class SharpStack(NamedTuple):
    """F full layers of at most β bits a reply, S[t] bits of linear state after t of them, t = 0..F."""

    β: int
    S: tuple[int, ...]

    @property
    def F(self) -> int:
        return len(self.S) - 1


def full_first(layers: list[LayerBits]) -> SharpStack:
    """The stack in series; of a layer with both kinds of parts the full ones first."""
    S = [0]
    for layer in layers:
        if layer.reply is not None:
            S[-1] += layer.shift
            S.append(0)
        S[-1] += layer.state
    return SharpStack(_reply(layers), tuple(S))


def linear_first(layers: list[LayerBits]) -> SharpStack:
    """The stack in series; of a layer with both kinds of parts the linear ones first."""
    S = [0]
    for layer in layers:
        S[-1] += layer.shift + layer.state
        if layer.reply is not None:
            S.append(0)
    return SharpStack(_reply(layers), tuple(S))


def _reply(layers: list[LayerBits]) -> int:
    return max((layer.reply for layer in layers if layer.reply is not None), default=0)


def bits(architecture: Architecture, n: int) -> list[LayerBits]:
    """What each layer has on texts of n tokens, whatever cut is looked at.

    Shared keys and values need no word: a token's keys may be any function of all that it held before.
    """
    try:
        of = {layer: _layer(layer, n) for layer in set(architecture.layers)}
    except BadInput as unfit:  # it cannot read so long a text
        raise Unmet(str(unfit)) from unfit
    return [of[layer] for layer in architecture.layers]


def _layer(layer: Layer, n: int) -> LayerBits:
    full = [part for part in layer.parts if part.full]
    require(not any(part.mixer.sees_future for part in layer.parts), f"{layer} reads tokens that come later")
    replies = [part.reply_bits for part in full]
    known = [reply for reply in replies if reply is not None]
    require(len(known) == len(replies), f"the replies of {layer} have no fixed size")
    states = [most_bits(part, n) or 0 for part in layer.parts if not part.full]
    return LayerBits(
        sum(known) if full else None, sum(states), sum(part.query_state_bits or 0 for part in full)
    )


@dataclass(frozen=True)
class Setting:
    """What an inequality is about: the tables asked about, the layers, the free sizes."""

    tables: Composition
    layers: list[LayerBits]
    sizes: Mapping[str, int]
    drawn: str = UNIFORM  # the inputs of an average case

    @classmethod
    def of(cls, case: Case, names: tuple[str, ...], optional: tuple[str, ...]) -> Setting:
        """The case, if it has these free sizes and no others."""
        require(case.steps == 0, "the sharp bounds are about one pass, without chain of thought")
        task = case.task.composition if isinstance(case.task, Facts) else case.task
        if not isinstance(task, Composition):
            raise Unmet("the sharp bounds are about composition")
        strange = set(case.sizes) - {*names, *optional, "hops"}
        missing = set(names) - set(case.sizes)
        require(not strange and not missing, f"the free sizes of this route: {', '.join(names) or 'none'}")
        require(all(size >= 1 for size in case.sizes.values()), "free sizes are at least 1")
        hops = case.sizes.get("hops", task.L)
        require(hops <= task.L, f"there are only {task.L} tables")
        tables = Composition(task.m, task.n[: hops - 1])
        fixed = f"z_l(w,i) = i in the tables above z_{hops}, else " if hops < task.L else ""
        return cls(tables, bits(case.architecture, task.length), case.sizes, fixed + UNIFORM)

    def __getitem__(self, name: str) -> int:
        return self.sizes[name]

    @property
    def upper(self) -> tuple[int, int, int]:
        """m, n_1, N_1 of the upper two tables: N_{L-2}, n_{L-1}, N_{L-1}; a single table is one row of m."""
        L, N = self.tables.L, self.tables.N
        return (N(0), 1, N(0)) if L == 1 else (N(L - 2), self.tables.n[-1], N(L - 1))

    def two(self) -> tuple[int, int, int]:
        """m, n_1, N_1 where the statement is about two tables."""
        require(self.tables.L == 2, "this route is about two tables")
        return self.upper

    def one_layer(self) -> tuple[int, int]:
        """β and S of a single layer."""
        stack, after = full_first(self.layers), linear_first(self.layers)
        one = stack.F == 1 and stack.S[0] == 0 and after.S[1] == 0
        require(one, "this route is about one full layer and nothing before or after it")
        return stack.β, stack.S[1]

    def one_full(self) -> tuple[int, int, int]:
        """β, S_0, S_1 with one full layer."""
        stack = full_first(self.layers)
        require(stack.F == 1, "this route is about one full layer")
        S_0, S_1 = stack.S
        return stack.β, S_0, S_1

    def full_last(self) -> tuple[int, int]:
        """β, S_0 with one full layer and no linear one after it."""
        stack = linear_first(self.layers)
        require(stack.F == 1 and stack.S[1] == 0, "this route is about one full layer, linear ones before it")
        return stack.β, stack.S[0]

    def two_full(self) -> tuple[int, int, int, int]:
        """β, S_0, S_1, S_2 with two full layers."""
        stack = full_first(self.layers)
        require(stack.F == 2, "this route is about two full layers")
        S_0, S_1, S_2 = stack.S
        return stack.β, S_0, S_1, S_2

    def full_full(self) -> tuple[int, int]:
        """β, S_2 with two full layers and no linear one before the second."""
        β, S_0, S_1, S_2 = self.two_full()
        require(S_0 == S_1 == 0, "with a linear layer before the second full one two hops can be done")
        return β, S_2


def a1(at: Setting) -> Sides:
    """n_1·β + S < n_1·m·log₂N_1, one layer, S beside F; any number of tables."""
    m, n1, N1 = at.upper
    β, S = at.one_layer()
    return Sides(needs=power_bits((N1, n1 * m)), has=n1 * β + S)


def a2(at: Setting) -> Sides:
    """S_0 + n_1·β < n_1·Th·log₂N_1, S_0 F, where Th - 1 < m·2^(-S_0/m); any number of tables."""
    require(at.tables.L >= 2, "with a linear layer before it a full one does one hop")
    m, n1, N1 = at.upper
    β, S_0 = at.full_last()
    require(kept(at["Th"], m, S_0, m), "Th values are not kept")
    return Sides(needs=power_bits((N1, n1 * at["Th"])), has=S_0 + n1 * β)


def a3(at: Setting) -> Sides:
    """β(n_1 + x_0) + x_1·S_1 < n_1·min(x_0·x_1, m)·log₂N_1, F S_1, where x_0 ≤ m."""
    m, n1, N1 = at.two()
    β, S_0, S_1 = at.one_full()
    x0, x1 = at["x0"], at["x1"]
    require(S_0 == 0, "this route has no linear layer before the full one")
    require(x0 <= m, "x0 entries of z_1 are at most m")
    return Sides(needs=power_bits((N1, n1 * min(x0 * x1, m))), has=β * (n1 + x0) + x1 * S_1)


def a4(at: Setting) -> Sides:
    """S_0 + β·x_0(n_1 + 1) + min(x_1·S_1, S_1 + x_1·m·β) < n_1·Th·log₂N_1, S_0 F S_1.

    x_0 ≤ m, and x_0·x_1 draws from m values cover Th of them but for a share 2^-(x_0·x_1·S_0/m).
    """
    m, n1, N1 = at.two()
    β, S_0, S_1 = at.one_full()
    x0, x1, Th = at["x0"], at["x1"], at["Th"]
    require(x0 <= m, "x0 entries of z_1 are at most m")
    require(covers(x0 * x1, m, -(-x0 * x1 * S_0 // m), Th), "Th values are not covered")
    has = S_0 + β * x0 * (n1 + 1) + min(x1 * S_1, S_1 + x1 * m * β)
    return Sides(needs=power_bits((N1, n1 * Th)), has=has)


def b1(at: Setting) -> Sides:
    """β(n_1(1 + y) + m + x_0·b) < n_1·J·log₂N_1, F F.

    y ≤ x_0 ≤ m, y·b ≤ m, and J - 1 < y·b·2^(-β/(y⌊x_0/y⌋)).
    """
    m, n1, N1 = at.two()
    β, S_2 = at.full_full()
    x0, y, b, J = at["x0"], at["y"], at["b"], at["J"]
    require(S_2 == 0, "this route has no linear layer")
    require(y <= x0 <= m and y * b <= m, "y ≤ x0 ≤ m and y·b ≤ m")
    require(kept(J, y * b, β, y * (x0 // y)), "J values are not kept")
    return Sides(needs=power_bits((N1, n1 * J)), has=β * (n1 * (1 + y) + m + x0 * b))


def b2(at: Setting) -> Sides:
    """β(w_1 + w_1·x_0 + 2x_0·x_1 + m) + min(x_1·S_2, S_2 + x_1·m·β) < w_1·Th·log₂N_1, F F S_2.

    x_0 ≤ m, w_1 ≤ n_1, and x_0·x_1 draws from m values cover Th of them but for a share 2^-(x_1·w_1·β).
    """
    m, n1, N1 = at.two()
    β, S_2 = at.full_full()
    x0, x1, w1, Th = at["x0"], at["x1"], at["w1"], at["Th"]
    require(x0 <= m and w1 <= n1, "x0 ≤ m and w1 ≤ n1")
    require(covers(x0 * x1, m, x1 * w1 * β, Th), "Th values are not covered")
    has = β * (w1 + w1 * x0 + 2 * x0 * x1 + m) + min(x1 * S_2, S_2 + x1 * m * β)
    return Sides(needs=power_bits((N1, w1 * Th)), has=has)


def b4(at: Setting) -> Sides:
    """β(2w_1 + 2h + b + x - 1) + x·S_2 < w_1·x·log₂N_1, F F S_2.

    h, b ≤ m, w_1 ≤ n_1, and h(x - 1) < b(h - w_1·β): pairs of values at h - 1 entries, b of them at one.
    """
    m, n1, N1 = at.two()
    β, S_2 = at.full_full()
    w1, h, b, x = at["w1"], at["h"], at["b"], at["x"]
    require(h <= m and b <= m and w1 <= n1, "h ≤ m, b ≤ m and w1 ≤ n1")
    require(h * (x - 1) < b * (h - w1 * β), "x values are not possible")
    return Sides(needs=power_bits((N1, w1 * x)), has=β * (2 * w1 + 2 * h + b + x - 1) + x * S_2)


def e(at: Setting) -> Sides:
    """Three tables, S_0 F S_1 F S_2; w_1 ≤ n_1 and w_2 ≤ n_2 rows are asked about, A = 1 + w_1·w_2:

        S_0 + S_1 + β(A + x_1·m + x_2·w_1·m + x_1·A) + (x_1·S_1 + 1)(x_2 + 1) + 1 + x_1·x_2·S_2
            < w_2·Th·log₂N_2

    x_1 - 1 < m·2^(-S_0/m), and x_2·w_1·x_1 draws from N_1 values cover Th but for 2^-(x_2·D), where
    D = S_0 + β·A + x_1·S_1 + 1.
    """
    require(at.tables.L == 3, "this route is about three tables")
    m, (n1, n2), N1, N2 = at.tables.m, at.tables.n, at.tables.N(1), at.tables.N(2)
    β, S_0, S_1, S_2 = at.two_full()
    x1, x2, w1, w2, Th = (at[name] for name in ("x1", "x2", "w1", "w2", "Th"))
    A = 1 + w1 * w2
    require(w1 <= n1 and w2 <= n2, "w1 ≤ n1 and w2 ≤ n2")
    require(kept(x1, m, S_0, m), "x1 values are not kept")
    require(covers(x2 * w1 * x1, N1, x2 * (S_0 + β * A + x1 * S_1 + 1), Th), "Th values are not covered")
    replies = A + x1 * m + x2 * w1 * m + x1 * A
    states = S_0 + S_1 + (x1 * S_1 + 1) * (x2 + 1) + 1 + x1 * x2 * S_2
    return Sides(needs=power_bits((N2, w2 * Th)), has=states + β * replies)


def d(at: Setting) -> Sides:
    """Three tables, S_0 F S_1 F S_2; w_1 ≤ n_1 and w_2 ≤ n_2 rows are asked about, A = w_1·w_2:

        S_0 + S_1 + β(x_0(1+A) + A·x_0·x_1 + x_0·x_1[S_2>0] + U + V) + x_1·x_2(S_1+S_2) + 1 < w_2·Th_2·log₂N_2
        U = m + (x_1 - 1)·(m if S_0 else x_0),     V = N_1 + (x_2 - 1)·w_1·(m if S_0 else Th_1)

    x_0·x_1 draws from m values cover Th_1 but for 2^-(x_0·x_1·S_0/m), x_2·w_1·Th_1 draws from N_1 values
    Th_2 but for 2^-(x_2·D), D = S_0 + β·x_0(1+A) + x_1·S_1.
    """
    require(at.tables.L == 3, "this route is about three tables")
    m, (n1, n2), N1, N2 = at.tables.m, at.tables.n, at.tables.N(1), at.tables.N(2)
    β, S_0, S_1, S_2 = at.two_full()
    x0, x1, x2, w1, w2, Th1, Th2 = (at[name] for name in ("x0", "x1", "x2", "w1", "w2", "Th1", "Th2"))
    A = w1 * w2
    require(x0 <= m and w1 <= n1 and w2 <= n2, "x0 ≤ m, w1 ≤ n1 and w2 ≤ n2")
    require(covers(x0 * x1, m, -(-x0 * x1 * S_0 // m), Th1), "Th1 values are not covered")
    D = S_0 + β * x0 * (1 + A) + x1 * S_1
    require(covers(x2 * w1 * Th1, N1, x2 * D, Th2), "Th2 values are not covered")
    U = m + (x1 - 1) * (m if S_0 else x0)
    V = N1 + (x2 - 1) * w1 * (m if S_0 else Th1)
    replies = x0 * (1 + A) + A * x0 * x1 + (x0 * x1 if S_2 else 0) + U + V
    return Sides(
        needs=power_bits((N2, w2 * Th2)),
        has=S_0 + S_1 + β * replies + x1 * x2 * (S_1 + S_2) + 1,
    )


def f_average(at: Setting) -> Accuracy:
    """One layer: d(p‖1/N_1) ≤ (n_1·β + S)/(n_1·m); any number of tables."""
    m, n1, N1 = at.upper
    β, S = at.one_layer()
    with _precision(m, N1, β, S):
        return Accuracy(highest(_ratio(n1 * β + S, n1 * m), _ratio(1, N1)), at.drawn)


def lf_average(at: Setting) -> Accuracy:
    """S_0 F, any number of tables.  Without c:  d(p*‖1/N_1) ≤ (S_0 + n_1·β)/(n_1·m),  d(p‖p*) ≤ S_0/m.

    With c = c4/4:  p ≤ (S_0/m + log₂e/e)/c + p',  d(p'‖1/N_1) ≤ S_0/(n_1·m) + β·2^c/m.
    """
    require(at.tables.L >= 2, "with a linear layer before it a full one does one hop")
    m, n1, N1 = at.upper
    β, S_0 = at.full_last()
    with _precision(m, N1, β, S_0):
        if "c4" not in at.sizes:
            independent = highest(_ratio(S_0 + n1 * β, n1 * m), _ratio(1, N1))
            return Accuracy(highest(_ratio(S_0, m), arb(independent)), at.drawn)
        c = _ratio(at["c4"], 4)
        require(at["c4"] <= 4 * m.bit_length(), "2^c is at most 2m")
        heavy = (_ratio(S_0, m) + 1 / (arb(1).exp() * arb.const_log2())) / c
        light = highest(_ratio(S_0, n1 * m) + _ratio(β, m) * (c * arb.const_log2()).exp(), _ratio(1, N1))
        return Accuracy(_sum(_above(heavy), light), at.drawn)


def fl_average(at: Setting) -> Accuracy:
    """F S_1:  d(p‖1/N_1) ≤ min(β(n_1 + (3m+1)/2) + S_1, β(n_1 + 1) + m·S_1)/(n_1·m)."""
    m, n1, N1 = at.two()
    β, S_0, S_1 = at.one_full()
    require(S_0 == 0, "this route has no linear layer before the full one")
    twice = min(β * (2 * n1 + 3 * m + 1) + 2 * S_1, 2 * (β * (n1 + 1) + m * S_1))
    with _precision(m, N1, β, S_1):
        return Accuracy(highest(_ratio(twice, 2 * n1 * m), _ratio(1, N1)), at.drawn)


def b3(at: Setting) -> Accuracy:
    """F F:  p ≤ p* + v,  d(p*‖1/N_1) ≤ β(3m - 1 + 2n_1)/(n_1·m),  1 - h((1-v)/2) ≤ β/m."""
    m, n1, N1 = at.two()
    β, S_2 = at.full_full()
    require(S_2 == 0, "this route has no linear layer")
    with _precision(m, N1, β):
        independent = highest(_ratio(β * (3 * m - 1 + 2 * n1), n1 * m), _ratio(1, N1))
        return Accuracy(_sum(independent, total_variation(_ratio(β, m))), at.drawn)


def kept(Th: int, of: int, told: int, places: int) -> bool:
    """Th - 1 < of·2^(-told/places): what is kept of `of` values where `told` bits are spread over places."""
    if not 1 < Th <= of:
        return Th == 1
    with _precision(of, told, places):
        return bool(arb(fmpz(told)) < arb(fmpz(places)) * (log2(of) - log2(Th - 1)))


def _precision(*sizes: int) -> AbstractContextManager[object]:
    """Enough that nothing but a tie is left undecided; a tie decides nothing."""
    return ctx.workprec(128 + 2 * max(size.bit_length() for size in sizes))


def _ratio(a: int, b: int) -> arb:
    return arb(fmpz(a)) / arb(fmpz(b))


def _above(x: arb) -> float:
    """A float above x."""
    return math.nextafter(float(x.upper()), math.inf)


def _sum(p: float, q: float) -> float:
    """p + q, rounded up, at most 1."""
    return min(1.0, math.nextafter(p + q, math.inf))


def _stated(
    formula: Callable[[Setting], Sides | Accuracy], *names: str, optional: tuple[str, ...] = ()
) -> Callable[[Case], Statement]:
    def inequality(case: Case) -> Statement:
        try:
            return formula(Setting.of(case, names, optional))
        except Unmet as unmet:
            return NoStatement(str(unmet))

    return inequality


SHARP: dict[str, Callable[[Case], Statement]] = {
    "one_layer": _stated(a1),
    "linear_full": _stated(a2, "Th"),
    "full_linear": _stated(a3, "x0", "x1"),
    "linear_full_linear": _stated(a4, "x0", "x1", "Th"),
    "two_full_by_groups": _stated(b1, "x0", "y", "b", "J"),
    "two_full_linear": _stated(b2, "x0", "x1", "w1", "Th"),
    "two_full_average": _stated(b3),
    "two_full_linear_by_pairs": _stated(b4, "w1", "h", "b", "x"),
    "three_hops_one_key": _stated(e, "x1", "x2", "w1", "w2", "Th"),
    "three_hops_many_keys": _stated(d, "x0", "x1", "x2", "w1", "w2", "Th1", "Th2"),
    "one_layer_average": _stated(f_average),
    "linear_full_average": _stated(lf_average, optional=("c4",)),
    "full_linear_average": _stated(fl_average),
}
