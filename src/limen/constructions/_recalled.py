r"""Recall by one softmax head, where every value has been told the key before it in digits.

    K_j = (T(id before j), +1 at values),   Q = C·(T(id), +1):   the id behind the asked key

A question that stands where a value would has been told the question before it, and questions differ: the
right value alone carries the word (T(key), +1), which scores 2C more than any other (_lookup.py).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._fields import ONE, PARITY, CodedPart, Stretch, apart, bits
from limen.constructions._lookup import blur, contrast, digits_margin, noise, roundoff, stray
from limen.constructions._margins import Roundoff, certified
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.balls import Ball, ball
from limen.core.numbers import Precision
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class Recalled(Programmed):
    """The first layer, which tells values their keys, is left open."""

    task: Recall

    @property
    @abstractmethod
    def first(self) -> Tier:
        """The first layer: `id` of the token before becomes `before`."""

    @property
    def own(self) -> dict[str, CodedPart]:
        """What the first layer needs of the embedding."""
        return {}

    def told(self, r: Roundoff) -> Ball:
        """How far from a digit is what the first layer tells."""
        return ball(0)

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def asks(self) -> tuple[str, ...]:
        """The classes of the tokens that ask: at even places, and at odd ones."""
        return ("even", "odd") if self.task.q > 1 else ("even",)

    @property
    def program(self) -> Program:
        """The questions look at the values."""
        n, C = self.task.length, contrast(self.task.length)
        key, value = apart(PARITY, 1, 1)
        find = Attend(
            [(asker, "one", "values") for asker in self.asks],
            [
                Match({"id": 2 * C, "one": -C}, {"before": 2, "one": -1}),  # digits become signs, 2x - 1
                Match({"one": C}, {"key": -1, "value": 1}),
            ],
            {"answer": {"id": 1}},
        )
        token = {"id": bits("token", self.b), "one": ONE, "key": key, "value": value, **self.own}
        return Program([Stretch(n, token)], [self.first, Tier([find])], "answer")

    def margin(self, precision: Precision) -> float | None:
        n, b, C = self.task.length, self.b, contrast(self.task.length)
        r = roundoff(precision, C * (b + 1))
        if r is None:
            return None
        off = stray(n - 1, 2 * C, noise(C, b + 1, self.told(r), r))
        return certified(digits_margin(blur(off, n, r), b, r))
