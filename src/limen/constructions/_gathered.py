r"""One softmax layer as wide as the text: the last token adds up all tokens, each in columns of its place.

    W_Q = 0   =>   every token weighs 1/N   =>   y = Σ_j V[j, x_j] / N

Why it works.  A token is embedded by its place and its id, so what stands at a place is written into columns
that no other place uses, or shares with few: nothing is lost in the mean.  What can be said about all
places at once is then a matter of ReLUs at the last token, as in a function of the whole text:

    z = Σ_u ReLU(κ·(weights of u)·y - threshold),        κ = 2^⌈log₂N⌉, so ρ = κ/N is in [1, 2)

Where a place must be chosen first, a second head finds it and reads which one it is, as a one-hot row.

One layer cannot do with less than a constant part of this width (one_layer_cut, separate_tokens): the sums
H(d+2)p that it passes on must tell all first halves apart.  Two layers do with a logarithm of it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from limen.constructions._lookup import blur
from limen.constructions._margins import Roundoff, certified, lower
from limen.constructions._weights import identity, zeros
from limen.core.architecture import Architecture
from limen.core.balls import Ball, ball
from limen.core.catalogue import identifier
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Affine, Binary, Readout

LONGEST = 2**13  # tokens
_WORDS = 2**18  # tokens that are told apart: the largest vocabularies of released models


class Watch(NamedTuple):
    """ReLU(Σ factor·column + bias), times `weight`, is added to the column `to`."""

    of: Mapping[int, float]
    bias: float
    to: int
    weight: float


@dataclass(frozen=True)
class Gathered(Construction):
    """`told` is what a token says of itself by its place, `heard` what the last token has of it."""

    task: Task

    def __post_init__(self) -> None:
        if self.task.length > LONGEST:
            raise BadInput(
                f"{identifier(self)}: every place has weights of its own; at most {LONGEST} tokens, "
                f"got {self.task.length}"
            )
        if self.task.vocab > _WORDS:
            raise BadInput(
                f"{identifier(self)}: tables of all tokens are written out; at most {_WORDS}, "
                f"got {self.task.vocab}"
            )

    @property
    def N(self) -> int:
        return self.task.length

    @property
    def κ(self) -> int:
        """The least power of two from N on."""
        return 1 << (self.N - 1).bit_length()

    @property
    def ρ(self) -> float:
        """What a 1 that one token tells is in κ·y."""
        return self.κ / self.N

    @property
    @abstractmethod
    def tables(self) -> dict[str, Array]:
        """The tables of the embedding."""

    @abstractmethod
    def codes(self, place: int) -> tuple[Code, ...]:
        """How the token at a place is written."""

    @property
    @abstractmethod
    def units(self) -> list[Watch]:
        """What is looked at."""

    @property
    def softmax(self) -> str:
        return f"softmax(h=1,d={self.wide},d_k=1)"

    @property
    def wide(self) -> int:
        """How many numbers are gathered."""
        told = self.columns["told"]
        return int(told.stop - told.start)

    @property
    def readout(self) -> Readout:
        return Affine()

    def frame(self) -> Frame:
        tables = tuple((name, *rows.shape) for name, rows in self.tables.items())
        segments = tuple(Segment(1, self.codes(j)) for j in range(self.N))
        width = self.columns.width
        return Frame(
            Architecture.parse(self.softmax),
            width,
            self.task.answers,
            Codes(width, tables, segments),
            (Mlp(len(self.units)),),
            readout=self.readout,
        )

    def weights(self) -> Weights:
        """Head 0 gathers; a flaw speaks for the answer 0."""
        w, at = zeros(self.frame()), self.columns
        w |= {f"embedding.{name}": rows for name, rows in self.tables.items()}
        identity(w["0.0.V"], at["told"], slice(0, self.wide))
        identity(w["0.0.O"], slice(0, self.wide), at["heard"])
        for u, unit in enumerate(self.units):
            for column, factor in unit.of.items():
                w["0.local.W1"][column, u] = factor
            w["0.local.b1"][u] = unit.bias
            w["0.local.W2"][u, unit.to] = unit.weight
        if "readout.U" in w:
            w["readout.U"][at["flaw"], 0] = 2  # logits (2·flaw - 1, 0)
            w["readout.u"][0] = -1
        return w

    def hints(self) -> dict[str, Any] | None:
        return {"how": "gathered"}

    def off(self, size: float, tokens: int, columns: int, r: Roundoff) -> Ball:
        """How far the sum in a ReLU may be from what it should be.

        The sizes of all that is added there, the threshold among it, are at most `size`·ρ.  A weight, what is
        read, the two products with matrices, the threshold and its sum are rounded; so many tokens are added
        up, and so many columns.
        """
        sums = (1 + r.sums(tokens + 2)) * (1 + r.sums(columns + 2))
        return self.ρ * size * ((1 + r.u) ** 6 * sums - 1) + self.κ * columns * 2 * self.N**2 * r.least

    def flawed(
        self, size: float, tokens: int, columns: int, lead: float, precision: Precision
    ) -> float | None:
        """The margin where each sum is -lead·ρ or less without a flaw, and with one some is lead·ρ or more.

        The weight of the unit is 1/lead, so the flaw is about ρ, and the logits are 2·flaw - 1 and 0.
        """
        r = Roundoff.of(precision)
        if r is None or not (off := self.off(size, tokens, columns, r)) < self.ρ * lead:
            return None
        flaw = (self.ρ - off / lead) * (1 - r.u) ** 5 * (1 - r.sums(len(self.units)))
        return certified(min(ball(1), 2 * flaw - 1, key=lower))


@dataclass(frozen=True)
class GatheredChoice(Gathered):
    """Pairs of a key and a value, then a token that asks: head 1 finds the place, then its value is read.

        y' = one-hot row of the place m        digit β of the answer = ReLU(κ·y_{m,β} + 4·y'_m - 4 - ρ/2)·2/ρ

    Of all places but m the sum is below 0, and at m it is ±ρ/2, as the digit is 1 or 0.
    """

    @property
    @abstractmethod
    def n(self) -> int:
        """How many pairs."""

    @property
    @abstractmethod
    def b(self) -> int:
        """The digits of a value."""

    @property
    @abstractmethod
    def d_k(self) -> int:
        """The size of a key."""

    @property
    def key(self) -> dict[str, int]:
        """What keys are made of, and queries."""
        return {"key": self.d_k, "asks": self.d_k}

    @property
    def columns(self) -> Columns:
        n, b = self.n, self.b
        return Columns.of(**self.key, told=n * b, heard=n * b, where=n, found=n, answer=b)

    @property
    def softmax(self) -> str:
        return f"softmax(h=2,d={self.wide},d_k={self.d_k})"

    @property
    def readout(self) -> Readout:
        return Binary(self.columns["answer"].start, self.b)

    @property
    def units(self) -> list[Watch]:
        at, b, ρ = self.columns, self.b, self.ρ
        return [
            Watch(
                {at["heard"].start + i * b + β: self.κ, at["found"].start + i: 4},
                -4 - ρ / 2,
                at["answer"].start + β,
                2 / ρ,
            )
            for i in range(self.n)
            for β in range(b)
        ]

    def weights(self) -> Weights:
        w, at, d, n = super().weights(), self.columns, self.wide, self.n
        identity(w["0.0.Q"], at["asks"], slice(self.d_k, 2 * self.d_k))
        identity(w["0.0.K"], at["key"], slice(self.d_k, 2 * self.d_k))
        identity(w["0.0.V"], at["where"], slice(d, d + n))
        identity(w["0.0.O"], slice(d, d + n), at["found"])
        return w

    def digits_margin(self, stray: Ball, r: Roundoff) -> float | None:
        """The margin where all tokens but the right one weigh so much, relative to it."""
        off = self.off(9, 1, 2, r) + 4 * blur(stray, self.N, r) * (1 + r.u) ** 4
        if not off < self.ρ / 4:
            return None
        e = (2 * off / self.ρ + 8 * r.u + r.sums(self.n)) * (1 + 8 * r.u)  # of a digit
        e = 2 * e + r.u * (1 + 2 * e)  # of 2x - 1
        sums = self.b * (1 + e) * ((1 + r.u) * (1 + r.sums(self.b)) - 1)
        return certified(2 * (1 - e) - 2 * sums)
