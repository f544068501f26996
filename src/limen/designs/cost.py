r"""What a stack costs: bytes kept for one sequence, and FLOPs, in exact integers.

    cache    bits of all states after n tokens, where they are most; a layer that keeps every token keeps
             n·kv_heads(d_k+d)·p bits of keys and values (and what its choice needs: `Mixer.kept`)
    decode   FLOPs of the n-th token
    prefill  FLOPs of the tokens 1 … n, one after another: the decode costs added up

A FLOP is a multiplication or an addition of a matrix product, so 2 for each multiply-add.  A token pays

    projections   2·Σ |W| over the matrices that its vector passes                 from `Mixer.shapes`
    mixing        from `Mixer.mixing`
    MLP           2·(width·4width + 4width·width) = 16·width²       the same for all stacks, so they compare

Not counted: gates, norms, exponentials and short convolutions, which go number by number; embedding and
readout.  Kernels that read a text in chunks do more FLOPs than the recurrence, and are quicker.

Heads that share keys and values (kv_heads < h) keep one set a group, and each still reads it for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from math import prod
from typing import NamedTuple

from limen.core.architecture import Architecture, Layer, P, Part
from limen.core.graph import most_bits
from limen.core.mixer import Mixer


class Cost(NamedTuple):
    """Cache bits and FLOPs for one sequence of n tokens."""

    cache_bits: int
    prefill: int
    decode: int

    @property
    def cache_bytes(self) -> int:
        return -(-self.cache_bits // 8)

    def within(self, other: Cost) -> bool:
        """Whether no cost is higher than the other's."""
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


def cost(architecture: Architecture, width: int, n: int) -> Cost:
    """The cost of a stack: its layers added up."""
    return of_counts(Counter(architecture.layers).items(), width, n)


def of_counts(counts: Iterable[tuple[Layer, int]], width: int, n: int) -> Cost:
    """The cost of so many layers of each kind, in any order."""
    priced = [[times * price for price in _layer(layer, width, n)] for layer, times in counts]
    return Cost(*map(sum, zip(*priced, strict=True)))


@cache
def _layer(layer: Layer, width: int, n: int) -> Cost:
    mlp = 16 * width**2
    terms = [term for part in layer.parts for term in part.mixer.mixing()]
    everywhere = mlp + sum(projections(part.mixer, width) for part in layer.parts)
    return Cost(
        sum(cache_bits(part, n) for part in layer.parts),
        n * everywhere + sum(factor * tally.upto(n) for factor, tally in terms),
        everywhere + sum(factor * tally.at(n) for factor, tally in terms),
    )


def mixing_upto(architecture: Architecture, n: int) -> int:
    """FLOPs of mixing alone, tokens 1 … n: what grows faster than n, if anything does."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    return sum(factor * tally.upto(n) for part in parts for factor, tally in part.mixer.mixing())


def projections(mixer: Mixer, width: int) -> int:
    """Two FLOPs a weight of each matrix from the stream (width rows) and of the one back into it."""
    shapes = mixer.shapes(width).items()
    return 2 * sum(prod(s) for name, s in shapes if len(s) == 2 and (s[0] == width or name == "O"))


def cache_bits(part: Part, n: int) -> int:
    """The most bits kept at any time up to n tokens."""
    bits = most_bits(part, n)
    return bits if bits is not None else part.mixer.kept(n) * (P if part.p is None else part.p)
