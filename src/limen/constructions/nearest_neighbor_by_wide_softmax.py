r"""Nearest neighbour by ONE softmax layer as wide as all labels: it gathers them, and finds the place.

    head 0    every label, in a column of its own place
    head 1    score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i),   value: the one-hot row of the place      (_cosines.py)

Why it works.  As recall_by_wide_softmax, where the nearest point takes the place of the key.

Two heads of size n pass on 2(n + 2)p bits, and n are needed (separate_tokens).  Two layers do with heads of
size O(log n) [bhattamishra2024].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._cosines import FAR, Cosines
from limen.constructions._gathered import GatheredChoice
from limen.constructions._margins import Roundoff
from limen.core.arrays import np
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.model.embedding import Code
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborByWideSoftmax(GatheredChoice):
    """Ties go to the leftmost; a key is a direction and what its place costs."""

    task: NearestNeighbor = NearestNeighbor()

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def n(self) -> int:
        return self.task.n

    @property
    def b(self) -> int:
        return 1

    @property
    def d_k(self) -> int:
        return self.task.D + 1

    @property
    def tables(self) -> dict[str, Array]:
        units, c1 = self.cosines.tokens(), self.cosines.c1
        tables = {"unit": units[:, :-1], "asks": c1 * units[:, :-1], "label": units[:, -1:]}
        steps = {f"late{i}": np.array([[-self.cosines.ε * i]]) for i in range(self.n)}
        return (
            tables
            | steps
            | {"one": np.ones((1, 1)), "far": np.array([[-float(FAR)]]), "c1": np.array([[c1]])}
        )

    def codes(self, place: int) -> tuple[Code, ...]:
        at, (i, label) = self.columns, divmod(place, 2)
        key, asks = at["key"].start, at["asks"].start
        far = Code("place", 1, "far", key + self.task.D)
        if i == self.n:
            return far, Code("token", 1, "asks", asks), Code("place", 1, "c1", asks + self.task.D)
        if label:
            return far, Code("token", 1, "label", at["told"].start + i)
        late = Code("place", 1, f"late{i}", key + self.task.D)
        return late, Code("token", 1, "unit", key), Code("place", 1, "one", at["where"].start + i)

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        off = None if r is None else self.cosines.off(self.cosines.gap, precision, r)
        return None if r is None or off is None else self.digits_margin(off, r)

    @classmethod
    def examples(cls) -> tuple[NearestNeighborByWideSoftmax, ...]:
        return tuple(cls(NearestNeighbor(*size)) for size in ((1, 2, 1), (2, 2, 1), (1, 2, 3), (1, 3, 1)))
