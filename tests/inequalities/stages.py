r"""Route H of `composition_depth`: L hops by stages, one function of a table at a time, in whole numbers.

The inequality of proofs/many_hops.v, which Coq has checked for every L.  Bits: w_0 of a reply to a raw query
(0 where level 0 has no full component), w of a reply at any level, s of all states together.  Sizes of the
proof: x_0 values of z_0, and for each stage k = 1..L-1 x_k functions z_k that bring g_k new values of i_k
each, all of them at most 2^-ρ_k of the N_{k-1} that there are.  With n_0 = 1, A = n_1⋯n_{L-1}, and λ, ι the
bits of the largest value that is counted up to, and of the last one, ⌈log₂N_{L-2}⌉ and ⌊log₂N_{L-1}⌋:

    δ_0 = s + w_0·A,   θ_0 = u_0 = x_0 ≤ m,   p_0 = x_0·A
    stage k:   2^ρ_k·g_k·x_k ≤ N_{k-1},     δ_{k-1} + 2 + λ(g_k - 1) ≤ ρ_k·n_{k-1}·θ_{k-1},
               δ_k = δ_{k-1} + 1 + (δ_{k-1} + 2)x_k + s + (w_0 + k·w)·x_k(N_{k-1} + u_{k-1}) + w·p_{k-1},
               θ_k = g_k·x_k,   u_k = 0,   p_k = x_k(N_{k-1} + u_{k-1} + p_{k-1})

    cannot if δ_{L-1} < n_{L-1}·θ_{L-1}·ι

δ counts the bits that the tables above have lost, θ the values that are reached, u and p the tokens of
players below whose outputs are not yet, or already, the same whatever stands above.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems import Sides
from limen.theorems.composition_depth.levels import Wires
from limen.theorems.composition_depth.stages import Stage as Stage


class Lost(NamedTuple):
    """What stands after so many stages."""

    δ: int
    θ: int
    u: int
    p: int

    def after(self, bits: Wires, k: int, N: int, stage: Stage) -> Lost:
        """The next, whose functions have N entries below N."""
        w0, w, s = bits
        δ, _, u, p = self
        x, g, _ = stage
        near = x * (N + u)
        lost = δ + 1 + (δ + 2) * x + s + (w0 + k * w) * near + w * p
        return Lost(lost, g * x, 0, near + x * p)


def first(bits: Wires, task: Composition, x_0: int) -> Lost:
    """Before any stage."""
    A = prod(task.n)
    return Lost(bits.s + bits.w0 * A, x_0, x_0, x_0 * A)


def logarithms(task: Composition) -> tuple[int, int]:
    """λ and ι."""
    return (task.N(max(task.L - 2, 0)) - 1).bit_length(), task.N(task.L - 1).bit_length() - 1


def by_stages(task: Composition, bits: Wires, x_0: int, plan: Sequence[Stage]) -> Sides | NoStatement:
    """Both sides, if the plan can be followed."""
    if not 0 < x_0 <= task.m:
        return NoStatement("it needs 1 ≤ x0 ≤ m")
    λ, ι = logarithms(task)
    at, n = first(bits, task, x_0), (1, *task.n)
    for k, stage in enumerate(plan, 1):
        N, (x, g, ρ) = task.N(k - 1), stage
        if min(x, g) < 1 or ρ < 0 or ρ > N.bit_length() or g * x << ρ > N:
            return NoStatement(f"stage {k}: there are no {x} times {g} values among 2^-{ρ} of {N}")
        if at.δ + 2 + λ * (g - 1) > ρ * n[k - 1] * at.θ:
            return NoStatement(f"stage {k}: {g} new values of each function are not surely found")
        at = at.after(bits, k, N, stage)
    return Sides(needs=n[-1] * at.θ * ι, has=at.δ)
