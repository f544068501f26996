r"""Sparse averaging by one softmax layer, then linear attention over the query tokens only.

    first layer    each query token fetches its z (_fetched.py)
    second layer   φ(k_j) = 1 at the q query tokens and 0 elsewhere:   y = the mean of what they fetched

Why it works.  elu(-64) + 1 is exactly 0, so the memory sums up q numbers ±1 and counts to q, however long
the text is: nothing is rounded until the division.  A softmax in its place would sum up n + q weights.

One softmax head with keys of size ⌈log₂n⌉ + 1, then one linear head, φ = elu + 1 with its normaliser, of
which one coordinate is used; width 2⌈log₂n⌉ + 5.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._fetched import Fetched
from limen.constructions._margins import Roundoff, holds
from limen.constructions._program import Attend, Match, Tier
from limen.constructions._sparse_average import mean_margin
from limen.core.architecture import Architecture
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class SparseAverageBySoftmaxLinear(Fetched):
    """Keys that are not used are shut, so their size must be known."""

    task: SparseAverage = SparseAverage()
    small = (
        *(SparseAverage(*size) for size in ((1, 1), (2, 1), (3, 3), (5, 2))),
        (SparseAverage(4, 4), {"d_k": 3}),
    )
    _: KW_ONLY
    d_k: int = 1

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> SparseAverageBySoftmaxLinear:
        return cls(task=task, d_k=linear_keys(architecture))  # type: ignore[arg-type]

    @property
    def second(self) -> Tier:
        """The questions take the mean over those so far; the data are shut."""
        match = [Match({"data": -SHUT}, {"data": -SHUT})]
        if self.d_k > 1:
            match.append(Match({"asks": -SHUT, "data": -SHUT}, {}, self.d_k - 1))
        looks = [(asker, "mean", "y") for asker in ("y", "last")]
        return Tier([Attend(looks, match, {"answer": {"fetched": 1}})], f"linear(h=1,d=1,d_k={self.d_k})")

    def margin(self, precision: Precision) -> float | None:
        """The sum of q numbers near ±1, divided by q and rounded."""
        r, q = Roundoff.of(precision), self.task.q
        if r is None or not holds(precision, 2 * q, 1):
            return None
        error = self.fetching(r)
        mean = (
            error + (1 + error) * ((1 + r.u) ** 3 * (1 + r.sums(q)) - 1)
            if q & (q - 1) or error > 0
            else ball(0)
        )
        return mean_margin(mean, q, r)
