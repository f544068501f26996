r"""Recall by two softmax layers: a value fetches the key before it, then the asked key is looked up.

All tokens are written alike: position and id, each as a word of signs, one of them the position's parity.

    layer 1    K_j = (rest_j, parity_j),   Q_j = 16·(rest_j, -1)     fetches u_j = T(id at the even position)
    layer 2    K_j = (u_j, parity_j),      Q   = 16·(T(id), +1)      reads the id behind the asked key

Why it works.  In layer 1 the query is the word of the pair's first position, which scores 32 more than any
other; a key fetches itself.  In layer 2 only values have parity +1, and each has fetched another key, so
the right one alone carries the word (T(key), +1): again 32 more than any other.  A query that stands where
a value would has fetched the query before it, and queries differ.  What was fetched is within about n·e^-32
of signs, and equal to them once rounded to 24 bits or fewer.

Two layers of one head, key sizes D and b+1, value size b, width D + 3b + 1, where D = ⌈log₂(2n+q)⌉ and
b = ⌈log₂V⌉; any q.  Scores are exact in bfloat16 up to V = 2^255 [arora2024zoology].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._addresses import BinaryWords
from limen.constructions._lookup import C, blur, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._weights import identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallBySoftmax(Construction):
    """A previous-token head, then a retrieval head."""

    task: Recall = Recall()

    @property
    def position(self) -> BinaryWords:
        return BinaryWords.of(self.task.length)

    @property
    def id(self) -> BinaryWords:
        return BinaryWords.of(self.task.V)

    @property
    def columns(self) -> Columns:
        D, b = self.position.k, self.id.k
        return Columns.of(position=D, id=b, one=1, key=b, answer=b)

    def frame(self) -> Frame:
        at, D, b = self.columns, self.position.k, self.id.k
        token = (
            *self.position.codes("place", 1, at["position"].start),
            *self.id.codes("token", 1, at["id"].start),
            Code("place", 1, "one", at["one"].start),
        )
        tables = dict.fromkeys((*self.position.tables, *self.id.tables, ("one", 1, 1)))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={b},d_k={D}),softmax(h=1,d={b},d_k={b + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, tuple(tables), (Segment(self.task.length, token),)),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        at, D, b = self.columns, self.position.k, self.id.k
        w = zeros(self.frame())
        self.position.fill(w)
        self.id.fill(w)
        w["embedding.one"][:] = 1
        parity, word = at["position"].start, slice(0, b)  # the least digit of the position: +1 on values
        identity(w["0.0.K"], at["position"], slice(0, D))
        identity(w["0.0.Q"], at["position"], slice(0, D), C)
        w["0.0.Q"][parity, 0] = 0
        w["0.0.Q"][at["one"], 0] = -C
        identity(w["0.0.V"], at["id"], word)
        identity(w["0.0.O"], word, at["key"])
        identity(w["1.0.K"], at["key"], word)
        w["1.0.K"][parity, b] = 1
        identity(w["1.0.Q"], at["id"], word, C)
        w["1.0.Q"][at["one"], b] = C
        identity(w["1.0.V"], at["id"], word, 1 / 2)  # signs become digits, (1 + T)/2
        w["1.0.V"][at["one"]] = 1 / 2
        identity(w["1.0.O"], word, at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        n, D, b = self.task.length, self.position.k, self.id.k
        r = roundoff(precision, max(D, b + 1))
        if r is None:
            return None
        fetched = rounded(blur(stray(n - 1, 2 * C, noise(D, arb(0), r)), n, r), r)
        off = stray(n - 1, 2 * C, noise(b + 1, fetched, r))
        return certified(digits_margin(blur(off, n, r), b, r))

    def hints(self) -> dict[str, Any]:
        """All look at the even place of their pair, then the questions at the values."""
        asks = ("even", "odd") if self.task.q > 1 else ("even",)
        fetch: list[list[Any]] = [[0, 0, 0, asker, "one", "evens"] for asker in ("evens", "values", *asks)]
        return {"looks": [*fetch, *([1, 0, 0, asker, "one", "values"] for asker in asks)]}

    @classmethod
    def examples(cls) -> tuple[RecallBySoftmax, ...]:
        return cls(Recall(1, 2)), cls(Recall(1, 9)), cls(Recall(2, 7)), cls(Recall(2, 5, q=2))
