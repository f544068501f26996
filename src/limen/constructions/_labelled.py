r"""Nearest neighbours by one softmax head, where every label has been told the point before it, one-hot.

    score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i) at labels                    value: the label

The scores are those of _cosines.py; a label's key is a row of the table of points, picked by the one-hot.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._cosines import FAR, Cosines
from limen.constructions._margins import Roundoff, certified, in_balls, lower, retrieved
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.nearest_neighbor import NearestNeighbor

Tables = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Labelled(Construction):
    """The first layer, which tells labels their points, is left open."""

    task: NearestNeighbor

    @property
    @abstractmethod
    def first(self) -> str:
        """The first layer."""

    @abstractmethod
    def tell(self, w: Weights) -> None:
        """Its weights: column `before` of a label becomes column `id` of the point before it."""

    @property
    def own(self) -> dict[str, int]:
        """Columns that the first layer needs."""
        return {}

    def laid(self) -> tuple[tuple[Code, ...], Tables]:
        """Codes of the pairs that the first layer needs, and their tables."""
        return (), ()

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def columns(self) -> Columns:
        P, points = bits_for(self.task.n), self.task.points
        mine = {"unit": self.task.D, "position": P, "point": 1, "labelled": 1, "label": 1, "asks": 1}
        return Columns.of(id=points, **mine, **self.own, before=points, answer=1)

    def frame(self) -> Frame:
        n, D, P, at = self.task.n, self.task.D, bits_for(self.task.n), self.columns
        codes, tables = self.laid()
        pairs = Segment(2 * n, (
            Code("token", 1, "id", at["id"].start),
            Code("token", 1, "label", at["label"].start),
            *binary("place", 2, P, at["position"].start),
            Code("place", 1, "parity", at["point"].start),
            *codes,
        ))  # fmt: skip
        query = Code("token", 1, "unit", at["unit"].start), Code("place", 1, "one", at["asks"].start)
        vocab, points = self.task.vocab, self.task.points
        own = ("id", vocab, points), ("label", vocab, 1), ("unit", vocab, D), ("parity", 2, 2), ("one", 1, 1)
        return Frame(
            Architecture.parse(f"{self.first},softmax(h=1,d=1,d_k={D + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, (*own, *binary_tables(P), *tables), (pairs, Segment(1, query))),
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
        self.tell(w)
        w["1.0.K"][at["before"], :D] = self.cosines.units
        w["1.0.K"][at["position"], D] = self.cosines.steps
        w["1.0.K"][[at["point"].start, at["asks"].start], D] = -FAR
        w["1.0.Q"][at["unit"], :D] = self.cosines.c1 * np.eye(D)
        w["1.0.Q"][at["asks"], D] = self.cosines.c1
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
        return certified(answer * (1 - r.u) ** 3 - 2 * (2 * r.u + r.sums(1)))
