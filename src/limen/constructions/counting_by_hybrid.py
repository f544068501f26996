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
from typing import Any

from limen.constructions._copies import share_margin
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff, in_balls
from limen.constructions._weights import bits_for, identity, zeros
from limen.constructions._words import fill_words, oppose, word, word_tables
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingByHybrid(Construction):
    """One head, then a recurrence of one number."""

    task: Counting = Counting()

    @property
    def D(self) -> int:
        return bits_for(self.task.S)

    @property
    def columns(self) -> Columns:
        D = self.D
        return Columns.of(word=2 * D, s=2 * D, symbol=1, asks=1, threshold=1, share=1, carried=1)

    def frame(self) -> Frame:
        D, n, at = self.D, self.task.n, self.columns
        s = (*word("token", D, at["s"].start), Code("place", 1, "one", at["symbol"].start))
        k = (
            Code("place", 1, "one", at["asks"].start),
            Code("token", 1, "threshold", at["threshold"].start),
        )
        tables = (*word_tables(D), ("one", 1, 1), ("threshold", n + 1, 1))
        segments = Segment(n, word("token", D, at["word"].start)), Segment(1, s), Segment(1, k)
        return Frame(
            Architecture.parse(f"softmax(h=1,d=1,d_k={2 * D}),relu_rnn(d=1,stages=2,inner=2)"),
            at.width,
            self.task.answers,
            Codes(at.width, tables, segments),
        )

    def weights(self) -> Weights:
        frame, at, D = self.frame(), self.columns, self.D
        w = zeros(frame)
        fill_words(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.threshold"][:, 0] = 1 / (np.arange(self.task.n + 1) + 0.5)
        identity(w["0.0.K"], at["word"], slice(0, 2 * D))
        oppose(w["0.0.Q"], at["s"], slice(0, 2 * D), -vanishing(self.task.n))
        w["0.0.V"][at["symbol"]] = w["0.0.O"][:, at["share"]] = 1
        kept, new = 0, 1
        w["1.0.W1"][0, kept] = w["1.0.U"][at["share"], new] = 1
        w["1.0.U"][at["asks"], new] = -2
        w["1.0.W2"][:, 0] = w["1.0.O"][:, at["carried"]] = 1
        w["readout.U"][at["threshold"]] = np.array([-1, 1])
        w["readout.U"][at["carried"]] = np.array([1, -1])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        return None if r is None else share_margin(self.task.n, 1, r)

    def hints(self) -> dict[str, Any]:
        """s shares its weight among its copies and itself."""
        return {"looks": [[0, 0, 0, "s", "share", "x"]]}

    @classmethod
    def examples(cls) -> tuple[CountingByHybrid, ...]:
        return tuple(cls(Counting(n, S)) for n, S in ((5, 3), (1, 2), (8, 2), (4, 4)))
