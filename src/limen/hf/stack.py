"""A real model's layers: what each is in theory, and what the next token needs of the past.

A layer keeps tensors.  One of them has so many rows after n tokens, each of so many numbers; how many rows an
engine holds, and in which precision, is the engine's affair (`hf/engines/`):

    rows after n tokens          needed         crossing a cut
    EveryToken                   n              n
    LastTokens(W)                min(n, W)      min(n, W-1)      the newest row is written, then read
    Columns(c)                   c-1            c-1              a convolution reads c-1 columns of the past
    Fixed(r)                     r              r
    EveryBlock(r)                ⌊n/r⌋          ⌊n/r⌋
    OpenBlock(r)                 n mod r        n mod r
    LastBlock(r)                 r, once there is one
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from math import ceil

from limen.core.architecture import Architecture, Layer, Part
from limen.core.mixer import Mixer
from limen.errors import BadInput

SUMS = 32  # bits of the sums inside attention: kernels accumulate in float32, whatever they store


@dataclass(frozen=True)
class EveryToken:
    """One row a token; `copies`: how often transformers keeps it."""

    copies: int = 1
    late = Fraction(1)

    def needed(self, n: int) -> int:
        return n


@dataclass(frozen=True)
class LastTokens:
    """A row for each token in a window of W, the one that looks included.

    `copies`: transformers may keep what is key and value in one as two tensors; `said`: the config's own
    number, where W is another; `chunk`: the window begins anew with every chunk of W tokens.
    """

    W: int
    copies: int = 1
    said: int | None = None
    chunk: bool = False
    late = Fraction(0)

    def needed(self, n: int) -> int:
        return min(n, self.W)


@dataclass(frozen=True)
class LastColumns:
    """The columns that a convolution over c tokens still needs."""

    c: int
    late = Fraction(0)

    def needed(self, n: int) -> int:
        return self.c - 1


@dataclass(frozen=True)
class FixedRows:
    """Always the same."""

    r: int = 1
    late = Fraction(0)

    def needed(self, n: int) -> int:
        return self.r


@dataclass(frozen=True)
class EveryBlock:
    """One row for each complete block of r tokens."""

    r: int

    @property
    def late(self) -> Fraction:
        return Fraction(1, self.r)

    def needed(self, n: int) -> int:
        return n // self.r


@dataclass(frozen=True)
class OpenBlock:
    """The tokens of the block that is not complete."""

    r: int
    late = Fraction(0)

    def needed(self, n: int) -> int:
        return n % self.r


@dataclass(frozen=True)
class LastBlock:
    """The tokens of the last complete block."""

    r: int
    late = Fraction(0)

    def needed(self, n: int) -> int:
        return self.r if n >= self.r else 0


Rows = EveryToken | LastTokens | LastColumns | FixedRows | EveryBlock | OpenBlock | LastBlock


class Use(StrEnum):
    """What a tensor is for."""

    KV = "keys and values"
    INDEX = "index keys"
    RECURRENT = "recurrent state"
    CONVOLUTION = "convolution"


@dataclass(frozen=True)
class Bits:
    """Bits of a number: of keys and values; of the model; of convolutions and recurrences, where said."""

    kv: Fraction = Fraction(16)
    model: Fraction = Fraction(16)
    conv: Fraction | None = None
    state: Fraction | None = None

    def of(self, kept: Kept) -> Fraction:
        """As said, or as the model's own code keeps it: in its dtype, or in float32 what is `wide`."""
        if kept.use in (Use.KV, Use.INDEX):
            return self.kv
        given = self.conv if kept.use is Use.CONVOLUTION else self.state
        return given if given is not None else Fraction(32) if kept.wide else self.model


@dataclass(frozen=True)
class Kept:
    """One tensor: rows of so many numbers; `wide` if the model's own code keeps it in float32.

    `pieces` are (heads, numbers a head): of each so many heads go to one of several ranks, at least one.
    Those of a latent are its vector and the rotated key, one each for all heads.
    """

    use: Use
    numbers: int
    rows: Rows
    wide: bool = False
    pieces: tuple[tuple[int, int], ...] = ()
    whole: tuple[int, int, int] | None = None  # of a latent vector: the h, d_k, d_v that are read from it

    @property
    def grows(self) -> bool:
        """Whether it holds the more the longer a text is, however long."""
        return self.rows.late > 0

    def share(self, ranks: int) -> int:
        """Numbers of a row that one of so many ranks keeps; what has no heads, or fewer, is repeated."""
        if (heads := self.undivided(ranks)) is not None:
            raise BadInput(f"{heads} heads cannot be divided over {ranks} ranks of tensor parallelism")
        return sum(max(heads // ranks, 1) * size for heads, size in self.pieces) or self.numbers

    def undivided(self, ranks: int) -> int | None:
        """A number of heads that so many ranks cannot share; None if there is none."""
        return next((heads for heads, _ in self.pieces if heads % ranks and ranks % heads), None)

    def crossing(self, n: int, bits: Bits) -> Fraction:
        """Bits of it that a cut after n tokens passes on."""
        rows = min(n, self.rows.W - 1) if isinstance(self.rows, LastTokens) else self.rows.needed(n)
        return rows * self.numbers * bits.of(self)


@dataclass(frozen=True)
class Block:
    """One mixer of a layer: its place in theory, and what it keeps.

    `what` is the mechanism in the model's own words; `sizes` are the ones that the report shows.
    """

    what: str
    part: Part
    kept: tuple[Kept, ...]
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class ModelLayer:
    """One layer of a model: mixers in stages, one stage after the other, those of a stage side by side."""

    index: int
    kind: str  # the config's own word
    stages: tuple[tuple[Block, ...], ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for stage in self.stages for block in stage)

    @property
    def emptied(self) -> ModelLayer:
        """The layer without what it keeps, and without whose keys it reads: both are on another rank."""
        return replace(
            self,
            stages=tuple(
                tuple(replace(block, part=replace(block.part, kv=None), kept=()) for block in stage)
                for stage in self.stages
            ),
        )


@dataclass(frozen=True)
class Stack:
    """A model as its config describes it."""

    model_type: str
    layers: tuple[ModelLayer, ...]
    positions: int | None  # the longest text that it was made for, where the config says
    remarks: tuple[str, ...] = ()
    parameters: int | None = None  # of the decoder, where they are counted
    uncounted: str | None = None  # why they are not
    inside: bool = False  # whether it is the decoder of a model of more than text

    @property
    def architecture(self) -> Architecture:
        """The stack that theorems speak about; layers without a mixer have no place in it."""
        stages = [stage for layer in self.layers for stage in layer.stages]
        return Architecture(tuple(Layer(tuple(block.part for block in stage)) for stage in stages))

    def keeping(self, indices: range) -> Stack:
        """The same stack, of whose layers only these keep anything: one stage of pipeline parallelism."""
        places = enumerate(self.layers)
        layers = (layer if i in indices else layer.emptied for i, layer in places)
        return replace(self, layers=tuple(layers))

    @cached_property
    def kept(self) -> list[tuple[tuple[Kept, ...], int]]:
        """What each mixer keeps, and how many keep the same."""
        return [*Counter(block.kept for layer in self.layers for block in layer.blocks).items()]

    @cached_property
    def tensors(self) -> list[tuple[Kept, int]]:
        """Each tensor, and how many layers keep one like it."""
        return [
            *Counter(kept for layer in self.layers for block in layer.blocks for kept in block.kept).items()
        ]


def recurrence(
    what: str, mixer: Mixer, kept: tuple[Kept, ...], bits: Bits, sizes: tuple[tuple[str, int], ...]
) -> Block:
    """A mixer whose state is all that it keeps: in theory any one of so many bits."""
    held = sum((tensor.crossing(0, bits) for tensor in kept), Fraction(0))
    return Block(what, Part(mixer, bits=ceil(held)), kept, sizes)


def sharing(block: Block, layer: int) -> Block:
    """The same mixer reading the keys and values that an earlier layer of the stack keeps."""
    return replace(block, part=replace(block.part, kv=layer), kept=())
