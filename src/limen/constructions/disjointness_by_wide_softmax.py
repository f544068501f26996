r"""Disjointness by ONE softmax layer as wide as the sets: the last token adds up a_i + b_i for every i.

Why it works.  a_i + b_i is 2 where both sets have i, else 0 or 1.  A ReLU for each i sees κ·y > 3ρ/2
(_gathered.py).

One head of size n passes on (n + 2)p bits, and n are needed (one_layer_cut).
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._gathered import Gathered, Watch
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.model.embedding import Code
from limen.tasks.disjointness import Disjointness


@dataclass(frozen=True)
class DisjointnessByWideSoftmax(Gathered):
    """A column for each i."""

    task: Disjointness = Disjointness()

    @property
    def columns(self) -> Columns:
        return Columns.of(told=self.task.n, heard=self.task.n, flaw=1)

    @property
    def tables(self) -> dict[str, Array]:
        return {"bit": np.array([[0.0], [1.0]])}

    def codes(self, place: int) -> tuple[Code, ...]:
        return (Code("token", 1, "bit", place % self.task.n),)

    @property
    def units(self) -> list[Watch]:
        flaw, heard = self.columns["flaw"].start, self.columns["heard"]
        return [Watch({c: self.κ}, -1.5 * self.ρ, flaw, 2) for c in range(heard.start, heard.stop)]

    def margin(self, precision: Precision) -> float | None:
        return self.flawed(3.5, 2, 1, 0.5, precision)

    @classmethod
    def examples(cls) -> tuple[DisjointnessByWideSoftmax, ...]:
        return tuple(cls(Disjointness(n)) for n in (1, 2, 3, 5))
