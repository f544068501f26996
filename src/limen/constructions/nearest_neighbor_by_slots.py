r"""Nearest neighbour among few points by linear attention with a slot for each, then one softmax head.

    first layer    a label reads the point before it out of its pair's slot, one-hot (_slots.py)
    second layer   score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i) at labels                    value: the label

Why it works.  With its point in hand a label can be asked for directly.  The scores are those of
nearest_neighbor_by_softmax, where the gaps between cosines are counted; a label's key is a row of the table
of points, picked by the one-hot that it has read.

h·r slots hold n pairs, r the size of the keys; values of size (2g+1)^D; then one softmax head with keys of
size D + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._labelled import Labelled, Tables
from limen.constructions._slots import Slots
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.core.weights import Weights
from limen.model.embedding import Code
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborBySlots(Labelled):
    """`r` coordinates a head."""

    task: NearestNeighbor = NearestNeighbor()
    _: KW_ONLY
    r: int = 4

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> NearestNeighborBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def slots(self) -> Slots:
        return Slots(self.task.n, self.r, self.task.points)

    @property
    def first(self) -> str:
        return self.slots.text

    @property
    def own(self) -> dict[str, int]:
        return {"slot": self.r, "head": self.slots.heads}

    def laid(self) -> tuple[tuple[Code, ...], Tables]:
        at = self.columns
        return self.slots.codes(at["slot"].start, at["head"].start), self.slots.tables

    def tell(self, w: Weights) -> None:
        at = self.columns
        marks = at["slot"], at["head"], at["point"].start, at["labelled"].start
        self.slots.write(w, marks, at["id"], at["before"])
        w["0.0.Q"][at["asks"]] = w["0.0.K"][at["asks"]] = -SHUT

    def hints(self) -> dict[str, Any]:
        """A label reads its pair's slot; then the query looks at the label of the nearest point."""
        return {"looks": [[0, 0, 0, "labels", "slot", "points"], [1, 0, 0, "query", "nearest", "labels"]]}

    @classmethod
    def examples(cls) -> tuple[NearestNeighborBySlots, ...]:
        one, two = NearestNeighbor(1, 2, 1), NearestNeighbor(2, 2, 1)
        return cls(one, r=1), cls(two, r=1), cls(NearestNeighbor(1, 2, 2))
