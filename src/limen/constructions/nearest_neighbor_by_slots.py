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

import numpy as np
from flint import arb

from limen.constructions._columns import Columns
from limen.constructions._cosines import FAR, Cosines
from limen.constructions._features import SHUT, linear_keys
from limen.constructions._margins import Roundoff, certified, in_balls, lower, retrieved
from limen.constructions._slots import Slots
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, zeros
from limen.core.architecture import Architecture
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class NearestNeighborBySlots(Construction):
    """`r` coordinates a head."""

    task: NearestNeighbor = NearestNeighbor()
    _: KW_ONLY
    r: int = 4

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> NearestNeighborBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def slots(self) -> Slots:
        return Slots(self.task.n, self.r, self.task.points)

    @property
    def columns(self) -> Columns:
        P, points = bits_for(self.task.n), self.task.points
        mine = {"unit": self.task.D, "position": P, "point": 1, "labelled": 1, "label": 1, "asks": 1}
        return Columns.of(id=points, **mine, slot=self.r, head=self.slots.heads, before=points, answer=1)

    def frame(self) -> Frame:
        n, D, P, at = self.task.n, self.task.D, bits_for(self.task.n), self.columns
        pairs = Segment(2 * n, (
            Code("token", 1, "id", at["id"].start),
            Code("token", 1, "label", at["label"].start),
            *binary("place", 2, P, at["position"].start),
            Code("place", 1, "parity", at["point"].start),
            *self.slots.codes(at["slot"].start, at["head"].start),
        ))  # fmt: skip
        query = Segment(
            1, (Code("token", 1, "unit", at["unit"].start), Code("place", 1, "one", at["asks"].start))
        )
        vocab, points = self.task.vocab, self.task.points
        own = ("id", vocab, points), ("label", vocab, 1), ("unit", vocab, D), ("parity", 2, 2), ("one", 1, 1)
        return Frame(
            Architecture.parse(f"{self.slots.text},softmax(h=1,d=1,d_k={D + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, (*own, *binary_tables(P), *self.slots.tables), (pairs, query)),
            readout=Binary(at["answer"].start, 1),
        )

    def weights(self) -> Weights:
        frame, at, D, points = self.frame(), self.columns, self.task.D, self.task.points
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.id"][:points] = np.eye(points)
        w["embedding.unit"][:points] = self.cosines.units
        w["embedding.label"][-1] = w["embedding.one"][:] = 1
        w["embedding.parity"][0, 0] = w["embedding.parity"][1, 1] = 1
        point, label, asks = at["point"].start, at["labelled"].start, at["asks"].start
        self.slots.write(w, (at["slot"], at["head"], point, label), at["id"], at["before"])
        w["0.0.Q"][asks] = w["0.0.K"][asks] = -SHUT
        c1 = self.cosines.c1
        w["1.0.K"][at["before"], :D] = self.cosines.units
        w["1.0.K"][at["position"], D] = self.cosines.steps
        w["1.0.K"][[point, asks], D] = -FAR
        w["1.0.Q"][at["unit"], :D] = c1 * np.eye(D)
        w["1.0.Q"][asks, D] = c1
        w["1.0.V"][at["label"]] = w["1.0.O"][:, at["answer"]] = 1
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        off = None if r is None else self.cosines.off(self.cosines.gap, precision, r)
        if r is None or off is None:
            return None
        read = retrieved(off, self.task.length, r)
        answer = 2 * min(2 * read.one - 1, 1 - 2 * read.zero, key=lower)
        return certified(answer * (1 - r.u) ** 3 - 2 * (2 * r.u + r.sums(1)) * arb(1))

    def hints(self) -> dict[str, Any]:
        """A label reads its pair's slot; then the query looks at the label of the nearest point."""
        return {"looks": [[0, 0, 0, "labels", "slot", "points"], [1, 0, 0, "query", "nearest", "labels"]]}

    @classmethod
    def examples(cls) -> tuple[NearestNeighborBySlots, ...]:
        return (
            cls(NearestNeighbor(1, 2, 1), r=1),
            cls(NearestNeighbor(2, 2, 1), r=1),
            cls(NearestNeighbor(1, 2, 3)),
        )
