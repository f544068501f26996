r"""Route stages of `composition_depth`: L hops, one function of a table at a time, in whole numbers.

The inequality of proofs/many_hops.v; its letters are explained in
src/limen/theorems/composition_depth/stages.py.
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
