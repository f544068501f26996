r"""Nearest neighbour by one softmax layer and one thinking step: the first finds the point, then its label.

    q asks       score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i) at points        reads i, the pair's number
    i asks       Q = 16·(0 | T(1), T(i))                                  reads the label

Why it works.  The first question is that of nearest_neighbor_by_softmax (_cosines.py), the second that of
recall_by_chain_of_thought (_thought.py); they stand in different columns of one head.

One layer of one head, keys of size D + P + 2, values of size P + 1, P = ⌈log₂n⌉; P + 1 ReLUs; one step.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._cosines import Cosines
from limen.constructions._fields import bits
from limen.constructions._lookup import C, blur, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified, lower, retrieved
from limen.constructions._program import Program
from limen.constructions._thought import OneThought
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborByChainOfThought(OneThought):
    """Points and labels in pairs."""

    task: NearestNeighbor = NearestNeighbor()
    small = NearestNeighbor(1, 2, 1), NearestNeighbor(2, 2, 1), NearestNeighbor(1, 2, 2)

    @property
    def b(self) -> int:
        return 1

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def program(self) -> Program:
        """The query looks at the nearest point, the thought at the label of the pair."""
        cosines = self.cosines
        return self.asking(
            data={"unit": cosines.unit, "second": bits("place", 1), "fetched": cosines.label},
            query={"unit": cosines.unit},
            question=cosines.matches({"unit": 1}, "number", "second"),
            looks=[("query", "nearest", "points"), ("step1", "one", "labels")],
            groups=("unit", "label", "one", "signs"),
        )

    def margin(self, precision: Precision) -> float | None:
        n, P = self.task.length + 1, self.P
        r = roundoff(precision, C * (P + 1))
        off = None if r is None else self.cosines.off(self.cosines.gap, precision, r)
        if r is None or off is None:
            return None
        nearest = retrieved(off, n, r)
        thought = digits_margin(ball(1) - min(nearest.one, 1 - nearest.zero, key=lower) + 2 * r.u, P, r)
        then = blur(stray(n - 1, 2 * C, noise(C, P + 1, ball(0), r)), n, r)
        return certified(min(thought, digits_margin(2 * then, P, r), key=lower))
