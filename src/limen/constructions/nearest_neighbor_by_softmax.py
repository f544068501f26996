r"""Nearest neighbour by two softmax layers: one reads where the nearest point stands, the next its label.

    layer 1   score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i)                   value: i in binary
    layer 2   score_j = c₂(Σ_b (2i_b - 1)·j_b + [j is a label])        value: the label

Why it works.  Of any two scores of layer 1 the nearer point's is higher by c₁ε, and by so much the leftmost
of equals wins (_cosines.py): nearly all weight is on the winner.  Layer 2 is the retrieval of
`eva_by_softmax` [bhattamishra2024].

The price is precision: the scores resolve 1/(n(Dg²)³), which float64 does up to about 2^45.  With
`apart=true` there is no ε, c₁ = 4·ln(16n)/task.margin, and only inputs are answered whose nearest point
beats all others by task.margin ≈ g⁻³, as in the hard distribution.  The task promises no such thing, so
`margin` is None, and `margin_given` tells what holds under that promise: at n = 4096 a gap of 10⁻⁶ in
float32 and 5·10⁻² in bfloat16.

v/|v| is not a sum over a token's digits, so the embedding is a table of all (2g+1)^D points: at most 2^20.
Width D + 2P + 4, P = ⌈log₂n⌉; one head a layer, keys of size D+1 and P+1, values of size P and 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from flint import arb

from limen.constructions._cosines import FAR, Cosines
from limen.constructions._margins import Roundoff, certified, in_balls, lower, off_mass, retrieved
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.nearest_neighbor import NearestNeighbor

C2 = 16  # the score of one matching bit, as in eva_by_softmax


@dataclass(frozen=True)
class NearestNeighborBySoftmax(Construction):
    """Two layers of one head; ties go to the leftmost, or with `apart` there are none."""

    task: NearestNeighbor = NearestNeighbor()
    _: KW_ONLY
    apart: bool = False

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task, self.apart)

    @property
    def columns(self) -> Columns:
        P = self.P
        return Columns.of(unit=self.task.D, label=1, position=P, labelled=1, asks=1, found=P, answer=1)

    def frame(self) -> Frame:
        n, D, P, at = self.cosines.task.n, self.task.D, self.P, self.columns
        token = Code("token", 1, "token", at["unit"].start)  # and the label beside it
        pairs = Segment(2 * n, (
            token,
            *binary("place", 2, P, at["position"].start),
            Code("place", 1, "parity", at["labelled"].start),
        ))  # fmt: skip
        query = Segment(1, (token, Code("place", 1, "one", at["asks"].start)))
        tables = (("token", self.task.vocab, D + 1), *binary_tables(P), ("parity", 2, 1), ("one", 1, 1))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={P},d_k={D + 1}),softmax(h=1,d=1,d_k={P + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, tables, (pairs, query)),
            readout=Binary(at["answer"].start, 1),
        )

    def weights(self) -> Weights:
        frame, at, D, P = self.frame(), self.columns, self.task.D, self.P
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.token"][: self.task.points, :D] = self.cosines.units
        w["embedding.token"][-1, D] = 1  # the last token is label 1
        w["embedding.parity"][1] = w["embedding.one"][0] = 1
        cosine, rest = slice(0, D), D
        identity(w["0.0.Q"], at["unit"], cosine, self.cosines.c1)
        w["0.0.Q"][at["asks"], rest] = self.cosines.c1
        identity(w["0.0.K"], at["unit"], cosine)
        w["0.0.K"][at["position"], rest] = self.cosines.steps
        w["0.0.K"][at["labelled"], rest] = w["0.0.K"][at["asks"], rest] = -FAR
        identity(w["0.0.V"], at["position"], slice(0, P))
        identity(w["0.0.O"], slice(0, P), at["found"])
        bits, labelled = slice(0, P), P
        identity(w["1.0.Q"], at["found"], bits, 2 * C2)
        w["1.0.Q"][at["asks"], bits] = -C2
        w["1.0.Q"][at["asks"], labelled] = C2
        identity(w["1.0.K"], at["position"], bits)
        w["1.0.K"][at["labelled"], labelled] = 1
        w["1.0.V"][at["label"], 0] = 1
        w["1.0.O"][0, at["answer"]] = 1
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        return None if self.apart else self.margin_given(self.cosines.gap, precision)

    @in_balls
    def margin_given(self, gap: float, precision: Precision) -> float | None:
        """The margin on inputs whose nearest point's cosine exceeds all others (but its equals) by `gap`.

        With `apart` it must exceed its equals, too.
        """
        r = Roundoff.of(precision)
        off = None if r is None else self.cosines.off(gap, precision, r)
        return None if r is None or off is None else self._second_layer(off, r)

    def _second_layer(self, off: arb, r: Roundoff) -> float | None:
        """The margin when layer 1 puts at most `off` of the winner's weight elsewhere."""
        n, P = self.task.n, self.P
        found = retrieved(off, 2 * n + 1, r)
        sure = min(2 * found.one - 1, 1 - 2 * found.zero, key=lower)  # |2i_b - 1|
        bit = C2 * (sure - r.u - 3 * r.sums(2))
        if not bit > 0:
            return None
        noise = C2 * (P + 1) * (3 * r.u + r.sums(P + 2)) * (1 + 2 * r.u) ** 4
        labels = off_mass(n, P, bit, noise)
        others = (2 * noise - C2).exp()  # a point beside its label, or the query, lacks the label's C2
        read = retrieved(labels + (2 + labels) * others, 2 * n + 1, r)
        answer = 2 * min(2 * read.one - 1, 1 - 2 * read.zero, key=lower)
        return certified(answer * (1 - r.u) ** 3 - 2 * (2 * r.u + r.sums(1)))

    def hints(self) -> dict[str, Any] | None:
        """The query looks at the nearest point, then at its label."""
        nearest: list[list[Any]] = [
            [0, 0, 0, "query", "nearest", "points"],
            [1, 0, 0, "query", "one", "labels"],
        ]
        return None if self.apart else {"looks": nearest}

    @classmethod
    def examples(cls) -> tuple[NearestNeighborBySoftmax, ...]:
        return tuple(cls(NearestNeighbor(*size)) for size in ((1, 2, 1), (2, 2, 1), (1, 2, 3), (1, 3, 1)))
