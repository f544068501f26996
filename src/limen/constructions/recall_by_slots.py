r"""Recall of few pairs by linear attention with a slot for each pair, then one softmax head.

    first layer    a value reads the key before it out of its pair's slot, bit by bit (_slots.py)
    second layer   K_j = (T(key of j), +1 at values),   Q = 16·(T(id), +1):   the id behind the asked key

Why it works.  A value must know its key before the only softmax layer: behind it n·log₂V bits would have to
pass the memory.  Linear attention cannot look back by one in a long text, since what it has added up it
cannot take away; but with a coordinate for each pair nothing has to be taken away.  The second layer is
that of recall_by_softmax.

The questions own slots, too: one that stands where a value would has read the one before it, and questions
differ.

h·r slots hold n + ⌈q/2⌉ pairs, r the size of the keys; values of size b = ⌈log₂V⌉; then one softmax head
with keys of size b + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._features import linear_keys
from limen.constructions._fields import Field
from limen.constructions._program import Attend, Tier
from limen.constructions._recalled import Recalled
from limen.constructions._slots import Slots
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallBySlots(Recalled):
    """`r` coordinates a head."""

    task: Recall = Recall()
    small = (Recall(1, 2), {"r": 1}), (Recall(2, 7), {"r": 1}), (Recall(2, 5, q=2), {"r": 2})
    _: KW_ONLY
    r: int = 4

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> RecallBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def slots(self) -> Slots:
        return Slots(-(-self.task.length // 2), self.r, self.b)

    @property
    def own(self) -> dict[str, Field]:
        return self.slots.fields

    @property
    def first(self) -> Tier:
        """A value reads its pair's slot."""
        looks = [(asker, "slot", "evens") for asker in ("values", *self.asks[1:])]
        return Tier(
            [Attend(looks)],
            self.slots.text,
            lambda w, at: self.slots.write(w, at, "key", "value"),
            {"before": self.b},
        )
