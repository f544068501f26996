r"""Sparse averaging, first layer: each query token fetches its z, ±1; what is left is to add q numbers up.

    score_j = c(Σ_b (2y_b - 1)·j_b + [j is a position])              value: z_j = ±1

The right position scores c more than any other, and c more than the query tokens, whose keys are 0; c grows
with log n, so that what is fetched is ±1 up to a rounding for every n (_lookup.py).  Each z_j asks for
itself, by the same scores: what it holds is known, too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._fields import ONE, bits, table, tokens
from limen.constructions._lookup import blur, rounded, stray, vanishing
from limen.constructions._margins import Roundoff
from limen.constructions._program import Attend, Logits, Match, Program, Programmed, Tier
from limen.constructions._sparse_average import mean_logits
from limen.constructions._weights import bits_for
from limen.core.arrays import np
from limen.core.balls import Ball, ball
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class Fetched(Programmed):
    """One softmax head; the second layer, which adds up, is left open."""

    task: SparseAverage

    @property
    @abstractmethod
    def second(self) -> Tier:
        """The second layer makes `answer`, the mean, of what was `fetched`."""

    @property
    def readout(self) -> Logits:
        return mean_logits("answer", self.task.q)

    @property
    def C(self) -> int:
        """What a wrong bit of a position costs."""
        return vanishing(self.task.length)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def program(self) -> Program:
        """Each question looks at its place, each z at itself."""
        n, q, P, c = self.task.n, self.task.q, self.P, self.C
        fetch = Attend(
            [(asker, "one", "z") for asker in ("z", "y", "last")],
            [
                Match({"y": 2 * c, "asks": -c, "position": 2 * c, "data": -c}, {"position": 1}),
                Match({"asks": c, "data": c}, {"data": 1}),
            ],
            {"fetched": {"z": 1}},
        )
        z = table("sign", 2, 1, lambda: np.array([[-1.0], [1.0]]))
        return Program(
            text=[
                tokens(n, position=bits("place", P), data=ONE, z=z),
                tokens(q, y=bits("token", P), asks=ONE),
            ],
            layers=[Tier([fetch]), self.second],
            readout=self.readout,
        )

    def fetching(self, r: Roundoff) -> Ball:
        """How far from ±1 a fetched number may be; scores are whole multiples of c, at most P + 1 of them."""
        n, c = self.task.length, self.C
        error = ball(0) if (self.P + 1) * r.u <= 1 else r.u * c * (self.P + 1)
        return rounded(blur(stray(n - 1, c, error), n, r), r)
