r"""Two strings of n bits, one after the other: a softmax head brings a_i to the token of b_i.

    K_j = (T(place of j), second_j),  Q_i = -c(T̄(place of i), 1)  =>  score = -c·(Hamming distance + second_j)

Tokens of both halves are addressed by their place in their half (_words.py).  The right a_i scores 0 and
every other token at most -c, the asking one too, since it is in the second half: together they weigh
2n·e^-c of it.  c is 32 up to n = 128 and grows with log n (_lookup.py).

A ReLU then says where the two bits are at fault: `flaw` is exactly 0 or about 1, and 0 in the first half.
A second head, at the last token, looks for a flaw:

    score = c(flaw_j - second_j/2),   value second_j

The first half is the blank: n tokens of score 0 and value 0.  Without a flaw the second half weighs
e^{-c/2} of that; with one the blanks weigh n·e^{-c/2} of it.  Here c is twice as large.

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
from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import NamedTuple

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._fields import ONE, table, tokens, word
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for
from limen.constructions._words import decided, distance, verdict
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.balls import Ball, ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.tasks.disjointness import Disjointness
from limen.tasks.equality import Equality


class Flaw(NamedTuple):
    """A ReLU of the second half: ReLU(b·b_i + a·a_i - bias), its bias raised by 2 in the first half."""

    b: int
    a: int
    bias: int


DIFFERENT = Flaw(b=2, a=-2, bias=1), Flaw(b=-2, a=2, bias=1)
BOTH = (Flaw(b=2, a=2, bias=3),)


@dataclass(frozen=True)
class Halved(Programmed):
    """One head compares the halves; the second layer, which looks for a flaw, is left open."""

    task: Equality | Disjointness

    @property
    @abstractmethod
    def second(self) -> Tier:
        """The second layer makes `verdict` of the flaws."""

    @property
    def flaws(self) -> tuple[Flaw, ...]:
        """The ReLUs whose sum is 0 where the two bits are in order, and 1 where they are not."""
        return DIFFERENT if isinstance(self.task, Equality) else BOTH

    @property
    def C(self) -> int:
        """What one wrong bit of an address costs."""
        return 2 * contrast(2 * self.task.n)

    @property
    def POOL(self) -> int:
        """What a flaw is worth."""
        return 2 * self.C

    @property
    def program(self) -> Program:
        relus = (
            Relu({"bit": b, "heard": a, "second": 2}, -bias - 2, {"flaw": 1}) for b, a, bias in self.flaws
        )
        return self.compared(relus)

    def compared(self, relus: Iterable[Relu], high: int = 0) -> Program:
        """All look at the bit of the first half at their place.

        Values are as long as keys, as fast kernels like it, though only one number of them is used.
        """
        n, D, C = self.task.n, bits_for(self.task.n), self.C
        half = Match({"first": -C, "second": -C}, {"second": 1})
        hear = Attend(
            [(asker, "one", "a") for asker in ("a", "b", "last")],
            [*distance("place", "place", D, C), half],
            {"heard": {"bit": 1}},
        )
        place, bit = word("place", D), table("digit", 2, 1, lambda: np.array([[0.0], [1.0]]))
        return Program(
            text=[tokens(n, place=place, bit=bit, first=ONE), tokens(n, place=place, bit=bit, second=ONE)],
            layers=[
                Tier([hear], f"softmax(h=1,d={2 * D + 1})", fills={"flaw": 1}, relus=list(relus)),
                self.second,
            ],
            readout=verdict("verdict", high),
            first=("place", "first", "second"),
        )

    def blur(self, r: Roundoff) -> Ball:
        """How far from a_i the second half's `heard` may be."""
        return copied(2 * self.task.n * ball(-self.C).exp(), 1, r)

    def flaw(self, r: Roundoff) -> Ball | None:
        """The least flaw, where it is ReLU(2·(sum of bits) - an odd number).

        It is exactly 0 without one if the bits heard are within 1/2.  With one it is 1 but for twice the blur
        and the roundings of a sum up to 6, of the difference and of the output.
        """
        blur = self.blur(r)
        if not blur < ball(1) / 4:
            return None
        return 1 - 2 * blur - 8 * (r.u + r.sums(self.columns.width))


@dataclass(frozen=True)
class Compared(Halved):
    """The second layer is a softmax head."""

    @property
    def second(self) -> Tier:
        """The last token looks for a flaw, or else at the first half."""
        match = [Match({"second": 1}, {"flaw": self.POOL, "second": -self.POOL / 2})]
        pool = Attend([("last", "exists", "b", "a")], match, {"verdict": {"second": 1}})
        return Tier([pool], "softmax(h=1,d=1)")

    def margin(self, precision: Precision) -> float | None:
        r, n = Roundoff.of(precision), self.task.n
        flaw = None if r is None else self.flaw(r)
        if r is None or flaw is None:
            return None
        gap = self.POOL * (flaw - ball(1) / 2) * (1 - r.u) ** 2
        some = retrieved(n * (-gap).exp(), 2 * n, r)
        none = retrieved((ball(-self.POOL) / 2).exp(), 2 * n, r)
        return certified(decided(some.one, none.zero, r))


@dataclass(frozen=True)
class Weighed(Halved):
    """The second layer is linear attention; keys that are not used must be shut, so their size is known."""

    _: KW_ONLY
    d_k: int = 1

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> Weighed:
        return cls(task=task, d_k=linear_keys(architecture))  # type: ignore[arg-type]

    @property
    def second(self) -> Tier:
        """The second half looks at the flaws so far, which are all alike; the first half has none."""
        match = [Match({"first": -SHUT}, {"first": -SHUT, "second": -SHUT, "flaw": SHUT})]
        if self.d_k > 1:
            match.append(Match({"first": -SHUT, "second": -SHUT}, {}, self.d_k - 1))
        looks = [(asker, "alike", "b") for asker in ("b", "last")]
        return Tier([Attend(looks, match, {"verdict": {"flaw": 1}})], f"linear(h=1,d=1,d_k={self.d_k})")

    def margin(self, precision: Precision) -> float | None:
        """Behind an average of flaws.

        Where the bits heard are exact, a flaw is exactly 1, and so is the average.  Else each of the two sums
        is within its roundings of itself.
        """
        r = Roundoff.of(precision)
        flaw = None if r is None else self.flaw(r)
        if r is None or flaw is None:
            return None
        exact = 16 * self.blur(r) < r.u
        if r.u > r.acc and not exact:
            return None
        average = ball(1) if exact else flaw * (1 - r.u) ** 2 / (1 + r.sums(2 * self.task.n)) ** 2
        return certified(decided(average * (1 - r.u) ** 2, ball(0), r))


@dataclass(frozen=True)
class Watched(Halved):
    """The second layer is a ReLU recurrence of one bit, with its own ReLUs for the flaws."""

    @property
    def program(self) -> Program:
        """h is the machine's one cell."""
        return replace(self.compared([], high=1), more={"cells": {"found": [0]}})

    @property
    def second(self) -> Tier:
        return Tier(
            mixer=f"relu_rnn(d=1,stages=2,inner={2 + len(self.flaws)})",
            write=self._watch,
            fills={"verdict": 1},
        )

    def _watch(self, w: Weights, at: Columns) -> None:
        """Inside: h in the second half, 1 in the first, and the flaws, in the second half alone."""
        old, start = 0, 1
        w["W1"][0, old] = 1
        w["U"][at["second"], old] = 1
        w["b1"][old] = -1
        w["U"][at["second"], start] = -1
        w["b1"][start] = 1
        for i, flaw in enumerate(self.flaws, 2):
            w["U"][at["bit"], i] = 2 * flaw.b
            w["U"][at["heard"], i] = 2 * flaw.a
            w["U"][at["second"], i] = 4
            w["b1"][i] = -2 * flaw.bias - 4
        w["W2"][:, 0] = np.array([1, 1, *(-1 for _ in self.flaws)])
        w["O"][:, at["verdict"]] = 1

    def margin(self, precision: Precision) -> float | None:
        """h is 0 or 1 and the logits ±(h - 1/2), exactly, if twice a flaw, 2 but for errors, is above 1."""
        r = Roundoff.of(precision)
        if r is None:
            return None
        doubled = 2 - 4 * self.blur(r) - 10 * (r.u + r.sums(self.columns.width))
        return certified(ball(1)) if doubled > 1 else None
