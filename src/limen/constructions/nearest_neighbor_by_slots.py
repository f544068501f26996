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

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._fields import Field
from limen.constructions._labelled import Labelled
from limen.constructions._program import Attend, Tier
from limen.constructions._slots import Slots
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.task import Task
from limen.core.weights import Weights
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborBySlots(Labelled):
    """`r` coordinates a head."""

    task: NearestNeighbor = NearestNeighbor()
    small = (
        *((NearestNeighbor(n, 2, 1), {"r": 1}) for n in (1, 2)),
        NearestNeighbor(1, 2, 2),
    )
    _: KW_ONLY
    r: int = 4

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> NearestNeighborBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def slots(self) -> Slots:
        return Slots(self.task.n, self.r, self.task.points)

    @property
    def own(self) -> dict[str, Field]:
        return self.slots.fields

    @property
    def first(self) -> Tier:
        """A label reads its pair's slot; the query has none."""

        def write(w: Weights, at: Columns) -> None:
            self.slots.write(w, at, "point", "labelled")
            w["Q"][at["asks"]] = w["K"][at["asks"]] = -SHUT

        looks = [("labels", "slot", "points")]
        return Tier([Attend(looks)], self.slots.text, write, {"before": self.task.points})
