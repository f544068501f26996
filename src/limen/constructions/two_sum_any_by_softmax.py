r"""2-Sum over all pairs by two softmax layers: each token looks for its partner, the last asks who found one.

    first layer    met_i ≈ 1 if an earlier x_j ≡ -x_i modulo M, else 0
    second layer   score c·met_j, value 1;  the first token: score c/2, value 0

Why it works.  The first layer is _partners.py, where no token takes itself for its partner.  The first token
has none before it and is the blank of the second layer: a token that has met its partner weighs e^{c/2}
times as much, and n tokens that have not n·e^{-c/2} as much, 1.3e-8 for n = 2^20 and c = 64.  The last token
is a number as the others are, and reads the verdict.

Two layers, 4 heads and 1.  With b = ⌈log₂(m+1)⌉ ≈ (log₂M + 1)/2 and D = ⌈log₂(n-1)⌉: keys of 4b + 2D + 1,
width 16b + 2D + 4.  One layer that reads its answer at a fixed token needs Ω(n) bits [ye2026].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from limen.constructions._margins import certified, retrieved
from limen.constructions._partners import Partnered
from limen.constructions._program import Attend, Match, Tier
from limen.constructions._words import decided
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.two_sum_any import TwoSumAny


@dataclass(frozen=True)
class TwoSumAnyBySoftmax(Partnered):
    """Two layers, four heads and one."""

    task: TwoSumAny = TwoSumAny()
    small = tuple(TwoSumAny(n, M) for n, M in ((4, 7), (5, 6), (2, 3), (3, 16), (8, 3)))

    @property
    def worth(self) -> int:
        """What a met partner is worth."""
        return 2 * self.c

    @property
    def high(self) -> int:
        return 1

    @property
    def second(self) -> Tier:
        C = self.worth
        blank = C / 2 - 2 * C  # there `met` is 2
        match = [Match({"later": 1}, {"met": C, "first": blank})]
        return Tier([Attend((), match, {"verdict": {"later": 1}})], "softmax(h=1,d=1)")

    def margin(self, precision: Precision) -> float | None:
        """A softmax over one token is exactly 1 and so is the blank's score; another's is rounded twice."""
        r = self.roundoff(precision)
        if r is None:
            return None
        n, C, met = self.task.n, self.worth, self.met(r)
        yes = C * (met.one * (1 - r.u) ** 2 - ball(1) / 2)
        no = C * (ball(1) / 2 - met.zero * (1 + r.u) ** 2)
        one, none = retrieved((-yes).exp(), n, r), retrieved(n * (-no).exp(), n, r)
        return certified(decided(one.one, none.zero, r))

    def hints(self) -> dict[str, Any]:
        """Each token looks for a partner at the first token and among the others; the last for a met one."""
        among = ["exists", "later", "first"] if self.task.n > 2 else ["one", "first"]
        looks: list[list[Any]] = [[0, 0, head, "first", "one", "first"] for head in range(4)]
        for s in range(2):
            looks += [[0, 0, 2 * s, "later", "exists", "first", "later"], [0, 0, 2 * s + 1, "later", *among]]
        return {"looks": [*looks, [1, 0, 0, "last", "exists", "later", "first"]]}
