r"""Two strings of n bits, one after the other: a softmax head brings a_i to the token of b_i.

    K_j = (T(place of j), second_j),  Q_i = -c(T̄(place of i), 1)  =>  score = -c·(Hamming distance + second_j)

Tokens of both halves are addressed by their place in their half (_words.py).  The right a_i scores 0 and
every other token at most -c, the asking one too, since it is in the second half: together they weigh
2n·e^-c of it, 2.7e-8 for n = 2^20 and c = 32.

A ReLU then says where the two bits are at fault: `flaw` is exactly 0 or about 1, and 0 in the first half.
A second head, at the last token, looks for a flaw:

    score = c(flaw_j - second_j/2),   value second_j

The first half is the blank: n tokens of score 0 and value 0.  Without a flaw the second half weighs
e^{-c/2} of that; with one the blanks weigh n·e^{-c/2} of it, 1.3e-8 for n = 2^20 and c = 64.

Where a recurrence comes next, it watches for a flaw.  A ReLU recurrence keeps one bit h, 1 in the first
half:

    h_i = ReLU(h_{i-1} - Σ ReLU(2·flaw_i))

With a_i heard within 1/4, the inner ReLUs are exactly 0 where the bits are in order, and one of them is at
least 1 where they are not.  So h is exactly 1 while all is in order and exactly 0 from the first flaw on.

Linear attention with φ = elu + 1 looks at the tokens with a flaw alone:

    φ(k_j) = φ(64(flaw_j - 1)) = flaw_j,   value flaw_j   =>   verdict = Σ flaw / Σ flaw: 1, or 0 without one

Numerator and normaliser are sums of the same numbers, so they are the same, however they are rounded.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

from flint import arb

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._margins import Roundoff, certified, copied, in_balls, retrieved
from limen.constructions._weights import bits_for, identity, zeros
from limen.constructions._words import decide, decided, fill_words, oppose, word, word_tables
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality

C = 32  # what one wrong bit of an address costs; e^-32 ≈ 1.3e-14
POOL = 64  # what a flaw is worth


@dataclass(frozen=True)
class Halves:
    """The layout of the two strings and the head that compares them."""

    n: int

    @property
    def D(self) -> int:
        return bits_for(self.n)

    @property
    def head(self) -> str:
        """Values are as long as keys, as fast kernels like it, though only one number of them is used."""
        return f"softmax(h=1,d={2 * self.D + 1})"

    @property
    def columns(self) -> Columns:
        """`heard` is written by the first layer's head, `flaw` by its ReLU, `verdict` by the second layer."""
        return Columns.of(place=2 * self.D, first=1, second=1, bit=1, heard=1, flaw=1, verdict=1)

    @property
    def embedding(self) -> Codes:
        at = self.columns
        token = (*word("place", self.D, at["place"].start), Code("token", 1, "digit", at["bit"].start))
        a, b = ((*token, Code("place", 1, "one", at[half].start)) for half in ("first", "second"))
        tables = (*word_tables(self.D), ("digit", 2, 1), ("one", 1, 1))
        return Codes(at.width, tables, (Segment(self.n, a), Segment(self.n, b)))

    def fill(self, w: Weights, frame: Frame) -> None:
        """The embedding and the head."""
        at, address, half = self.columns, slice(0, 2 * self.D), 2 * self.D
        fill_words(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.digit"][1] = 1
        identity(w["0.0.K"], at["place"], address)
        oppose(w["0.0.Q"], at["place"], address, -C)
        w["0.0.K"][at["second"], half] = 1
        w["0.0.Q"][at["first"], half] = w["0.0.Q"][at["second"], half] = -C
        w["0.0.V"][at["bit"], 0] = 1
        w["0.0.O"][0, at["heard"]] = 1

    def pool(self, w: Weights) -> None:
        """The second head."""
        at = self.columns
        w["1.0.K"][at["flaw"]] = POOL
        w["1.0.K"][at["second"]] = -POOL / 2
        w["1.0.Q"][at["second"]] = 1
        w["1.0.V"][at["second"]] = 1
        w["1.0.O"][:, at["verdict"]] = 1

    def weigh(self, w: Weights) -> None:
        """Linear attention over the flaws; the first half has none, and reads nothing."""
        at = self.columns
        w["1.0.K"][at["first"], 0] = w["1.0.K"][at["second"], 0] = -SHUT
        w["1.0.K"][at["flaw"], 0] = SHUT
        w["1.0.Q"][at["first"]] = w["1.0.Q"][at["second"], 1:] = -SHUT
        w["1.0.V"][at["flaw"], 0] = w["1.0.O"][0, at["verdict"]] = 1

    def blur(self, r: Roundoff) -> arb:
        """How far from a_i the second half's `heard` may be."""
        return copied(2 * self.n * arb(-C).exp(), 1, r)

    def flaw(self, r: Roundoff) -> arb | None:
        """The least flaw, where it is ReLU(2·(sum of bits) - an odd number).

        It is exactly 0 without one if the bits heard are within 1/2.  With one it is 1 but for twice the blur
        and the roundings of a sum up to 6, of the difference and of the output.
        """
        blur = self.blur(r)
        if not blur < arb(1) / 4:
            return None
        return 1 - 2 * blur - 8 * (r.u + r.sums(self.columns.width))

    def pooled(self, r: Roundoff) -> arb | None:
        """How far apart the logits are behind the second head."""
        flaw = self.flaw(r)
        if flaw is None:
            return None
        gap = POOL * (flaw - arb(1) / 2) * (1 - r.u) ** 2
        found = retrieved(self.n * (-gap).exp(), 2 * self.n, r)
        none = retrieved((arb(-POOL) / 2).exp(), 2 * self.n, r)
        return decided(found.one, none.zero, r)

    def weighed(self, r: Roundoff) -> arb | None:
        """The same behind linear attention: an average of flaws.

        Where the bits heard are exact, a flaw is exactly 1, and so is the average.  Else each of the two sums
        is within its roundings of itself.
        """
        flaw, exact = self.flaw(r), 16 * self.blur(r) < r.u
        if flaw is None or (r.u > r.acc and not exact):
            return None
        found = arb(1) if exact else flaw * (1 - r.u) ** 2 / (1 + r.sums(2 * self.n)) ** 2
        return decided(found * (1 - r.u) ** 2, arb(0), r)


class Flaw(NamedTuple):
    """A ReLU of the second half: ReLU(b·b_i + a·a_i - bias), its bias raised by 2 in the first half."""

    b: int
    a: int
    bias: int


DIFFERENT = Flaw(b=2, a=-2, bias=1), Flaw(b=-2, a=2, bias=1)
BOTH = (Flaw(b=2, a=2, bias=3),)


@dataclass(frozen=True)
class Halved(Construction):
    """One head compares the halves; a second layer looks for a flaw."""

    task: Equality | Disjointness

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """The ReLUs whose sum is 0 where the two bits are in order, and 1 where they are not."""
        return DIFFERENT if isinstance(self.task, Equality) else BOTH

    @property
    @abstractmethod
    def second(self) -> str:
        """The second layer."""

    @abstractmethod
    def look(self, w: Weights) -> None:
        """Its weights."""

    @property
    def halves(self) -> Halves:
        return Halves(self.task.n)

    @property
    def columns(self) -> Columns:
        return self.halves.columns

    def frame(self) -> Frame:
        return Frame(
            Architecture.parse(f"{self.halves.head},{self.second}"),
            self.columns.width,
            self.task.answers,
            self.halves.embedding,
            self.locals,
        )

    @property
    def locals(self) -> tuple[Mlp | None, ...]:
        return (Mlp(len(self.flaws)), None)

    def weights(self) -> Weights:
        frame, at = self.frame(), self.columns
        w = zeros(frame)
        self.halves.fill(w, frame)
        for i, flaw in enumerate(self.flaws if self.locals else ()):
            w["0.local.W1"][at["bit"], i] = flaw.b
            w["0.local.W1"][at["heard"], i] = flaw.a
            w["0.local.W1"][at["second"], i] = 2
            w["0.local.b1"][i] = -flaw.bias - 2
            w["0.local.W2"][i, at["flaw"]] = 1
        self.look(w)
        return w

    @property
    def hearing(self) -> list[list[Any]]:
        """All look at the bit of the first half at their place."""
        return [[0, 0, 0, asker, "one", "a"] for asker in ("a", "b", "last")]


@dataclass(frozen=True)
class Compared(Halved):
    """The second layer is a softmax head."""

    @property
    def second(self) -> str:
        return "softmax(h=1,d=1)"

    def look(self, w: Weights) -> None:
        self.halves.pool(w)
        decide(w, self.columns["verdict"], high=0)

    def hints(self) -> dict[str, Any]:
        """The last token looks for a flaw, or else at the first half."""
        return {"looks": [*self.hearing, [1, 0, 0, "last", "exists", "b", "a"]]}

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        apart = None if r is None else self.halves.pooled(r)
        return None if apart is None else certified(apart)


@dataclass(frozen=True)
class Weighed(Halved):
    """The second layer is linear attention; keys that are not used must be shut, so their size is known."""

    _: KW_ONLY
    d_k: int = 1

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> Weighed:
        return cls(task=task, d_k=linear_keys(architecture))  # type: ignore[arg-type]

    @property
    def second(self) -> str:
        return f"linear(h=1,d=1,d_k={self.d_k})"

    def look(self, w: Weights) -> None:
        self.halves.weigh(w)
        decide(w, self.columns["verdict"], high=0)

    def hints(self) -> dict[str, Any]:
        """The second half looks at the flaws so far, which are all alike."""
        return {"looks": [*self.hearing, *([1, 0, 0, asker, "alike", "b"] for asker in ("b", "last"))]}

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        apart = None if r is None else self.halves.weighed(r)
        return None if apart is None else certified(apart)


@dataclass(frozen=True)
class Watched(Halved):
    """The second layer is a ReLU recurrence of one bit, with its own ReLUs for the flaws."""

    @property
    def second(self) -> str:
        return f"relu_rnn(d=1,stages=2,inner={2 + len(self.flaws)})"

    @property
    def locals(self) -> tuple[Mlp | None, ...]:
        return ()

    def look(self, w: Weights) -> None:
        """Inside: h in the second half, 1 in the first, and the flaws, in the second half alone."""
        at, old, start = self.columns, 0, 1
        w["1.0.W1"][0, old] = 1
        w["1.0.U"][at["second"], old] = 1
        w["1.0.b1"][old] = -1
        w["1.0.U"][at["second"], start] = -1
        w["1.0.b1"][start] = 1
        for i, flaw in enumerate(self.flaws, 2):
            w["1.0.U"][at["bit"], i] = 2 * flaw.b
            w["1.0.U"][at["heard"], i] = 2 * flaw.a
            w["1.0.U"][at["second"], i] = 4
            w["1.0.b1"][i] = -2 * flaw.bias - 4
        w["1.0.W2"][:, 0] = np.array([1, 1, *(-1 for _ in self.flaws)])
        w["1.0.O"][:, at["verdict"]] = 1
        decide(w, at["verdict"], high=1)

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """h is 0 or 1 and the logits ±(h - 1/2), exactly, if twice a flaw, 2 but for errors, is above 1."""
        r = Roundoff.of(precision)
        if r is None:
            return None
        doubled = 2 - 4 * self.halves.blur(r) - 10 * (r.u + r.sums(self.columns.width))
        return certified(arb(1)) if doubled > 1 else None

    def hints(self) -> dict[str, Any]:
        """h is the machine's one cell."""
        return {"looks": self.hearing, "cells": {"found": [0]}}
