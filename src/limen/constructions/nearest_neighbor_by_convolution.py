r"""Nearest neighbour by a convolution that brings each point to its label, then one softmax head.

    first layer    a Mamba-2 block looks back by one (_convolution.py)
    second layer   the query finds the label of the nearest point (_labelled.py)

Why it works.  As nearest_neighbor_by_slots, for any number of points: a convolution over two tokens looks
back in every place, where linear attention needs a slot for each.

One Mamba-2 layer with (2g+1)^D channels in its first head and c ≥ 2, then one softmax head with keys of
size D + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._convolution import look_back, look_back_text
from limen.constructions._features import sizes_of
from limen.constructions._labelled import Labelled
from limen.constructions._program import Attend, Tier
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.mamba2 import Mamba2
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborByConvolution(Labelled):
    """All sizes of the block are those of the architecture: its norm is over all channels."""

    task: NearestNeighbor = NearestNeighbor()
    small = (
        (NearestNeighbor(1, 2, 1), {"d": 9, "h": 4}),
        NearestNeighbor(2, 2, 1),
        NearestNeighbor(1, 2, 2),
    )
    _: KW_ONLY
    h: int = 2
    d: int = 32
    s: int = 1
    c: int = 2

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> NearestNeighborByConvolution:
        return cls(task=task, **sizes_of(Mamba2, architecture, "h", "d", "s", "c"))  # type: ignore[arg-type]

    @property
    def mixer(self) -> Mamba2:
        return Mamba2(self.h, self.d, self.s, c=self.c)

    @property
    def first(self) -> Tier:
        """A label learns the point before it."""
        return Tier(
            [Attend([("labels", "back", 1)])],
            look_back_text(self.mixer, self.task.points),
            lambda w, at: look_back(w, self.mixer, at, "point", "labelled", "asks"),
            {"before": self.task.points},
        )
