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
from typing import Any

from limen.constructions._copies import share_margin
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff, in_balls
from limen.constructions._weights import binary, bits_for, identity, zeros
from limen.constructions._words import fill_words, oppose, word, word_tables
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingBySoftmax(Construction):
    """Two layers, one head each; keys and values are those of the embedding."""

    task: Counting = Counting()

    @property
    def D(self) -> int:
        return bits_for(self.task.S)

    @property
    def columns(self) -> Columns:
        D = self.D
        return Columns.of(word=2 * D, s=D, symbol=1, asks=1, threshold=1, heard=D, wanted=2 * D, share=1)

    def frame(self) -> Frame:
        D, n, at = self.D, self.task.n, self.columns
        x = word("token", D, at["word"].start)
        s = (*binary("token", 1, D, at["s"].start), Code("place", 1, "one", at["symbol"].start))
        k = (
            Code("place", 1, "one", at["asks"].start),
            Code("token", 1, "threshold", at["threshold"].start),
        )
        return Frame(
            Architecture.parse(f"softmax(h=1,d={D},d_k=1),softmax(h=1,d=1,d_k={2 * D})"),
            at.width,
            self.task.answers,
            Codes(
                at.width,
                (*word_tables(D), ("one", 1, 1), ("threshold", n + 1, 1)),
                (Segment(n, x), Segment(1, s), Segment(1, k)),
            ),
            (Mlp(D), None),
        )

    def weights(self) -> Weights:
        frame, at, D = self.frame(), self.columns, self.D
        w = zeros(frame)
        fill_words(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.threshold"][:, 0] = 1 / (np.arange(self.task.n + 1) + 1.5)
        w["0.0.K"][at["symbol"]] = 1
        w["0.0.Q"][at["asks"]] = vanishing(self.task.n)
        identity(w["0.0.V"], at["s"], slice(0, D))
        identity(w["0.0.O"], slice(0, D), at["heard"])
        bit = slice(at["wanted"].start, at["wanted"].start + D)
        complement = slice(bit.stop, bit.stop + D)
        identity(w["0.local.W1"], at["heard"], slice(0, D), -2)
        w["0.local.b1"][:] = 1
        identity(w["0.local.W2"], slice(0, D), complement)  # 1 - bit
        identity(w["0.local.W2"], slice(0, D), bit, -1)
        w["0.local.b2"][bit] = 1
        identity(w["1.0.K"], at["word"], slice(0, 2 * D))
        oppose(w["1.0.Q"], at["wanted"], slice(0, 2 * D), -vanishing(self.task.n))
        w["1.0.V"][at["symbol"]] = 1
        w["1.0.O"][:, at["share"]] = 1
        w["readout.U"][at["threshold"]] = np.array([-1, 1])
        w["readout.U"][at["share"]] = np.array([1, -1])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        return None if r is None else share_margin(self.task.n, 2, r)

    def hints(self) -> dict[str, Any]:
        """The last token looks at s, then shares its weight among the copies, s and itself."""
        return {"looks": [[0, 0, 0, "k", "one", "s"], [1, 0, 0, "k", "share", "x"]]}

    @classmethod
    def examples(cls) -> tuple[CountingBySoftmax, ...]:
        return tuple(cls(Counting(n, S)) for n, S in ((5, 3), (3, 7), (1, 2), (8, 2), (4, 4)))
