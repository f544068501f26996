r"""Bits by level, and the inequalities C, W, P and H in the letters of the proof.

The kernel evaluates them (`limen_check/cannot/depth.py`: `BY_LEVEL`).  A stack is a graph of components with
levels λ(c) (core/graph.py).  Bits by level, l = 0..L-1:

    β_l   replies at full components of level l that some other component reads
    ω_l   replies at all full components of level l, each step of chain of thought with its own level
    σ_l   states of the linear components of level l;    Σ_l = σ_0 + … + σ_l

Sizes of the proof: 1 ≤ w_l ≤ n_l parts of the tables are asked for, the last ones; of z_1 the last v
entries vary, so v_1 = v and v_l = w_{l-1}·N_{l-2} entries of z_l.  Player l has these, and what is constant
of z_{l-1}: u_1 = v and u_l = v_l + N_{l-2} - v_{l-1} tokens.  |Z_l| = x_l; Z_{≤l} reaches at least Θ_l
values of i_l, so q_1 = x_0 and q_{l+1} = w_l·Θ_l entries of z_{l+1}.  A = w_1⋯w_{L-1}, X_l = x_0⋯x_{l-1}.

    cover(T, N, Q, Θ):   2·C(N,k)·(k/N)^T < 2^-Q,   k = Θ - 1

Route C.    D_1 = A·ω_0 + σ_0,      cover(x_1x_0, m, x_1D_1·x_0/v, Θ_1)
            D_2 = (L-1)[A·ω_0 + A·x_0ω_1 + β_0x_0 + β_1x_0(x_1 if β_0 else 1) + (β_0+β_1)x_1v] + Σ_1
    l ≥ 2:  cover(x_lq_l, N_{l-1}, x_lD_l, Θ_l)
            D_{l+1} = x_lD_l + 1 + (L-l)[A·X_lω_l + β_l(X_l + Σ_{0<i<l} u_i·x_i⋯x_{l-1})
                                        + (β_0+…+β_l)x_lu_l] + Σ_l
    If every β_l is 0, only the last tokens receive anything, and instead  D_{l+1} = D_l + A·X_lω_l + σ_l.

    cannot if D_L < q_L·log₂N_{L-1}

Route each_w, L = 2, β_1 = 0: y groups of h entries of z_1, each with its own b values; y·h ≤ m, y·b ≤ m.

    cannot if Σ_1 + n_1(ω_0 + y·ω_1) + β_0·y·h(b+1) < n_1·J·log₂N_1,
    J = ⌈y·b·2^(-d/(y·h))⌉,   d = ω_0 + σ_0 if ω_1 else 0

Route pairs, L = 2, β_1 = 0: the last h entries of z_1 take one of two values, but for one, which takes b.

    cannot if Σ_1 + n_1(ω_0 + ω_1) + β_0(2h + b - 1) < G·log₂N_1,
    G = ⌈n_1·b(h - d)/h⌉,   d = ω_0 + σ_0 < h ≤ m,   b ≤ m

Route stages, any L: by stages, the inequality that Coq has checked; see search_stages.py.

The size `hops` = L' ≤ L: the same for the first L' hops, with states of texts of the whole length.  Where
z_{l+1}(w_l, i) = i for l ≥ L', the answer i_L is i_{L'}, and these tables are a constant beginning of the
text: what they reply is a part, always the same, of what z_{L'} replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from limen.core.architecture import Architecture
from limen.core.graph import Graph
from limen.core.theorem import NoStatement
from limen.errors import BadInput, counted

WRITTEN = 2**15  # bits of a size that is calculated with


class Levels(NamedTuple):
    """Bits by level."""

    β: tuple[int, ...]
    ω: tuple[int, ...]
    σ: tuple[int, ...]

    def placed(self, μ: Sequence[int], L: int) -> Levels:
        """Level a becomes μ[a]: any increasing relabelling is valid."""
        levels = []
        for bits in self:
            at = [0] * L
            for a, b in zip(μ, bits, strict=True):
                at[a] = b
            levels.append(tuple(at))
        return Levels(*levels)

    @property
    def wires(self) -> Wires:
        """The same for route stages: the widest reply of any level, and all states together."""
        w = max(self.ω)
        return Wires(w if self.ω[0] else 0, w, sum(self.σ))


class Wires(NamedTuple):
    """Bits of a reply to a raw query, 0 or as many as of any reply; of a reply; of all states together."""

    w0: int
    w: int
    s: int

    def levels(self, L: int) -> Levels:
        """Levels of which route stages counts these bits."""
        none = (0,) * (L - 1)
        return Levels((0, *none), (self.w0, *[self.w] * (L - 1)), (self.s, *none))


def levels_of(architecture: Architecture, n: int, L: int, steps: int) -> Levels | NoStatement:
    """Bits by level W = 0..κ+Tφ < L, not yet relabelled, on texts of n tokens."""
    if any(part.mixer.sees_future for layer in architecture.layers for part in layer.parts):
        return NoStatement("a mixer that reads later tokens is not a decoder", elsewhere=True)
    try:
        graph = Graph.of(architecture, n)
    except BadInput as error:  # it cannot read so long a text
        return NoStatement(str(error))
    return bits_by_level(graph, L, steps)


def bits_by_level(graph: Graph, L: int, steps: int) -> Levels | NoStatement:
    """The same of any graph."""
    counted(steps)
    if any(c.bits is None for c in graph.components):
        return NoStatement("some mixer keeps every token, and its replies have no fixed size", elsewhere=True)
    κ, φ = graph.κ, graph.φ
    if κ + steps * φ >= L:
        reached = f"κ + Tφ = {κ} + {steps}·{φ}" if steps else f"κ = {κ}"
        return NoStatement(f"{reached} ≥ L = {L}: so many hops are not limited")
    β, ω, σ = ([0] * (κ + steps * φ + 1) for _ in range(3))
    sinks = graph.sinks
    for step in range(steps + 1 if φ else 1):  # without full components a step brings no replies
        levels = graph.levels(κ + (step - 1) * φ if step else -1)
        for i, (c, level) in enumerate(zip(graph.components, levels, strict=True)):
            bits = c.bits or 0
            if c.full:
                ω[level.W] += bits
                β[level.W] += bits if step == 0 and i not in sinks else 0
            elif step == 0:
                σ[level.W] += bits
    return Levels(tuple(β), tuple(ω), tuple(σ))
