r"""Nearest neighbours by scores: cosines of lattice points, and a little less from place to place.

    score_i = c₁(⟨q/|q|, v_i/|v_i|⟩ - ε·i)

Two cosines of lattice points are equal or at least 1/(2(Dg²)³) apart: of like sign, their squares are
fractions that differ by 1/(|q|²|v|²|w|²) at least, and their sum is at most 2; of unlike sign they are
further apart.  A power of two ε ≤ this/(n+1) lets the leftmost win a tie and turns no other order: any two
scores differ by c₁ε, and c₁ = 4·ln(16n)/ε, rounded up to a power of two, puts nearly all weight on the
winner.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from limen.constructions._fields import CodedPart, table
from limen.constructions._margins import Roundoff
from limen.constructions._program import Factors, Match
from limen.constructions._weights import bits_for
from limen.core.arrays import np
from limen.core.balls import Ball, ball
from limen.core.numbers import Float, Precision
from limen.core.weights import Array
from limen.errors import BadInput
from limen.tasks.nearest_neighbor import NearestNeighbor

FAR = 8  # what labels and the query itself lose: no point's cosine is as low as 1 - FAR, even with errors
MOST = 2**20  # rows of the table of points


@dataclass(frozen=True)
class Cosines:
    """With `apart` there are no ties, and cosines differ by task.margin."""

    task: NearestNeighbor
    apart: bool = False

    def __post_init__(self) -> None:
        if self.task.points > MOST:
            raise BadInput(
                f"nearest_neighbor: a table of all (2g+1)^D = {self.task.points} points is too large, "
                f"at most {MOST} fit"
            )

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
    def units(self) -> Array:
        """(points, D): v/|v|, and 0 for v = 0."""
        v = self.task.vector(np.arange(self.task.points)).astype(np.float64)
        directions: Array = v / np.sqrt(np.square(v).sum(-1, keepdims=True).clip(1))
        return directions

    @property
    def unit(self) -> CodedPart:
        """The direction of a point; 0 for a label."""
        return table("unit", self.task.vocab, self.task.D, lambda: self.tokens()[:, :-1])

    @property
    def label(self) -> CodedPart:
        """1 for label 1, else 0."""
        return table("label", self.task.vocab, 1, lambda: self.tokens()[:, -1:])

    def tokens(self) -> Array:
        """(vocab, D + 1): the direction of a point, and whether the token is label 1, the last one."""
        rows = np.zeros((self.task.vocab, self.task.D + 1))
        rows[: self.task.points, :-1], rows[-1, -1] = self.units, 1
        return rows

    def matches(self, key: Factors, number: str, far: str) -> list[Match]:
        """The query matches directions; a pair's number costs ε·i, and `far` tokens and the query are far."""
        steps: Factors = {number: self._steps, far: -FAR, "asks": -FAR}
        return [Match({"unit": self.c1}, key, self.task.D), Match({"asks": self.c1}, steps, 1)]

    def _steps(self) -> Array:
        """(P, 1): what each binary digit of a pair's number costs."""
        return np.asarray(-self.ε * 2.0 ** np.arange(bits_for(self.task.n)))[:, None]

    def off(self, gap: float, precision: Precision, r: Roundoff) -> Ball | None:
        """The weight off the nearest point, relative to it; the others' cosines are equal or `gap` less."""
        n, D, P = self.task.n, self.task.D, bits_for(self.task.n)
        if isinstance(precision, Float) and 2 * FAR * self.c1 > precision.largest:
            return None
        c1, ε = ball(self.c1), ball(self.ε)
        ahead = ball(gap) - ε * (n - 1)
        if not self.apart and ε < ahead:
            ahead = ε
        # coordinates are rounded, after a root and a quotient in float64; Σ|q_d·v_d| ≤ 1; keys add up ε·i
        table = (1 + r.u + ball(2) ** -52) ** 2
        score = (1 + r.u) * (1 + r.sums(D + 1 if self.apart else D + 1 + P))
        noise = c1 * (table * score - 1 + ε * n * (score**2 - 1))
        if not noise < c1 * ahead / 2:
            return None
        return 2 * n * ((2 * noise - c1 * ahead) * (1 - r.u)).exp()
