r"""Sparse averaging, first layer: each query token fetches its z, ±1; what is left is to add q numbers up.

    score_j = c(Σ_b (2y_b - 1)·j_b + [j is a position])              value: z_j = ±1

The right position scores c more than any other, and c more than the query tokens, whose keys are 0; c grows
with log n, so that what is fetched is ±1 up to a rounding for every n (_lookup.py).  Each z_j asks for
itself, by the same scores: what it holds is known, too.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._lookup import blur, rounded, stray, vanishing
from limen.constructions._margins import Roundoff
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class Fetched(Construction):
    """One softmax head; the second layer is left open."""

    task: SparseAverage

    @property
    def C(self) -> int:
        """What a wrong bit of a position costs."""
        return vanishing(self.task.length)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    @abstractmethod
    def second(self) -> str:
        """The second layer."""

    @abstractmethod
    def add(self, w: Weights) -> None:
        """Writes the second layer and the readout."""

    @property
    def columns(self) -> Columns:
        return Columns.of(position=self.P, data=1, z=1, y=self.P, asks=1, fetched=1, answer=1)

    def frame(self) -> Frame:
        n, q, P, at = self.task.n, self.task.q, self.P, self.columns
        z = Segment(n, (
            *binary("place", 1, P, at["position"].start),
            Code("place", 1, "one", at["data"].start),
            Code("token", 1, "sign", at["z"].start),
        ))  # fmt: skip
        y = Segment(q, (*binary("token", 1, P, at["y"].start), Code("place", 1, "one", at["asks"].start)))
        return Frame(
            Architecture.parse(f"softmax(h=1,d=1,d_k={P + 1}),{self.second}"),
            at.width,
            self.task.answers,
            Codes(at.width, (*binary_tables(P), ("one", 1, 1), ("sign", 2, 1)), (z, y)),
        )

    def weights(self) -> Weights:
        frame, at, P, c = self.frame(), self.columns, self.P, self.C
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.sign"][:, 0] = np.array([-1.0, 1.0])
        bits, data = slice(0, P), P
        for asked, asks in (("y", "asks"), ("position", "data")):
            identity(w["0.0.Q"], at[asked], bits, 2 * c)
            w["0.0.Q"][at[asks], bits] = -c
            w["0.0.Q"][at[asks], data] = c
        identity(w["0.0.K"], at["position"], bits)
        w["0.0.K"][at["data"], data] = 1
        w["0.0.V"][at["z"]] = w["0.0.O"][:, at["fetched"]] = 1
        self.add(w)
        return w

    def fetching(self, r: Roundoff) -> arb:
        """How far from ±1 a fetched number may be; scores are whole multiples of c, at most P + 1 of them."""
        n, c = self.task.length, self.C
        error = arb(0) if (self.P + 1) * r.u <= 1 else r.u * c * (self.P + 1)
        return rounded(blur(stray(n - 1, c, error), n, r), r)

    @property
    def looks(self) -> list[list[Any]]:
        """Each question looks at its place, each z at itself."""
        return [[0, 0, 0, asker, "one", "z"] for asker in ("z", "y", "last")]
