r"""2-Sum over all pairs by one softmax layer and one bit of recurrence, which drops when a pair is found.

    first layer    met_i ≈ 1 if an earlier x_j ≡ -x_i modulo M, else 0
    second layer   h_i = ReLU(h_{i-1} - ReLU(4·met_i - 2)),   h_1 = 1

Why it works.  The first layer is _partners.py, where no token takes itself for its partner.  The inner ReLU
is exactly 0 if `met` is at most 1/2, and at least 1 if it is at least 3/4.  So h is exactly 1 while no token
has met its partner and exactly 0 from then on: the answer is 1 - h at the last token.

4 heads with keys of size 4b + 2D + 1, b = ⌈log₂(m+1)⌉ ≈ (log₂M + 1)/2 and D = ⌈log₂(n-1)⌉; then a state of
one number, with 2 inner ReLUs; width 16b + 2D + 4.  A recurrence alone must carry the set of values [ye2026].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from limen.constructions._margins import certified
from limen.constructions._partners import Partnered
from limen.constructions._program import Tier
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.two_sum_any import TwoSumAny


@dataclass(frozen=True)
class TwoSumAnyByHybrid(Partnered):
    """Four heads, then a recurrence whose state is 0 or 1."""

    task: TwoSumAny = TwoSumAny()
    small = tuple(TwoSumAny(n, M) for n, M in ((4, 7), (5, 6), (2, 3), (3, 16), (8, 3)))

    @property
    def high(self) -> int:
        return 0

    @property
    def second(self) -> Tier:
        return Tier(mixer="relu_rnn(d=1,stages=2,inner=2)", write=_watch, fills={"verdict": 1})

    def margin(self, precision: Precision) -> float | None:
        """h is 0 or 1 and the logits ±(h - 1/2), all exact."""
        r = self.roundoff(precision)
        if r is None:
            return None
        met = self.met(r)
        clear = met.one > ball(3) / 4 + 2 * r.u and met.zero < ball(1) / 4
        return certified(ball(1)) if clear else None

    def hints(self) -> dict[str, Any]:
        """Later tokens look for a partner; h is the machine's one cell."""
        later: list[list[Any]] = [[0, 0, head, "later", "exists", "later", "first"] for head in (1, 3)]
        first: list[list[Any]] = [[0, 0, head, "later", "exists", "first", "later"] for head in (0, 2)]
        alone = [[0, 0, head, "first", "one", "first"] for head in range(4)]
        return {"looks": later + first + alone, "cells": {"found": [0]}}


def _watch(w: Weights, at: Columns) -> None:
    """The recurrence.  Inside: nobody had met a partner before, and this token has."""
    alone, met = 0, 1
    w["W1"][0, alone] = 1
    w["U"][at["first"], alone] = 1
    w["U"][at["met"], met] = 4
    w["U"][at["first"], met] = -8  # there `met` is 2
    w["b1"][met] = -2
    w["W2"][:, 0] = np.array([1, -1])
    w["O"][:, at["verdict"]] = 1
