r"""Two strings of n bits, one after the other: a softmax head brings a_i to the token of b_i.

    K_j = (T(place of j), second_j),  Q_i = -c(T̄(place of i), 1)  =>  score = -c·(Hamming distance + second_j)

Tokens of both halves are addressed by their place in their half (_words.py).  The right a_i scores 0 and
every other token at most -c, the asking one too, since it is in the second half: together they weigh 2n·e^-c
of it.  c is 32 up to n = 128 and grows with log n (_lookup.py).

A ReLU then says where the two bits are at fault: `flaw` is exactly 0 or about 1, and 0 in the first half.  A
second head, at the last token, looks for a flaw:

    score = c(flaw_j - second_j/2),   value second_j

The first half is the blank: n tokens of score 0 and value 0.  Without a flaw the second half weighs e^{-c/2}
of that; with one the blanks weigh n·e^{-c/2} of it.  Here c is twice as large.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

from flint import arb

from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, in_balls, retrieved
from limen.constructions._weights import bits_for, identity, zeros
from limen.constructions._words import decide, decided, fill_words, oppose, word, word_tables
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class Halves:
    """The layout of the two strings and the head that compares them."""

    n: int

    @property
    def D(self) -> int:
        return bits_for(self.n)

    @property
    def C(self) -> int:
        """What one wrong bit of an address costs."""
        return 2 * contrast(2 * self.n)

    @property
    def POOL(self) -> int:
        """What a flaw is worth."""
        return 2 * self.C

    @property
    def head(self) -> str:
        """Values are as long as keys, as fast kernels like it, though only one number of them is used."""
        return f"softmax(h=1,d={2 * self.D + 1})"

    @property
    def columns(self) -> Columns:
        """`heard` is written by the first layer's head, `flaw` by its ReLU, `verdict` by the second layer."""
        return Columns.of(place=2 * self.D, second=1, bit=1, heard=1, flaw=1, verdict=1)

    @property
    def embedding(self) -> Codes:
        at = self.columns
        a = (*word("place", self.D, at["place"].start), Code("token", 1, "digit", at["bit"].start))
        b = (*a, Code("place", 1, "one", at["second"].start))
        tables = (*word_tables(self.D), ("digit", 2, 1), ("one", 1, 1))
        return Codes(at.width, tables, (Segment(self.n, a), Segment(self.n, b)))

    def fill(self, w: Weights, frame: Frame) -> None:
        """The embedding and the head."""
        at, address, half = self.columns, slice(0, 2 * self.D), 2 * self.D
        fill_words(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.digit"][1] = 1
        identity(w["0.0.K"], at["place"], address)
        oppose(w["0.0.Q"], at["place"], address, -self.C)
        w["0.0.K"][at["second"], half] = 1
        w["0.0.Q"][at["second"], half] = -self.C
        w["0.0.V"][at["bit"], 0] = 1
        w["0.0.O"][0, at["heard"]] = 1

    def pool(self, w: Weights) -> None:
        """The second head."""
        at = self.columns
        w["1.0.K"][at["flaw"]] = self.POOL
        w["1.0.K"][at["second"]] = -self.POOL / 2
        w["1.0.Q"][at["second"]] = 1
        w["1.0.V"][at["second"]] = 1
        w["1.0.O"][:, at["verdict"]] = 1

    def blur(self, r: Roundoff) -> arb:
        """How far from a_i the second half's `heard` may be."""
        return copied(2 * self.n * arb(-self.C).exp(), 1, r)

    def pooled(self, r: Roundoff) -> arb | None:
        """How far apart the logits are, where a flaw is ReLU(2·(sum of bits) - an odd number).

        It is exactly 0 without one if the bits heard are within 1/2.  With one it is 1 but for twice the blur
        and the roundings of a sum up to 6, of the difference and of the output.
        """
        blur = self.blur(r)
        if not blur < arb(1) / 4:
            return None
        flaw = 1 - 2 * blur - 8 * (r.u + r.sums(self.columns.width))
        gap = self.POOL * (flaw - arb(1) / 2) * (1 - r.u) ** 2
        found = retrieved(self.n * (-gap).exp(), 2 * self.n, r)
        none = retrieved((arb(-self.POOL) / 2).exp(), 2 * self.n, r)
        return decided(found.one, none.zero, r)


class Flaw(NamedTuple):
    """A ReLU of the second half: ReLU(b·b_i + a·a_i - bias), its bias raised by 2 in the first half."""

    b: int
    a: int
    bias: int


@dataclass(frozen=True)
class Compared(Construction):
    """Two layers, one head each: the first compares the halves, the second looks for a flaw."""

    task: Equality | Disjointness

    @property
    @abstractmethod
    def flaws(self) -> tuple[Flaw, ...]:
        """The ReLUs whose sum is 0 where the two bits are in order, and 1 where they are not."""

    @property
    def halves(self) -> Halves:
        return Halves(self.task.n)

    @property
    def columns(self) -> Columns:
        return self.halves.columns

    def frame(self) -> Frame:
        return Frame(
            Architecture.parse(f"{self.halves.head},softmax(h=1,d=1)"),
            self.columns.width,
            self.task.answers,
            self.halves.embedding,
            (Mlp(len(self.flaws)), None),
        )

    def weights(self) -> Weights:
        frame, at = self.frame(), self.columns
        w = zeros(frame)
        self.halves.fill(w, frame)
        for i, flaw in enumerate(self.flaws):
            w["0.local.W1"][at["bit"], i] = flaw.b
            w["0.local.W1"][at["heard"], i] = flaw.a
            w["0.local.W1"][at["second"], i] = 2
            w["0.local.b1"][i] = -flaw.bias - 2
        w["0.local.W2"][:, at["flaw"]] = 1
        self.halves.pool(w)
        decide(w, at["verdict"], high=0)
        return w

    def hints(self) -> dict[str, Any]:
        """All look at the bit of the first half at their place; the last token looks for a flaw."""
        heard: list[list[Any]] = [[0, 0, 0, asker, "one", "a"] for asker in ("a", "b", "last")]
        return {"looks": [*heard, [1, 0, 0, "last", "exists", "b", "a"]]}

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        apart = None if r is None else self.halves.pooled(r)
        return None if apart is None else certified(apart)
