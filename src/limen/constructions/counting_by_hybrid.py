r"""Counting by a softmax head at the token of the symbol, then a recurrence that passes its share on.

    first layer    at s: share = 1/(count + 1) (_copies.py)
    second layer   h_i = ReLU(h_{i-1}) + ReLU(share_i - 2·[i is the last]),     compared with 1/(k + 1/2)

Why it works.  Only s has a value, so all tokens before it read exactly 0; the last one's own share, which
means nothing, is less than 2.  So h is the share that s found, exactly.

One head with keys of size 2D, D = ⌈log₂S⌉, then a state of one number, with 2 inner ReLUs; width 4D + 5;
precision log₂n + 3 bits.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._copies import share_margin
from limen.constructions._fields import ONE, table, tokens, word
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff
from limen.constructions._program import Attend, Logits, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.constructions._words import distance
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingByHybrid(Programmed):
    """One head, then a recurrence of one number."""

    task: Counting = Counting()
    small = Counting(5, 3), Counting(1, 2), Counting(8, 2), Counting(4, 4)

    @property
    def program(self) -> Program:
        """s shares its weight among its copies and itself."""
        n, D = self.task.n, bits_for(self.task.S)
        match = distance("word", "s", D, vanishing(n))
        threshold = table("threshold", n + 1, 1, lambda: 1 / (np.arange(n + 1)[:, None] + 0.5))
        return Program(
            text=[
                tokens(n, word=word("token", D)),
                tokens(1, s=word("token", D), symbol=ONE),
                tokens(1, asks=ONE, threshold=threshold),
            ],
            layers=[
                Tier([Attend([("s", "share", "x")], match, {"share": {"symbol": 1}})]),
                Tier(mixer="relu_rnn(d=1,stages=2,inner=2)", write=_pass_on, fills={"carried": 1}),
            ],
            readout=Logits({"threshold": (-1, 1), "carried": (1, -1)}),
        )

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        return None if r is None else share_margin(self.task.n, 1, r)


def _pass_on(w: Weights, at: Columns) -> None:
    """The recurrence: what is kept, and what is new."""
    kept, new = 0, 1
    w["W1"][0, kept] = w["U"][at["share"], new] = 1
    w["U"][at["asks"], new] = -2
    w["W2"][:, 0] = w["O"][:, at["carried"]] = 1
