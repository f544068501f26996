r"""Sparse averaging by two softmax layers: each query token fetches its z, then the last one averages them.

    layer 1   score_j = c(Σ_b (2y_b - 1)·j_b + [j is a position])        value: z_j = ±1
    layer 2   score_i = c·[i is a query token]                           value: what it fetched

Why it works.  In this task the q positions are tokens of their own, so each can ask for itself; layer 1 is
the retrieval of `eva_by_softmax`, and the mean over the query tokens needs no code at all.  c grows with
log n, so n tokens weigh nothing beside the q: certified for q = 2 to n = 2^62 in bfloat16 and float32, 2^255
in float64 (_lookup.py).  Where one token holds all of y, one query vector must stand for the set
[sanford2023]: `sparse_average_by_random_keys` and `sparse_average_by_polytope`.

Width 2P + 5, P = ⌈log₂n⌉, whatever q; two layers of one head, keys of size P+1 and 1.  Logits are as large
as q² and 1 apart: t significant bits reach about q = 2^{t/2 - 1}.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fetched import Fetched
from limen.constructions._lookup import blur, roundoff, stray
from limen.constructions._program import Attend, Match, Tier
from limen.constructions._sparse_average import mean_error, mean_margin
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class SparseAverageBySoftmax(Fetched):
    """Two layers of one head."""

    task: SparseAverage = SparseAverage()
    small = tuple(SparseAverage(*size) for size in ((1, 1), (2, 1), (3, 3), (5, 2), (6, 3), (4, 4)))

    @property
    def second(self) -> Tier:
        """The last one looks at all questions alike."""
        match = [Match({"asks": self.C}, {"asks": 1})]
        return Tier([Attend([("last", "share", "y")], match, {"answer": {"fetched": 1}})], "softmax(h=1,d=1)")

    def margin(self, precision: Precision) -> float | None:
        q, r = self.task.q, roundoff(precision, self.C * (self.P + 1))
        if r is None:
            return None
        fetched = self.fetching(r)
        others = blur(stray(self.task.n, self.C, ball(0)), self.task.length, r)
        mean = mean_error(others, ball(0), q, r)  # of q numbers: what the others change stands in `others`
        return mean_margin(fetched + mean * (1 + fetched), q, r)
