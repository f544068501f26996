r"""What a stack costs: bytes kept for one sequence, and FLOPs, in exact integers.

    cache    bits of all states after n tokens, where they are most; a layer that keeps every token keeps
             n·kv_heads(d_k+d)·p bits of keys and values (and what its choice needs: below)
    decode   FLOPs of the n-th token
    prefill  FLOPs of the tokens 1 … n, one after another: the decode costs added up

A FLOP is a multiplication or an addition of a matrix product, so 2 for each multiply-add.  A token pays

    projections   2·Σ |W| over the matrices that its vector passes                 from `Mixer.shapes`
    mixing        below, by mixer
    MLP           2·(width·4width + 4width·width) = 16·width²       the same for all stacks, so they compare

Not counted: gates, norms, exponentials and short convolutions, which go number by number; embedding and
readout.  Kernels that read a text in chunks do more FLOPs than the recurrence, and are quicker.

Heads that share keys and values (kv_heads < h) keep one set a group, and each still reads it for itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache, singledispatch
from math import prod
from typing import NamedTuple

from limen.core.architecture import Architecture, Layer, P, Part
from limen.core.graph import most_bits
from limen.core.mixer import Mixer
from limen.designs.tally import LEVELS, ONE, SEEN, Tally, blocks, finished, latest, opened, own
from limen.errors import BadInput
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.mixers.top_k import TopK
from limen.mixers.window import Window

Terms = tuple[tuple[int, Tally], ...]  # Σ factor · tally


class Cost(NamedTuple):
    """Of one sequence of n tokens."""

    cache_bits: int
    prefill: int
    decode: int

    @property
    def cache_bytes(self) -> int:
        return -(-self.cache_bits // 8)

    def within(self, other: Cost) -> bool:
        """Whether nothing costs more than there."""
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


def cost(architecture: Architecture, width: int, n: int) -> Cost:
    """Layers added up."""
    return of_counts(Counter(architecture.layers).items(), width, n)


def of_counts(counts: Iterable[tuple[Layer, int]], width: int, n: int) -> Cost:
    """So many layers of each kind, in any order."""
    priced = [[times * price for price in _layer(layer, width, n)] for layer, times in counts]
    return Cost(*map(sum, zip(*priced, strict=True)))


@cache
def _layer(layer: Layer, width: int, n: int) -> Cost:
    mlp = 16 * width**2
    terms = [term for part in layer.parts for term in mixing(part.mixer)]
    everywhere = mlp + sum(projections(part.mixer, width) for part in layer.parts)
    return Cost(
        sum(cache_bits(part, n) for part in layer.parts),
        n * everywhere + sum(factor * tally.upto(n) for factor, tally in terms),
        everywhere + sum(factor * tally.at(n) for factor, tally in terms),
    )


def mixing_upto(architecture: Architecture, n: int) -> int:
    """FLOPs of mixing alone, tokens 1 … n: what grows faster than n, if anything does."""
    parts = [part for layer in architecture.layers for part in layer.parts]
    return sum(factor * tally.upto(n) for part in parts for factor, tally in mixing(part.mixer))


def projections(mixer: Mixer, width: int) -> int:
    """Two FLOPs a weight of each matrix from the stream (width rows) and of the one back into it."""
    shapes = mixer.shapes(width).items()
    return 2 * sum(prod(s) for name, s in shapes if len(s) == 2 and (s[0] == width or name == "O"))


@singledispatch
def mixing(mixer: Mixer) -> Terms:
    """FLOPs of mixing, by what the t-th token counts."""
    raise BadInput(f"no FLOP count is known for {mixer}")


@mixing.register
def _(mixer: Softmax) -> Terms:
    """⟨q,k⟩ and the weighted sum of v, for each token seen: 2(d_k + d) a head."""
    return ((2 * _pair(mixer), SEEN),)


@mixing.register
def _(mixer: Window) -> Terms:
    """As softmax, for the last W tokens."""
    return ((2 * _pair(mixer), latest(mixer.W)),)


@mixing.register
def _(mixer: Linear) -> Terms:
    """φ(k)vᵀ written and φ(q)ᵀS read: 2re each, r the size of φ(k), e = d + 1 with the normaliser."""
    return ((4 * prod(mixer.state_shape), ONE),)


@mixing.register
def _(mixer: GatedDelta) -> Terms:
    """kᵀS is compared with v, the difference written, qᵀS read: three times 2·d_k·d."""
    return ((6 * mixer.h * mixer.key_size * mixer.d, ONE),)


@mixing.register
def _(mixer: Mamba2) -> Terms:
    """B(Δu)ᵀ written and CᵀS read: 2sd each."""
    return ((4 * mixer.h * mixer.s * mixer.d, ONE),)


@mixing.register
def _(mixer: LogLinear) -> Terms:
    """A matrix is written for the token, and read; each one of the past is read, too.

    Over the gated delta rule each of these is also erased in: eᵀS and k(eᵀS).
    """
    one = 2 * mixer.h * mixer.key_size * mixer.value_size
    return (2 * one, ONE), ((3 if mixer.over == "gated_delta" else 1) * one, LEVELS)


@mixing.register
def _(mixer: BlockSparse) -> Terms:
    """Softmax over the messages and over the tokens of opened blocks; B tokens pooled into a message."""
    pair, B = 2 * _pair(mixer), mixer.B
    return (pair, blocks(B)), (pair * B, opened(B, mixer.k)), (pair, own(B)), (pair * B, finished(B))


@mixing.register
def _(mixer: TopK) -> Terms:
    """⟨q^I,k^I⟩ for h_i index heads and each token seen, then softmax over the k best."""
    return (2 * mixer.h_i * mixer.d_i, SEEN), (2 * _pair(mixer), latest(mixer.k))


def cache_bits(part: Part, n: int) -> int:
    """Bits kept after n tokens, where they are most on the way there."""
    bits = most_bits(part, n)
    return bits if bits is not None else kept(part.mixer, n) * (P if part.p is None else part.p)


@singledispatch
def kept(mixer: Mixer, n: int) -> int:
    """Numbers that a mixer which keeps every token keeps."""
    raise BadInput(f"no cache size is known for {mixer}")


@kept.register
def _(mixer: Softmax, n: int) -> int:
    return n * mixer.kv_sets * (mixer.key_size + mixer.d)


@kept.register
def _(mixer: BlockSparse, n: int) -> int:
    """And the messages of complete blocks."""
    return (n + n // mixer.B) * _pair(mixer)


@kept.register
def _(mixer: TopK, n: int) -> int:
    """And an index key a token."""
    return n * (_pair(mixer) + mixer.d_i)


def _pair(mixer: Softmax | Window | BlockSparse | TopK) -> int:
    """Numbers in a key and a value, all heads."""
    return mixer.h * (mixer.key_size + mixer.d)
