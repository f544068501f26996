r"""Nearest neighbour by two softmax layers: the first finds the nearest point, the second reads its label.

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

from limen.constructions._cosines import Cosines
from limen.constructions._fields import ONE, apart, bits, table, tokens
from limen.constructions._margins import Roundoff, certified, lower, off_mass, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.arrays import np
from limen.core.balls import Ball
from limen.core.numbers import Precision
from limen.tasks.nearest_neighbor import NearestNeighbor

C2 = 16  # the score of one matching bit, as in eva_by_softmax


@dataclass(frozen=True)
class NearestNeighborBySoftmax(Programmed):
    """Two layers of one head; ties go to the leftmost, or with `apart` there are none."""

    task: NearestNeighbor = NearestNeighbor()
    small = tuple(NearestNeighbor(*size) for size in ((1, 2, 1), (2, 2, 1), (1, 2, 3), (1, 3, 1)))
    _: KW_ONLY
    apart: bool = False

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def cosines(self) -> Cosines:
        return Cosines(self.task, self.apart)

    @property
    def program(self) -> Program:
        """The query looks at the nearest point, then at the label of its pair."""
        n, D, P, cosines = self.task.n, self.task.D, self.P, self.cosines
        unit, label = apart(table("token", self.task.vocab, D + 1, cosines.tokens), D, 1)
        odd = table("parity", 2, 1, lambda: np.array([[0.0], [1.0]]), "place")
        nearest = Attend(
            [("query", "nearest", "points")],
            cosines.matches({"unit": 1}, "position", "labelled"),
            {"found": {"position": 1}},
        )
        fetch = Attend(
            [("query", "one", "labels")],
            [
                Match({"found": 2 * C2, "asks": -C2}, {"position": 1}),
                Match({"asks": C2}, {"labelled": 1}),
            ],
            {"answer": {"label": 1}},
        )
        return Program(
            text=[
                tokens(2 * n, unit=unit, label=label, position=bits("place", P, 2), labelled=odd),
                tokens(1, unit=unit, asks=ONE),
            ],
            layers=[Tier([nearest]), Tier([fetch])],
            readout="answer",
        )

    def margin(self, precision: Precision) -> float | None:
        return None if self.apart else self.margin_given(self.cosines.gap, precision)

    def margin_given(self, gap: float, precision: Precision) -> float | None:
        """The margin on inputs whose nearest point's cosine exceeds all others (but its equals) by `gap`.

        With `apart` it must exceed its equals, too.
        """
        r = Roundoff.of(precision)
        off = None if r is None else self.cosines.off(gap, precision, r)
        return None if r is None or off is None else self._second_layer(off, r)

    def _second_layer(self, off: Ball, r: Roundoff) -> float | None:
        """The margin when layer 1 puts at most `off` of the winner's weight elsewhere."""
        n, P = self.task.n, self.P
        winner = retrieved(off, 2 * n + 1, r)
        sure = min(2 * winner.one - 1, 1 - 2 * winner.zero, key=lower)  # |2i_b - 1|
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
        return None if self.apart else super().hints()
