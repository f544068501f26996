r"""A stack as a graph of components (which one reads which), and how many hops it can chain.

A component is full (softmax heads: `bits` of reply to one token from one group of earlier ones) or linear
(any recurrence: `bits` of state).  Its queries read the components `q`, its keys and values (a recurrence's
updates) the components `kv`; the raw token is always readable.  Mixers side by side do not read each other.

How much of the chain i_0 = z_0, i_1, …, i_L of `composition` may be where, at most (a raw token: W = -1,
T_0 = 0).  W(c) = t: after c the last token may hold i_0 … i_t; T_0(c): token z_0 may hold i_0 … i_{T_0}.

    full:    W = max(max_q W + 1, max_kv W, max_kv T_0),  T_0 = 1,          φ = max(max_q φ + 1, max_kv φ)
    linear:  W = max(max_q W, max_kv W, max_kv T_0),      T_0 = max_q,kv,   φ = max_q,kv

κ = max W is the number of hops of one pass, φ how many more each step of chain of thought brings.  For a
stack of layers let F = φ be the number of layers with softmax heads.  Then κ = F if a layer without softmax
heads stands before the second layer that has them, else F - 1: such a layer brings z_0 (or i_1) to the last
token for free.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from limen.core.architecture import Architecture, Part


@dataclass(frozen=True)
class Component:
    """One mixer in the graph; `bits` is None where a full mixer's replies have no fixed size."""

    full: bool
    bits: int | None
    q: tuple[int, ...]
    kv: tuple[int, ...]
    layer: int = 0  # where it stands in the architecture


class Level(NamedTuple):
    """The most hops of the chain that a component can hold."""

    W: int
    T_0: int
    φ: int


@dataclass(frozen=True)
class Graph:
    """Components, each after those that it reads."""

    components: tuple[Component, ...]

    @classmethod
    def of(cls, architecture: Architecture, n: int) -> Graph:
        """The stack for texts of n tokens, with the bits of state of its worst cut.

        A layer reads the sum of all before it; reading the one before is as much, since each layer's levels
        are at least those of the layer before.  A short convolution before a full mixer is a recurrence in
        series with it: queries, keys and values read it.
        """
        components: list[Component] = []
        read: list[tuple[int, ...]] = [()]  # what each layer reads
        for i, layer in enumerate(architecture.layers):
            before, here = read[i], []
            for part in layer.parts:
                q, kv = before, before if part.kv is None else read[part.kv]
                if part.full and (shift := part.query_state_bits) is not None:
                    components.append(Component(False, shift, before, before, i))
                    q, kv = (len(components) - 1, *before), (len(components) - 1, *kv)
                bits = part.reply_bits if part.full else most_bits(part, n)
                components.append(Component(part.full, bits, q, kv, i))
                here.append(len(components) - 1)
            read.append(tuple(here))
        return cls(tuple(components))

    def levels(self, W: int = -1) -> list[Level]:
        """Level of each component when the last token already holds i_0 … i_W."""
        reached: list[Level] = []
        for c in self.components:
            q = [Level(W, 0, 0), *(reached[i] for i in c.q)]
            kv = [Level(W, 0, 0), *(reached[i] for i in c.kv)]
            level = _full(q, kv) if c.full else _linear(q, kv)
            reached.append(level)
        return reached

    @property
    def κ(self) -> int:
        """The hops of one pass; -1 without a component."""
        return max((level.W for level in self.levels()), default=-1)

    @property
    def φ(self) -> int:
        """The hops that a step of chain of thought adds."""
        return max((level.φ for level in self.levels()), default=0)

    @property
    def sinks(self) -> frozenset[int]:
        """The components that no other reads: only the last token's output there matters."""
        read = {i for c in self.components for i in (*c.q, *c.kv)}
        return frozenset(set(range(len(self.components))) - read)


def most_bits(part: Part, n: int) -> int | None:
    """The most bits that cross any cut up to n tokens: at the end, or for `log_linear`, which keeps more
    just after 2^r tokens than before the next power of two, there.
    """
    bits = [part.state_bits(cut) for cut in {n, 1 << max(n, 1).bit_length() - 1}]
    return max((b for b in bits if b is not None), default=None)


def _full(q: list[Level], kv: list[Level]) -> Level:
    W = max(max(x.W for x in q) + 1, max(x.W for x in kv), max(x.T_0 for x in kv))
    return Level(W, 1, max(max(x.φ for x in q) + 1, max(x.φ for x in kv)))


def _linear(q: list[Level], kv: list[Level]) -> Level:
    W = max(max(x.W for x in (*q, *kv)), max(x.T_0 for x in kv))
    return Level(W, max(x.T_0 for x in (*q, *kv)), max(x.φ for x in (*q, *kv)))
