r"""Nearest neighbour by two softmax layers: the first finds the nearest point, the second reads its label.

    layer 1   score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i)                   value: i in binary
    layer 2   score_j = c₂(Σ_b (2i_b - 1)·j_b + [j is a label])        value: the label

Why it works.  Two cosines of lattice points are equal or at least 1/(2(Dg²)³) apart: of like sign, their
squares are fractions that differ by 1/(|q|²|v|²|w|²) at least, and their sum is at most 2; of unlike sign
they are further apart.  A power of two ε ≤ this/(n+1) lets the leftmost win a tie and turns no other order:
any two scores differ by c₁ε, and c₁ = 4·ln(16n)/ε, rounded up to a power of two, puts nearly all weight on
the winner.  Layer 2 is the retrieval of `eva_by_softmax` [bhattamishra2024].

The price is precision: the scores resolve 1/(n(Dg²)³), which float64 does up to about 2^45.  With
`apart=true` there is no ε, c₁ = 4·ln(16n)/task.margin, and only inputs are answered whose nearest point
beats all others by task.margin ≈ g⁻³, as in the hard distribution.  The task promises no such thing, so
`margin` is None, and `margin_given` tells what holds under that promise: at n = 4096 a gap of 10⁻⁶ in
float32 and 5·10⁻² in bfloat16.

v/|v| is not a sum over a token's digits, so the embedding is a table of all (2g+1)^D points: at most 2^20.
Width D + 2P + 4, P = ⌈log₂n⌉; one head a layer, keys of size D+1 and P+1, values of size P and 1.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass

from flint import arb

from limen.constructions._margins import Roundoff, certified, in_balls, lower, off_mass, retrieved
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.errors import BadInput
from limen.core.numbers import Float, Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.nearest_neighbor import NearestNeighbor

C2 = 16  # the score of one matching bit, as in eva_by_softmax
FAR = 8  # what labels and the query itself lose: no point's cosine is as low as 1 - FAR, even with errors
MOST = 2**20  # rows of the table of points


@dataclass(frozen=True)
class NearestNeighborBySoftmax(Construction):
    """Two layers of one head; ties go to the leftmost, or with `apart` there are none."""

    task: NearestNeighbor = NearestNeighbor()
    _: KW_ONLY
    apart: bool = False

    def __post_init__(self) -> None:
        if self.task.points > MOST:
            raise BadInput(
                f"nearest_neighbor_by_softmax: a table of all (2g+1)^D = {self.task.points} points is too "
                f"large, at most {MOST} fit"
            )

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def gap(self) -> float:
        """Cosines are at least so far apart, or equal."""
        return self.task.margin if self.apart else 1 / (2 * (self.task.D * self.task.g**2) ** 3)

    @property
    def ε(self) -> float:
        """What one step to the right costs: n+1 steps cost at most the gap."""
        return 0.0 if self.apart else math.ldexp(1, math.frexp(self.gap / (self.task.n + 1))[1] - 1)

    @property
    def c1(self) -> float:
        return math.ldexp(1, math.frexp(4 * math.log(16 * self.task.n) / (self.ε or self.gap))[1])

    @property
    def columns(self) -> Columns:
        P = self.P
        return Columns.of(unit=self.task.D, label=1, position=P, labelled=1, asks=1, found=P, answer=1)

    def frame(self) -> Frame:
        n, D, P, at = self.task.n, self.task.D, self.P, self.columns
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
        v = self.task.vector(np.arange(self.task.points)).astype(np.float64)  # (points, D)
        w["embedding.token"][: self.task.points, :D] = v / np.sqrt(
            np.square(v).sum(-1, keepdims=True).clip(1)
        )
        w["embedding.token"][-1, D] = 1  # the last token is label 1
        w["embedding.parity"][1] = w["embedding.one"][0] = 1
        cosine, rest = slice(0, D), D
        identity(w["0.0.Q"], at["unit"], cosine, self.c1)
        w["0.0.Q"][at["asks"], rest] = self.c1
        identity(w["0.0.K"], at["unit"], cosine)
        w["0.0.K"][at["position"], rest] = -self.ε * 2.0 ** np.arange(P)
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
        return None if self.apart else self.margin_given(self.gap, precision)

    @in_balls
    def margin_given(self, gap: float, precision: Precision) -> float | None:
        """The margin on inputs whose nearest point's cosine exceeds all others (but its equals) by `gap`.

        With `apart` it must exceed its equals, too.
        """
        r, n, D, P = Roundoff.of(precision), self.task.n, self.task.D, self.P
        if r is None or (isinstance(precision, Float) and 2 * FAR * self.c1 > precision.largest):
            return None
        c1, ε = arb(self.c1), arb(self.ε)
        ahead = arb(gap) - ε * (n - 1)
        if not self.apart and ε < ahead:
            ahead = ε
        # coordinates are rounded, after a root and a quotient in float64; Σ|q_d·v_d| ≤ 1; keys add up ε·i
        table = (1 + r.u + arb(2) ** -52) ** 2
        score = (1 + r.u) * (1 + r.sums(D + 1 if self.apart else D + 1 + P))
        noise = c1 * (table * score - 1 + ε * n * (score**2 - 1))
        if not noise < c1 * ahead / 2:
            return None
        off = 2 * n * ((2 * noise - c1 * ahead) * (1 - r.u)).exp()
        return self._second_layer(off, r)

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

    @classmethod
    def examples(cls) -> tuple[NearestNeighborBySoftmax, ...]:
        return tuple(cls(NearestNeighbor(*size)) for size in ((1, 2, 1), (2, 2, 1), (1, 2, 3), (1, 3, 1)))
