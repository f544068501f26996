r"""Retrieval by the head on the source's slide: keys and queries are both scaled by log²n.

    K_i = log²n·(a_i, 1-a_i),   Q = log²n·(a, 1-a),   V_i = b_i,       a in {0,1}^D,  log the natural one

    ⟨Q, K_i⟩ = log⁴n·(D - Hamming distance of a_i and a)

Why it works.  The token whose key is a scores log⁴n more than any other, so it weighs at least
e^(log²n)/(e^(log²n) + n - 1) and each other one at most n^(-log n): both bounds of the slide hold once
log n ≥ 1.  The slide writes ⟨Q, K_i⟩ = log²n·D, though both factors carry log²n: a slip to the safe side.
Short texts have small gaps, 0.2 for n = 2; scores are no whole numbers and have to be rounded
(retrieval_by_softmax: a gap of 2C, exact).

Width 4D + 2b, one head with keys of size 2D and values of size b = ⌈log₂V⌉ [ye2026].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from limen.constructions._fields import table, tokens, word
from limen.constructions._lookup import blur, digits_margin, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.tasks.retrieval import Retrieval


@dataclass(frozen=True)
class RetrievalByLogSquared(Programmed):
    """One layer, one head."""

    task: Retrieval = Retrieval(4, 2, 2)
    small = Retrieval(4, 2, 2), Retrieval(4, 3, 2), Retrieval(5, 3, 1)

    def __post_init__(self) -> None:
        if self.task.absent:
            raise BadInput("the slide's head has no answer for a key that is absent: absent must be false")

    @property
    def scale(self) -> float:
        """log²n."""
        return math.log(self.task.n) ** 2

    @property
    def program(self) -> Program:
        """The asking token looks for the entry."""
        n, D, V, b = self.task.n, self.task.D, self.task.V, bits_for(self.task.answers)
        value = table("value", V, b, lambda: digits(b)[:V])
        match = [Match({"query": self.scale}, {"key": self.scale})]
        return Program(
            text=[tokens(n, key=word("token", D, V), value=value), tokens(1, query=word("token", D))],
            layers=[Tier([Attend([("query", "one", "pairs")], match, {"answer": {"value": 1}})])],
            readout="answer",
        )

    def margin(self, precision: Precision) -> float | None:
        """Each of a score's D products is off by the roundings of its factors and of the sum."""
        n, D, gap = self.task.n, self.task.D, ball(self.scale) ** 2
        r = roundoff(precision, math.ceil(self.scale**2 * D) + 1)
        if r is None:
            return None
        noise = D * gap * ((1 + r.u) ** 5 * (1 + r.sums(2 * D)) - 1)
        off = (n - 1) * (2 * noise - gap).exp() + stray(1, 0, noise) * (-D * gap).exp()
        return certified(digits_margin(blur(off, n + 1, r), bits_for(self.task.answers), r))
