r"""Recall by one softmax layer and one thinking step: the key finds its copy, the step the value after it.

    k asks       Q = 16·(T(k), T(0) | 0)         keys (T(id), T(parity) | 0)      reads i, the pair's number
    i asks       Q = 16·(0 | T(1), T(i))         keys (0 | T(parity), T(pair))    reads the value's id

Why it works.  The two questions stand in different columns, so one head does for both (_thought.py).  A
right key scores 32 more than any other token: another id or parity differs in a sign, and a token that is
no datum has the key 0.  So one softmax layer that may think needs no second one; without a thought a value
would have to know its key before (recall_by_softmax).

One layer of one head, keys of size b + P + 2, values of size b + P, b = ⌈log₂V⌉, P = ⌈log₂n⌉; b + P ReLUs;
one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fields import bits, signs
from limen.constructions._lookup import C, blur, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Match, Program
from limen.constructions._thought import OneThought
from limen.constructions._weights import bits_for
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallByChainOfThought(OneThought):
    """One key is asked for."""

    task: Recall = Recall()
    small = Recall(1, 2), Recall(2, 4), Recall(2, 7)

    def __post_init__(self) -> None:
        if self.task.q != 1:
            raise BadInput(f"recall_by_chain_of_thought: only one key can be asked for, got q={self.task.q}")

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def program(self) -> Program:
        """The asked key looks at its copy, the thought at the value of the pair."""
        id, digits = signs("token", self.b), bits("token", self.b)
        return self.asking(
            data={"id": id, "fetched": digits},
            query={"asked": id},
            question=[Match({"asked": C}, {"id": 1}), Match({"asks": -C}, {"parity": 1})],
            looks=[("query", "one", "keys"), ("step1", "one", "values")],
        )

    def margin(self, precision: Precision) -> float | None:
        """For the thought and the answer alike: signs of one question, digits kept or dropped by a ReLU."""
        n, size = self.task.length + 1, max(self.b, self.P)
        r = roundoff(precision, C * (size + 1))
        if r is None:
            return None
        off = blur(stray(n - 1, 2 * C, noise(C, size + 1, ball(0), r)), n, r)
        return certified(digits_margin(2 * off, size, r))
