r"""Counting by two softmax layers: the last token learns the symbol, then spreads its weight over its copies.

    first layer    the token of k reads s, whose token is marked; ReLU makes the bits exact
    second layer   score -c·(Hamming distance of x_j and s), value 0;  the tokens of s and k: score 0, and
                   value 1 on s:  share = 1/(count + 2),  compared with 1/(k + 3/2)

Two layers and not one: the token that asks holds k, and must know s before it can compare it with the x_j.

Why it works.  s is read up to n·e^-c, too little for 53 bits to see, so that ReLU(1 - 2·bit) is exactly 1
or 0.  Then the x_j equal to s score exactly 0 as s and k do, all others -c or less, and the weights before
they are divided sum to exactly count + 2, as long as that has 24 bits.  The share is at most 1/(k + 2) if
count ≥ k and at least 1/(k + 1) if not.  The threshold between is 1/(2n + 4) of itself or more from both,
and roundings move them by some 3·2^-t: n may be about 2^t/6.

How far it goes.  c, 64 or more, grows with log n (_copies.py), so the count ends the range, not the gap.  The
kernel keeps one error for all shares, that of the largest, where the smallest are 1/n² apart: it certifies
n = 2^2 in bfloat16, 2^9 in float32 and 2^19 in float64.

One head a layer, keys of size 1 and 2D, values of size D and 1, D = ⌈log₂S⌉; D ReLUs; width 6D + 4;
precision log₂n + 3 bits.  A recurrence must carry log₂C(n+S-1, S-1) bits instead [wen2025].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._copies import share_margin
from limen.constructions._fields import ONE, bits, table, tokens, word
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff
from limen.constructions._program import Attend, Logits, Match, Piece, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for
from limen.constructions._words import distance
from limen.core.arrays import np
from limen.core.numbers import Precision
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingBySoftmax(Programmed):
    """Two layers, one head each; keys and values are those of the embedding."""

    task: Counting = Counting()
    small = Counting(5, 3), Counting(3, 7), Counting(1, 2), Counting(8, 2), Counting(4, 4)

    @property
    def program(self) -> Program:
        """The last token looks at s, then shares its weight among the copies, s and itself."""
        n, D, c = self.task.n, bits_for(self.task.S), vanishing(self.task.n)
        threshold = table("threshold", n + 1, 1, lambda: 1 / (np.arange(n + 1)[:, None] + 1.5))
        bit, complement = Piece("wanted", 0, D), Piece("wanted", D, D)
        hear = Attend([("k", "one", "s")], [Match({"asks": c}, {"symbol": 1})], {"heard": {"s": 1}})
        share = Attend([("k", "share", "x")], distance("word", "wanted", D, c), {"share": {"symbol": 1}})
        exact = Relu({"heard": -2}, 1, {complement: 1, bit: -1})  # ReLU(1 - 2·bit) = 1 - bit
        return Program(
            text=[
                tokens(n, word=word("token", D)),
                tokens(1, s=bits("token", D), symbol=ONE),
                tokens(1, asks=ONE, threshold=threshold),
            ],
            layers=[Tier([hear], relus=[exact], plus={bit: 1}), Tier([share])],
            readout=Logits({"threshold": (-1, 1), "share": (1, -1)}),
        )

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        return None if r is None else share_margin(self.task.n, 2, r)
