r"""Composition by any stack, with or without chain of thought: the inequalities of `composition_depth`.

The letters, the routes chain, W, P and H and the size `hops` are explained in
src/limen/theorems/composition_depth/levels.py; here in balls, not in integers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from flint import arb, ctx, fmpz

from inequalities.bits import ceil_bits, power_bits
from inequalities.cover import covers
from inequalities.sharp import SHARP
from inequalities.stages import Stage, by_stages
from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems import Accuracy, Case, Sides
from limen.theorems.composition_depth.levels import WRITTEN, Levels, levels_of


def inequality(case: Case) -> Sides | Accuracy | NoStatement:
    """The inequality that the route names."""
    task = chain(case.task)
    if task is None:
        return NoStatement("it is about composition, and facts, which is the same")
    if any(size.bit_length() > WRITTEN for size in (task.length, *case.sizes.values())):
        return NoStatement(f"numbers of more than {WRITTEN} bits are not calculated with")
    if case.route in SHARP:
        return SHARP[case.route](case)
    if case.route not in ROUTES:
        return NoStatement(f"there is no route {case.route!r}; known: {', '.join([*ROUTES, *SHARP])}")
    hops = case.sizes.get("hops", task.L)
    if not 1 <= hops <= task.L:
        return NoStatement(f"hops must be 1..{task.L}, got {hops}")
    bits = levels_of(case.architecture, task.length, hops, case.steps)
    if isinstance(bits, NoStatement):
        return bits
    sizes = {name: size for name, size in case.sizes.items() if name != "hops"}
    return ROUTES[case.route](Composition(task.m, task.n[: hops - 1]), bits, sizes)


@dataclass(frozen=True)
class Chain:
    """The sizes of route chain at a task; w[0] = 1, Θ[0] = x_0, and Θ need not be complete."""

    task: Composition
    bits: Levels
    x: Sequence[int]
    w: Sequence[int]
    v_1: int
    Θ: Sequence[int]

    @property
    def A(self) -> int:
        return prod(self.w)

    def X(self, l: int) -> int:
        return prod(self.x[:l])

    def v(self, l: int) -> int:
        """Entries of z_l that vary."""
        return self.v_1 if l == 1 else self.w[l - 1] * self.task.N(l - 2)

    def u(self, l: int) -> int:
        """Tokens of player l."""
        return self.v(l) + (self.task.N(l - 2) - self.v(l - 1) if l > 1 else 0)

    def q(self, l: int) -> int:
        """Entries of z_l that can be asked for."""
        return self.w[l - 1] * self.Θ[l - 1]

    def test(self, l: int, D: int) -> tuple[int, int, int]:
        """T, N and Q of the l-th cover, given D_l."""
        Q = self.x[l] * D if l > 1 else -(-self.x[1] * D * self.x[0] // self.v_1)
        return self.x[l] * self.q(l), self.task.N(l - 1), Q

    def first(self) -> int:
        """D_1."""
        return self.A * self.bits.ω[0] + self.bits.σ[0]

    def next(self, l: int, D: int) -> int:
        """D_{l+1}, given D_l."""
        β, ω, σ = self.bits
        asked = self.A * self.X(l) * ω[l]
        if not any(β):
            return D + asked + σ[l]
        x, later = self.x, self.task.L - l
        received = sum(β[: l + 1]) * x[l] * self.u(l)
        if l == 1:
            z_0 = β[0] * x[0] + β[1] * x[0] * (x[1] if β[0] else 1)
            return later * (self.A * ω[0] + asked + z_0 + received) + σ[0] + σ[1]
        lower = self.X(l) + sum(self.u(i) * prod(x[i:l]) for i in range(1, l))
        return x[l] * D + 1 + later * (asked + β[l] * lower + received) + sum(σ[: l + 1])


def _scheme_c(task: Composition, found: Levels, sizes: Mapping[str, int]) -> Sides | NoStatement:
    L = task.L
    names = (
        [f"x{l}" for l in range(L)],
        [f"Th{l}" for l in range(1, L)],
        [f"w{l}" for l in range(1, L)],
        ["v"],
    )
    bits = _read(sizes, found, L, [name for group in names for name in group])
    if isinstance(bits, NoStatement):
        return bits
    x, Θ, w = ([sizes[name] for name in group] for group in names[:3])
    if not x[0] <= sizes["v"] <= task.m or any(w_l > n_l for w_l, n_l in zip(w, task.n, strict=True)):
        return NoStatement("it needs x0 ≤ v ≤ m and w_l ≤ n_l")
    c = Chain(task, bits, x, [1, *w], sizes["v"], [x[0], *Θ])
    D = c.first()
    for l in range(1, L):
        if not covers(*c.test(l, D), c.Θ[l]):
            return NoStatement(f"Th{l} = {c.Θ[l]} values are not surely reached")
        D = c.next(l, D)
    return Sides(needs=power_bits((task.N(L - 1), c.q(L))), has=D)


def _each_w(task: Composition, found: Levels, sizes: Mapping[str, int]) -> Sides | NoStatement:
    if task.L != 2:
        return NoStatement(f"the route each_w is about two hops, not {task.L}")
    read = _read(sizes, found, 2, ["y", "h", "b"])
    if isinstance(read, NoStatement):
        return read
    (β_0, β_1), (ω_0, ω_1), (σ_0, σ_1) = read
    y, h, b, n_1 = sizes["y"], sizes["h"], sizes["b"], task.n[0]
    if β_1:
        return NoStatement("the route each_w needs that nothing reads the softmax components of level 1")
    if y * h > task.m or y * b > task.m:
        return NoStatement("it needs y·h ≤ m and y·b ≤ m")
    J = _reached(y * b, ω_0 + σ_0 if ω_1 else 0, y * h)
    has = σ_0 + σ_1 + n_1 * (ω_0 + y * ω_1) + β_0 * y * h * (b + 1)
    return Sides(needs=power_bits((task.N(1), n_1 * J)), has=has)


def _pairs(task: Composition, found: Levels, sizes: Mapping[str, int]) -> Sides | NoStatement:
    if task.L != 2:
        return NoStatement(f"the route pairs is about two hops, not {task.L}")
    read = _read(sizes, found, 2, ["h", "b"])
    if isinstance(read, NoStatement):
        return read
    (β_0, β_1), (ω_0, ω_1), (σ_0, σ_1) = read
    h, b, n_1, d = sizes["h"], sizes["b"], task.n[0], ω_0 + σ_0
    if β_1:
        return NoStatement("the route pairs needs that nothing reads the softmax components of level 1")
    if not d < h <= task.m or b > task.m:
        return NoStatement(f"it needs {d} < h ≤ m and b ≤ m")
    G = -(-n_1 * b * (h - d) // h)
    has = σ_0 + σ_1 + n_1 * (ω_0 + ω_1) + β_0 * (2 * h + b - 1)
    return Sides(needs=power_bits((task.N(1), G)), has=has)


def _by_stages(task: Composition, found: Levels, sizes: Mapping[str, int]) -> Sides | NoStatement:
    names = [[f"{name}{k}" for name in "xgr"] for k in range(1, task.L)]
    bits = _read(sizes, found, task.L, ["x0", *(name for stage in names for name in stage)])
    if isinstance(bits, NoStatement):
        return bits
    return by_stages(
        task, bits.wires, sizes["x0"], [Stage(*(sizes[name] for name in stage)) for stage in names]
    )


def _reached(values: int, d: int, among: int) -> int:
    """⌈values·2^(-d/among)⌉, or a little less; some value is always reached."""
    with ctx.workprec(96 + values.bit_length() + d.bit_length()):
        exponent = arb(fmpz(d)) / fmpz(among)
        least = arb(fmpz(values)) * (-exponent * arb.const_log2()).exp() if exponent < 2 * WRITTEN else arb(0)
        return max(1, ceil_bits(least.lower()))


def _read(sizes: Mapping[str, int], found: Levels, L: int, names: list[str]) -> Levels | NoStatement:
    """The bits at the levels that mu0, mu1, … name; the other sizes must be those named, and positive."""
    labels = [f"mu{a}" for a in range(len(found.σ))]
    if set(sizes) != {*labels, *names}:
        return NoStatement(
            f"the sizes must be {', '.join([*labels, *names])}, got {', '.join(sizes) or 'none'}"
        )
    if any(sizes[name] < 1 for name in names):
        return NoStatement("the sizes must be positive")
    μ = [sizes[label] for label in labels]
    if not all(low < high for low, high in zip([-1, *μ], [*μ, L], strict=True)):
        return NoStatement(f"mu0 < mu1 < … must be levels below {L}")
    return found.placed(μ, L)


ROUTES = {"chain": _scheme_c, "each_w": _each_w, "pairs": _pairs, "stages": _by_stages}
