r"""Sparse averaging by two softmax layers: each query token fetches its z, then the last one averages them.

    layer 1   score_j = c(Σ_b (2y_b - 1)·j_b + [j is a position])        value: z_j = ±1
    layer 2   score_i = 32·[i is a query token]                          value: what it fetched

Why it works.  In this task the q positions are tokens of their own, so each can ask for itself; layer 1 is
the retrieval of `eva_by_softmax`, and the mean over the query tokens needs no code at all.  Where one token
holds all of y, one query vector must stand for the set [sanford2023]: `sparse_average_by_random_keys` and
`sparse_average_by_polytope`.

Width 2P + 5, P = ⌈log₂n⌉, whatever q; two layers of one head, keys of size P+1 and 1.  Logits are as large
as q² and 1 apart: t significant bits reach about q = 2^{t/2 - 1}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from flint import arb

from limen.constructions._fetched import Fetched
from limen.constructions._margins import Roundoff, in_balls, off_mass
from limen.constructions._sparse_average import FLAG, mean_error, mean_margin, read_mean
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class SparseAverageBySoftmax(Fetched):
    """Two layers of one head."""

    task: SparseAverage = SparseAverage()
    C: ClassVar[int] = 16  # the score of one matching bit, as in eva_by_softmax

    @property
    def second(self) -> str:
        return "softmax(h=1,d=1)"

    def add(self, w: Weights) -> None:
        at = self.columns
        w["1.0.Q"][at["asks"]] = FLAG
        w["1.0.K"][at["asks"]] = w["1.0.V"][at["fetched"]] = w["1.0.O"][:, at["answer"]] = 1
        read_mean(w, self.task.q, at["answer"])

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r, n, q, P = Roundoff.of(precision), self.task.n, self.task.q, self.P
        if r is None:
            return None
        # scores are C·k with |k| ≤ P + 1, exact when that fits in t bits
        noise = arb(0) if (P + 1) * r.u <= 1 else r.u * self.C * (P + 1)
        off = off_mass(n, P, arb(self.C), noise) + q * (2 * noise - self.C).exp()  # query tokens have key 0
        fetched = mean_error(off, arb(0), n + q, r)
        mean = mean_error(n * arb(-FLAG).exp() / q, arb(0), n + q, r)
        return mean_margin(fetched + mean * (1 + fetched), q, r)

    def hints(self) -> dict[str, Any]:
        """The last one looks at all questions alike."""
        return {"looks": [*self.looks, [1, 0, 0, "last", "share", "y"]]}

    @classmethod
    def examples(cls) -> tuple[SparseAverageBySoftmax, ...]:
        return tuple(cls(SparseAverage(*size)) for size in ((1, 1), (2, 1), (3, 3), (5, 2), (6, 3), (4, 4)))
