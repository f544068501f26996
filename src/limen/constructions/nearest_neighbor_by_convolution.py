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

from limen.constructions._convolution import LooksBack, look_back, look_back_text
from limen.constructions._labelled import Labelled
from limen.constructions._program import Attend, Tier
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborByConvolution(Labelled, LooksBack):
    """The block must hold a one-hot of the points."""

    task: NearestNeighbor = NearestNeighbor()
    small = (
        (NearestNeighbor(1, 2, 1), {"d": 9, "h": 4}),
        NearestNeighbor(2, 2, 1),
        NearestNeighbor(1, 2, 2),
    )
    _: KW_ONLY
    d: int = 32

    @property
    def first(self) -> Tier:
        """A label learns the point before it."""
        return Tier(
            [Attend([("labels", "back", 1)])],
            look_back_text(self.mixer, self.task.points),
            lambda w, at: look_back(w, self.mixer, at, "point", "labelled", "asks"),
            {"before": self.task.points},
        )
