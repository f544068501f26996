r"""Nearest neighbours by one softmax head, where every label has been told the point before it, one-hot.

    score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i) at labels                    value: the label

The scores are those of _cosines.py; a label's key is a row of the table of points, picked by the one-hot.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from limen.constructions._cosines import Cosines
from limen.constructions._fields import ONE, PARITY, CodedPart, Stretch, apart, bits, table, tokens
from limen.constructions._margins import Roundoff, certified, lower, retrieved
from limen.constructions._program import Attend, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.arrays import np
from limen.core.numbers import Precision
from limen.tasks.nearest_neighbor import NearestNeighbor


@dataclass(frozen=True)
class Labelled(Programmed):
    """The first layer, which tells labels their points, is left open."""

    task: NearestNeighbor

    @property
    @abstractmethod
    def first(self) -> Tier:
        """The first layer: column `before` of a label becomes column `id` of the point before it."""

    @property
    def own(self) -> dict[str, CodedPart]:
        """What the first layer needs of the embedding."""
        return {}

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task)

    @property
    def program(self) -> Program:
        """The query looks at the label of the nearest point."""
        n, cosines, vocab, points = self.task.n, self.cosines, self.task.vocab, self.task.points
        id = table("id", vocab, points, lambda: np.eye(vocab, points))
        point, labelled = apart(PARITY, 1, 1)
        pairs = {"id": id, "label": cosines.label, "position": bits("place", bits_for(n), 2)}
        find = Attend(
            [("query", "nearest", "labels")],
            cosines.matches({"before": lambda: cosines.units}, "position", "point"),
            {"answer": {"label": 1}},
        )
        return Program(
            text=[
                Stretch(2 * n, {**pairs, "point": point, "labelled": labelled, **self.own}),
                tokens(1, unit=cosines.unit, asks=ONE),
            ],
            layers=[self.first, Tier([find])],
            readout="answer",
            first=("id", "unit", "position", "point", "labelled", "label", "asks"),
            groups=("id", "label", "unit", "parity", "one"),
        )

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        off = None if r is None else self.cosines.off(self.cosines.gap, precision, r)
        if r is None or off is None:
            return None
        read = retrieved(off, self.task.length, r)
        answer = 2 * min(2 * read.one - 1, 1 - 2 * read.zero, key=lower)
        return certified(answer * (1 - r.u) ** 3 - 2 * (2 * r.u + r.sums(1)))
