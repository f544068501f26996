r"""Retrieval by the head on the source's slide: keys and queries are both scaled by log²n.

    K_i = log²n·(a_i, 1-a_i),   Q = log²n·(a, 1-a),   V_i = b_i,       a in {0,1}^D,  log the natural one

    ⟨Q, K_i⟩ = log⁴n·(D - Hamming distance of a_i and a)

Why it works.  The token whose key is a scores log⁴n more than any other, so it weighs at least
e^(log²n)/(e^(log²n) + n - 1) and each other one at most n^(-log n): both bounds of the slide hold once
log n ≥ 1.  The slide writes ⟨Q, K_i⟩ = log²n·D, though both factors carry log²n: a slip to the safe side.
Short texts have small gaps, 0.2 for n = 2; scores are no whole numbers and have to be rounded
(retrieval_by_softmax: a gap of 2C, exact).

Width 4D + 2b, one head with keys of size 2D and values of size b = ⌈log₂V⌉ [ye2026].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._lookup import blur, digits_margin, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._weights import binary, binary_tables, bits_for, digits, identity, zeros
from limen.constructions._words import fill_words
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.retrieval import Retrieval


@dataclass(frozen=True)
class RetrievalByLogSquared(Construction):
    """One layer, one head."""

    task: Retrieval = Retrieval(4, 2, 2)

    def __post_init__(self) -> None:
        if self.task.absent:
            raise BadInput("the slide's head has no answer for a key that is absent: absent must be false")

    @property
    def scale(self) -> float:
        """log²n."""
        return math.log(self.task.n) ** 2

    @property
    def columns(self) -> Columns:
        D, b = self.task.D, bits_for(self.task.answers)
        return Columns.of(key=2 * D, value=b, query=2 * D, answer=b)

    def frame(self) -> Frame:
        at, D, V, b = self.columns, self.task.D, self.task.V, bits_for(self.task.answers)
        value = Code("token", 1, "value", at["value"].start)
        tables = *binary_tables(D), *binary_tables(D, table="nots"), ("value", V, b)
        entries = Segment(self.task.n, (*_word(V, D, at["key"].start), value))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={b},d_k={2 * D})"),
            at.width,
            self.task.answers,
            Codes(at.width, tables, (entries, Segment(1, _word(1, D, at["query"].start)))),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        frame, at, D, b = self.frame(), self.columns, self.task.D, bits_for(self.task.answers)
        w = zeros(frame)
        fill_words(w, frame)
        w["embedding.value"] = digits(b)[: self.task.V]
        identity(w["0.0.K"], at["key"], slice(0, 2 * D), self.scale)
        identity(w["0.0.Q"], at["query"], slice(0, 2 * D), self.scale)
        identity(w["0.0.V"], at["value"], slice(0, b))
        identity(w["0.0.O"], slice(0, b), at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Of a score's D products each is off by the roundings of its factors and of the sum."""
        n, D, gap = self.task.n, self.task.D, arb(self.scale) ** 2
        r = roundoff(precision, math.ceil(self.scale**2 * D) + 1)
        if r is None:
            return None
        noise = D * gap * ((1 + r.u) ** 5 * (1 + r.sums(2 * D)) - 1)
        off = (n - 1) * (2 * noise - gap).exp() + stray(1, 0, noise) * (-D * gap).exp()
        return certified(digits_margin(blur(off, n + 1, r), bits_for(self.task.answers), r))

    def hints(self) -> dict[str, Any]:
        return {"looks": [[0, 0, 0, "query", "one", "pairs"]]}

    @classmethod
    def examples(cls) -> tuple[RetrievalByLogSquared, ...]:
        return cls(Retrieval(4, 2, 2)), cls(Retrieval(4, 3, 2)), cls(Retrieval(5, 3, 1))


def _word(div: int, D: int, column: int) -> tuple[Code, ...]:
    """(a, 1-a) of a = value // div."""
    return binary("token", div, D, column) + binary("token", div, D, column + D, table="nots")
