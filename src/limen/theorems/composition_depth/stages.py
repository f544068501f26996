r"""Route stages of `composition_depth`: L hops, one function of a table at a time, in whole numbers.

The inequality of proofs/many_hops.v, which Coq has checked for every L; the kernel evaluates it.  Bits: w_0
of a reply to a raw query (0 where level 0 has no full component), w of a reply at any level, s of all states
together.  Sizes of the proof: x_0 values of z_0, and for each stage k = 1..L-1 x_k functions z_k that bring
g_k new values of i_k each, all of them at most 2^-ρ_k of the N_{k-1} that there are.  With n_0 = 1,
A = n_1⋯n_{L-1}, and λ, ι the bits of the largest value that is counted up to, and of the last one,
⌈log₂N_{L-2}⌉ and ⌊log₂N_{L-1}⌋:

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
from typing import NamedTuple

from limen.core.theorem import NoStatement
from limen.tasks.composition import Composition
from limen.theorems._case import Sides
from limen.theorems.composition_depth.levels import Wires
from limen_check import Refused
from limen_check.cannot.depth import BY_LEVEL, staged


class Stage(NamedTuple):
    """x functions, g new values each, all of them at most 2^-ρ of those that there are."""

    x: int
    g: int
    ρ: int


def tables(task: Composition) -> tuple[int, ...]:
    """N_0 … N_{L-1}."""
    return tuple(map(task.N, range(task.L)))


def lost(task: Composition, bits: Wires, x: Sequence[int]) -> list[int]:
    """δ_0 … δ_{L-1}, for x_0 … x_{L-1}."""
    return staged(tables(task), bits.levels(task.L), x)


def logarithms(task: Composition) -> tuple[int, int]:
    """λ and ι."""
    return (task.N(max(task.L - 2, 0)) - 1).bit_length(), task.N(task.L - 1).bit_length() - 1


def named(x_0: int, plan: Sequence[Stage]) -> dict[str, int]:
    """The sizes as a certificate has them."""
    sizes = {"x0": x_0}
    for k, (x, g, ρ) in enumerate(plan, 1):
        sizes |= {f"x{k}": x, f"g{k}": g, f"r{k}": ρ}
    return sizes


def by_stages(task: Composition, bits: Wires, x_0: int, plan: Sequence[Stage]) -> Sides | NoStatement:
    """Both sides, if the plan can be followed."""
    sizes = named(x_0, plan)
    if min(sizes.values()) < 1:
        return NoStatement("the sizes must be positive")
    try:
        return BY_LEVEL["stages"](tables(task), bits.levels(task.L), sizes)
    except Refused as reason:
        return NoStatement(str(reason))
