r"""Nearest neighbour by one softmax layer and one thought: the query finds the point, the thought its label.

    q asks       score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i) at points        reads i, the pair's number
    i asks       Q = 16·(0 | T(1), T(i))                                  reads the label

Why it works.  The first question is that of nearest_neighbor_by_softmax (_cosines.py), the second that of
recall_by_chain_of_thought (_thought.py); they stand in different columns of one head.

One layer of one head, keys of size D + P + 2, values of size P + 1, P = ⌈log₂n⌉; P + 1 ReLUs; one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._cosines import FAR, Cosines
from limen.constructions._lookup import C, blur, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified, in_balls, lower, retrieved
from limen.constructions._thought import OneThought
from limen.constructions._weights import binary_tables, identity
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborByChainOfThought(OneThought):
    """Points and labels in pairs."""

    task: NearestNeighbor = NearestNeighbor()

    @property
    def b(self) -> int:
        return 1

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def columns(self) -> Columns:
        return self.laid(unit=self.task.D, second=1)

    def frame(self) -> Frame:
        at, D, P, n = self.columns, self.task.D, self.P, self.task.n
        unit = Code("token", 1, "unit", at["unit"].start)
        second = Code("place", 1, "bits1", at["second"].start)
        data = (unit, second, Code("token", 1, "label", at["fetched"].start), *self.pairs())
        asks = (unit, Code("place", 1, "one", at["asks"].start))
        own = ("unit", self.task.vocab, D), ("label", self.task.vocab, 1), ("one", 1, 1)
        tables = dict.fromkeys((*own, *binary_tables(P, 1, table="signs"), *binary_tables(P, 1)))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={P + 1},d_k={D + P + 2})"),
            at.width,
            1 << P,
            Codes(
                at.width, tuple(tables), (Segment(2 * n, data), Segment(1, asks), Segment(1, self.thought()))
            ),
            (self.relus,),
            readout=Binary(at["token"].start, P),
        )

    def weights(self) -> Weights:
        w, at, D, c1 = self.begun(), self.columns, self.task.D, self.cosines.c1
        w["embedding.unit"][: self.task.points] = self.cosines.units
        w["embedding.label"][-1] = 1
        K, Q = w["0.0.K"], w["0.0.Q"]
        identity(K, at["unit"], slice(0, D))
        identity(Q, at["unit"], slice(0, D), c1)
        K[at["number"], D] = self.cosines.steps
        K[at["second"], D] = K[at["asks"], D] = -FAR
        Q[at["asks"], D] = c1
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        n, P = self.task.length + 1, self.P
        r = roundoff(precision, P + 1)
        off = None if r is None else self.cosines.off(self.cosines.gap, precision, r)
        if r is None or off is None:
            return None
        found = retrieved(off, n, r)
        thought = digits_margin(arb(1) - min(found.one, 1 - found.zero, key=lower) + 2 * r.u, P, r)
        then = blur(stray(n - 1, 2 * C, noise(P + 1, arb(0), r)), n, r)
        return certified(min(thought, digits_margin(2 * then, P, r), key=lower))

    def hints(self) -> dict[str, Any]:
        """The query looks at the nearest point, the thought at the label of the pair."""
        return {"looks": [[0, 0, 0, "query", "nearest", "points"], [0, 0, 0, "step1", "one", "labels"]]}

    @classmethod
    def examples(cls) -> tuple[NearestNeighborByChainOfThought, ...]:
        return cls(NearestNeighbor(1, 2, 1)), cls(NearestNeighbor(2, 2, 1)), cls(NearestNeighbor(1, 2, 2))
