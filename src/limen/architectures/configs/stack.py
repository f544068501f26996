"""A real model's layers: what each is in theory, and what an engine keeps of the past for it.

A layer keeps tensors.  One of them has so many rows after n tokens, each of so many numbers, at so many bits
a number; all that an engine decides is how many rows it holds (`late`: rows a token in a long text):

    rows after n tokens          minimal        transformers
    EveryToken                   n              n
    LastTokens(W)                min(n, W)      min(n, W-1)      the newest row is written, then read
    Columns(c)                   c-1            c                a convolution reads c-1 columns of the past
    Fixed(r)                     r              r
    EveryBlock(r)                ⌊n/r⌋          ⌊n/r⌋
    OpenBlock(r)                 n mod r        n mod r
    LastBlock(r)                 r, once there is one
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from math import ceil

from limen.core.architecture import Architecture, Layer, Part
from limen.core.errors import unknown
from limen.core.mixer import Mixer

SUMS = 32  # bits of the sums inside attention: kernels accumulate in float32, whatever they store


class Engine(StrEnum):
    """Who holds the cache."""

    MINIMAL = "minimal"  # no more than the next token needs, as llama.cpp
    TRANSFORMERS = "transformers"  # what transformers' cache holds between two tokens

    @classmethod
    def named(cls, name: str) -> Engine:
        if name not in {engine.value for engine in cls}:
            raise unknown("engine", name, [engine.value for engine in cls])
        return cls(name)


@dataclass(frozen=True)
class EveryToken:
    """One row a token."""

    late = Fraction(1)

    def after(self, n: int, engine: Engine) -> int:
        return n


@dataclass(frozen=True)
class LastTokens:
    """A row for each token in a window of W, the one that looks included.

    `copies`: transformers may keep what is key and value in one as two tensors.
    """

    W: int
    copies: int = 1
    late = Fraction(0)

    def after(self, n: int, engine: Engine) -> int:
        return min(n, self.W) if engine is Engine.MINIMAL else self.copies * min(n, self.W - 1)


@dataclass(frozen=True)
class Columns:
    """The columns that a convolution over c tokens still needs."""

    c: int
    late = Fraction(0)

    def after(self, n: int, engine: Engine) -> int:
        return self.c - 1 if engine is Engine.MINIMAL else self.c


@dataclass(frozen=True)
class Fixed:
    """Always the same."""

    r: int = 1
    late = Fraction(0)

    def after(self, n: int, engine: Engine) -> int:
        return self.r


@dataclass(frozen=True)
class EveryBlock:
    """One row for each complete block of r tokens."""

    r: int

    @property
    def late(self) -> Fraction:
        return Fraction(1, self.r)

    def after(self, n: int, engine: Engine) -> int:
        return n // self.r


@dataclass(frozen=True)
class OpenBlock:
    """The tokens of the block that is not complete."""

    r: int
    late = Fraction(0)

    def after(self, n: int, engine: Engine) -> int:
        return n % self.r


@dataclass(frozen=True)
class LastBlock:
    """The tokens of the last complete block."""

    r: int
    late = Fraction(0)

    def after(self, n: int, engine: Engine) -> int:
        return self.r if n >= self.r else 0


Rows = EveryToken | LastTokens | Columns | Fixed | EveryBlock | OpenBlock | LastBlock


class Use(StrEnum):
    """What a tensor is for."""

    KV = "keys and values"
    INDEX = "index keys"
    RECURRENT = "recurrent state"
    CONVOLUTION = "convolution"


@dataclass(frozen=True)
class Bits:
    """Bits of a number: what is stored of tokens, and what is stored of recurrences."""

    kv: Fraction = Fraction(16)
    state: Fraction = Fraction(32)


@dataclass(frozen=True)
class Kept:
    """One tensor: rows of so many numbers; `state` says which of the two precisions it is in."""

    use: Use
    numbers: int
    rows: Rows
    state: bool = False

    @property
    def grows(self) -> bool:
        """Whether it holds the more the longer a text is, however long."""
        return self.rows.late > 0

    def bits_after(self, n: int, engine: Engine, bits: Bits) -> Fraction:
        return self.rows.after(n, engine) * self.numbers * (bits.state if self.state else bits.kv)


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


@dataclass(frozen=True)
class Stack:
    """A model as its config describes it."""

    model_type: str
    layers: tuple[ModelLayer, ...]
    positions: int | None  # the longest text that it was made for, where the config says

    @property
    def architecture(self) -> Architecture:
        """The stack that theorems speak about; layers without a mixer have no place in it."""
        stages = [stage for layer in self.layers for stage in layer.stages]
        return Architecture(tuple(Layer(tuple(block.part for block in stage)) for stage in stages))

    def bytes_after(self, n: int, engine: Engine, bits: Bits, uses: frozenset[Use] = frozenset(Use)) -> int:
        """Of one sequence of n tokens."""
        tensors = (kept for layer in self.layers for block in layer.blocks for kept in block.kept)
        total = sum((k.bits_after(n, engine, bits) for k in tensors if k.use in uses), Fraction(0))
        return ceil(total / 8)


def recurrence(
    what: str, mixer: Mixer, kept: tuple[Kept, ...], bits: Bits, sizes: tuple[tuple[str, int], ...]
) -> Block:
    """A mixer whose state is all that it keeps: in theory any one of so many bits."""
    held = sum((tensor.bits_after(0, Engine.MINIMAL, bits) for tensor in kept), Fraction(0))
    return Block(what, Part(mixer, bits=ceil(held)), kept, sizes)


def sharing(block: Block, layer: int) -> Block:
    """The same mixer reading the keys and values that an earlier layer of the stack keeps."""
    return replace(block, part=replace(block.part, kv=layer), kept=())
