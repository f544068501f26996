r"""The candidate stacks: two kinds of layer, how many of the one, and in which order.

Sizes as models have them, derived from the width: recurrences as wide as the stream (Mamba-2 twice), heads of
size 64 and 128.  Attention has as many query heads as fill the width; they share the KV heads that are wished
for (grouped queries).  In top-k and block-sparse attention every head has its own.

The order matters by the depth rule (core/graph.py): a layer without softmax heads brings a hop if it stands
before the second layer that has them.  It does not matter to the costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from typing import NamedTuple

from limen.core.architecture import Architecture, Layer, Part
from limen.core.features import FeatureMap
from limen.core.mixer import Mixer
from limen.designs.wish import Wish
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.gated_delta import GatedDelta
from limen.mixers.linear import Linear
from limen.mixers.log_linear import LogLinear
from limen.mixers.mamba2 import Mamba2
from limen.mixers.softmax import Softmax
from limen.mixers.top_k import TopK
from limen.mixers.window import Window

HEAD_SIZES = (64, 128)
STATES = (16, 64, 128)  # numbers a channel in Mamba-2
WINDOWS = (512, 4096)
RELU = FeatureMap.named("relu")  # the feature map of the constructions
DEEPEST = 4  # layers of a construction up to which alike stacks are told by their rows of layers

LETTERS: dict[type[Mixer], str] = {
    Softmax: "F",
    TopK: "K",
    BlockSparse: "B",
    Window: "W",
    Linear: "L",
    GatedDelta: "D",
    Mamba2: "M",
    LogLinear: "G",
}
MIXED = "H"  # head-wise: full and recurrent heads in one layer


def letter(layer: Layer) -> str:
    """The letter of a layer in the strip of a stack."""
    return LETTERS[type(layer.parts[0].mixer)] if len(layer.parts) == 1 else MIXED


class Candidate(NamedTuple):
    """A stack of n layers of two kinds, with a linear layer put first or not; spelt out on demand."""

    full: Layer
    thin: Layer
    n: int
    places: int  # bit i: layer i is a full one
    first: Layer | None = None  # a linear layer instead of the first thin one
    unshifted: int | None = None  # with it: the places of the same stack without

    @property
    def architecture(self) -> Architecture:
        """The stack, all layers spelt out."""
        layers = self._spelt(self.places)
        return Architecture(layers if self.first is None else (self.first, *layers[1:]))

    @property
    def plain(self) -> Architecture | None:
        """The same stack without the linear layer, where one was put first."""
        return None if self.unshifted is None else Architecture(self._spelt(self.unshifted))

    @property
    def counts(self) -> list[tuple[Layer, int]]:
        """How many layers it has of each kind."""
        F, ahead = self.places.bit_count(), self.first is not None
        kinds = [(self.full, F), (self.thin, self.n - F - ahead)]
        return [*kinds, (self.first, 1)] if self.first is not None else kinds

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for two candidates with the same stack."""
        (full, F), (thin, rest), *_ = self.counts
        other = thin if rest else self.first
        return full if F else None, other, self.places, None if other == self.first else self.first

    @property
    def rows(self) -> tuple[object, ...]:
        """A key that is equal for two candidates of equal layers, in which the same rows of layers are found.

        Layers are placed in order, each in the first one left that has room, so a construction of at most
        DEEPEST layers has room in both of them or in none.
        """
        ahead = self.first is not None
        return self.full, self.thin, self.n, self.first, _rows(self.places >> ahead, self.n - ahead)

    def _spelt(self, places: int) -> tuple[Layer, ...]:
        return tuple(self.full if places >> i & 1 else self.thin for i in range(self.n))


@cache
def _rows(places: int, n: int) -> tuple[int, frozenset[str]]:
    """Which kind comes first; which rows of at most DEEPEST layers, full or not, stand in it in order."""
    rows, every = {""}, 2 ** (DEEPEST + 1) - 1
    for i in range(n):
        rows |= {f"{row}{places >> i & 1}" for row in rows if len(row) < DEEPEST}
        if len(rows) == every:
            break
    return places & 1, frozenset(rows)


def candidates(wish: Wish) -> Iterator[Candidate]:
    """Every stack once, with every number of full layers; of equal costs the plainer order first."""
    seen = set()
    orders = [places for F in range(wish.layers + 1) for places in _orders(F, wish.layers)]
    for thin, full, (places, unshifted) in product(thin_layers(wish), full_layers(wish), orders):
        first = None if unshifted is None else early_layer(wish.width)
        candidate = Candidate(full, thin, wish.layers, places, first, unshifted)
        if candidate.key not in seen:
            seen.add(candidate.key)
            yield candidate


def thin_layers(wish: Wish) -> list[Layer]:
    """Layers with a state of fixed size (log-linear: nearly)."""
    width = wish.width
    levels = (wish.context - 1).bit_length() + 1  # they reach 2^(levels-1) tokens
    sizes = _head_sizes(width)
    return [
        *(_layer(GatedDelta(width // d, d, c=4)) for d in sizes),
        *(_layer(Mamba2(2 * width // sizes[0], sizes[0], s)) for s in STATES),
        *(_layer(Linear(width // d, d, phi=RELU)) for d in sizes),
        *(_layer(_window(width // sizes[-1], sizes[-1], W, wish.kv_heads)) for W in WINDOWS),
        _layer(LogLinear(width // sizes[0], sizes[0], over="gated_delta", levels=levels)),
    ]


def full_layers(wish: Wish) -> list[Layer]:
    """Layers that keep every token; head-wise ones have half of the heads of each kind."""
    width, kv = wish.width, wish.kv_heads
    sizes = _head_sizes(width)
    d, halves = sizes[-1], [(max(1, width // d // 2), d) for d in sizes]
    h = width // d
    return [
        *(_layer(_softmax(width // d, d, kv)) for d in sizes),
        *(_layer(_softmax(half, d, kv), GatedDelta(half, d, c=4)) for half, d in halves),
        _layer(TopK(h, d, k=2048, h_i=width // d, d_i=64)),
        _layer(BlockSparse(h, d, B=64, k=16)),
    ]


@cache
def early_layer(width: int) -> Layer:
    """A small recurrence that brings a hop: linear attention, as the construction has it."""
    return _layer(Linear(width // HEAD_SIZES[0], HEAD_SIZES[0], phi=RELU))


def _layer(*mixers: Mixer) -> Layer:
    return Layer(tuple(map(Part, mixers)))


def _head_sizes(width: int) -> list[int]:
    """The head sizes that are not larger than the stream."""
    return [d for d in HEAD_SIZES if d <= width]


def _softmax(h: int, d: int, kv: int) -> Softmax:
    return Softmax(h, d, kv_heads=shared(h, kv))


def _window(h: int, d: int, W: int, kv: int) -> Window:
    return Window(h, d, W, kv_heads=shared(h, kv))


def shared(h: int, kv: int) -> int:
    """The KV heads that h query heads share: as many as are wished for, or the next number that divides h."""
    return next(sets for sets in range(min(h, kv), 0, -1) if h % sets == 0)


def _orders(F: int, n: int) -> list[tuple[int, int | None]]:
    """Positions of F full layers among n: spread (TTTF …), all first, all last, spread after a linear layer.

    The last comes with the positions that they have without the linear layer.
    """
    plain = _spread(F, n)
    orders: list[tuple[int, int | None]] = [
        (plain, None),
        ((1 << F) - 1, None),
        ((1 << F) - 1 << n - F, None),
    ]
    return [*orders, (_spread(F, n - 1) << 1, plain)] if 0 < F < n else orders


def _spread(F: int, n: int) -> int:
    """The positions of full layers at the end of each of F stretches, as a bit set."""
    return sum(1 << (i + 1) * n // F - 1 for i in range(F))
