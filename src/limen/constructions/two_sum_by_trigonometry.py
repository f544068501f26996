r"""2-Sum by one softmax head of size 3: the partner of q is the token whose angle cancels that of q.

    K_j = (cos θ_j, -sin θ_j, 0),  Q = c(cos θ_q, sin θ_q, 1)  =>  score = c·cos(2π(x_j + q)/M),  θ_x = 2πx/M

The query's own token is the blank: key (0, 0, 1 - δ/2), value 0, while the x_j have the value 1.

Why it works.  A partner scores c, any other token at most c(1 - δ) with δ = 1 - cos(2π/M), the blank in the
middle.  With c ≥ 2 ln(8n)/δ a partner gives at least 1/(1 + 1/8n + 1/64n), and no partner at most 1/8.

The price is precision.  The gap δ/2 ≈ π²/M² must exceed the errors of the scores, 5 to 7 times 2^-t, so M
may be some π/√(7·2^-t).  With n = 256 the margin is certified up to about M = 15 in bfloat16 and 3500 in
float32; near misses are confused from M = 41 and 9001 on.  two_sum_by_code has no such limit.

One head with keys of size 3 and values of size 1, width 7, and a table of M angles [sanford2023].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from limen.constructions._fields import ONE, table, tokens
from limen.constructions._margins import Roundoff, certified, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._words import decided, verdict
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.errors import BadInput
from limen.tasks.two_sum import TwoSum


@dataclass(frozen=True)
class TwoSumByTrigonometry(Programmed):
    """One layer, one head, key size 3, value size 1."""

    task: TwoSum = TwoSum()
    small = tuple(TwoSum(n, M) for n, M in ((4, 7), (3, 6), (1, 3), (4, 4), (2, 25)))

    @property
    def c(self) -> int:
        """The least power of two that is at least 2 ln(8n)/δ: multiplying by it is exact."""
        small = self.task.M.bit_length() > 512
        half_δ = 0.0 if small else math.sin(math.pi / self.task.M) ** 2  # 1 - cos 2α = 2 sin²α
        if half_δ == 0:
            raise BadInput(f"{self.task}: angles of 2π/M are too small for float64")
        return 1 << math.ceil(math.log2(math.log(8 * self.task.n) / half_δ))

    @property
    def program(self) -> Program:
        """It looks for a partner; its own token is the blank."""
        M, c = self.task.M, self.c
        angles = table("angles", M, 2, self._angles)
        blank = math.cos(math.pi / M) ** 2  # 1 - δ/2, without cancellation
        match = [
            Match({"query": c}, {"angle": lambda: np.array([[1.0, 0.0], [0.0, -1.0]])}),
            Match({"asks": c}, {"asks": blank}),
        ]
        return Program(
            text=[tokens(self.task.n, angle=angles, data=ONE), tokens(1, query=angles, asks=ONE)],
            layers=[Tier([Attend([("q", "exists", "x", "q")], match, {"found": {"data": 1}})])],
            readout=verdict("found", high=1),
        )

    def _angles(self) -> Array:
        """(M, 2): cos θ_x, sin θ_x."""
        θ = np.arange(self.task.M) * (2 * math.pi / self.task.M)
        return np.stack([np.cos(θ), np.sin(θ)], -1)

    def margin(self, precision: Precision) -> float | None:
        """Relative to |cos cos| + |sin sin| ≤ 1 a score errs by two rounded factors, a sum and a rounding.

        The blank's score has one factor that is rounded, and no sum.  As computed in float64, an angle below
        2π errs by less than 2^-49, and a sine or cosine by less than 2^-48.
        """
        r = Roundoff.of(precision)
        if r is None:
            return None
        n, half_δ = self.task.n, (ball(1) / self.task.M).sin_pi() ** 2
        table = ball(2) ** -48
        token = (1 + r.u) ** 3 * (1 + r.sums(2)) * (1 + 4 * table) - 1
        blank = (1 + r.u) ** 2 * (1 + table) - 1
        step = (
            -self.c * (half_δ - token - blank)
        ).exp()  # from a partner to the blank, from there to another token
        partner = retrieved(step + n * (-2 * self.c * (half_δ - token)).exp(), n + 1, r)
        none = retrieved(n * step, n + 1, r)
        return certified(decided(partner.one, none.zero, r))
