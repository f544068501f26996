r"""Recall by one softmax layer and one thinking step: the key finds its copy, the step the value after it.

    k asks       Q = 16·(T(k), T(0) | 0)         keys (T(id), T(parity) | 0)      reads i, the pair's number
    i asks       Q = 16·(0 | T(1), T(i))         keys (0 | T(parity), T(pair))    reads the value's id

Why it works.  The two questions stand in different columns, so one head does for both (_thought.py).  A
right key scores 32 more than any other token: another id or parity differs in a sign, and a token that is
no datum has the key 0.  So one softmax layer that may think needs no second one; without a thought a value
would have to know its key before (recall_by_softmax).

One layer of one head, keys of size b + P + 2, values of size b + P, b = ⌈log₂V⌉, P = ⌈log₂n⌉; b + P ReLUs;
one step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._lookup import C, blur, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._thought import OneThought
from limen.constructions._weights import binary, binary_tables, bits_for, identity
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallByChainOfThought(OneThought):
    """One key is asked for."""

    task: Recall = Recall()

    def __post_init__(self) -> None:
        if self.task.q != 1:
            raise BadInput(f"recall_by_chain_of_thought: only one key can be asked for, got q={self.task.q}")

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def columns(self) -> Columns:
        return self.laid(id=self.b, asked=self.b)

    def frame(self) -> Frame:
        at, b, P, n = self.columns, self.b, self.P, self.task.n
        size = at["token"].stop - at["token"].start
        ids = binary("token", 1, b, at["id"].start, "signs"), binary("token", 1, b, at["fetched"].start)
        asks = (*binary("token", 1, b, at["asked"].start, "signs"), Code("place", 1, "one", at["asks"].start))
        segments = (
            Segment(2 * n, (*ids[0], *ids[1], *self.pairs())),
            Segment(1, asks),
            Segment(1, self.thought()),
        )
        tables = (*binary_tables(b, P, 1, table="signs"), *binary_tables(b, P), ("one", 1, 1))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={b + P},d_k={b + P + 2})"),
            at.width,
            1 << size,
            Codes(at.width, tables, segments),
            (self.relus,),
            readout=Binary(at["token"].start, size),
        )

    def weights(self) -> Weights:
        w, at, b = self.begun(), self.columns, self.b
        identity(w["0.0.K"], at["id"], slice(0, b))
        identity(w["0.0.Q"], at["asked"], slice(0, b), C)
        w["0.0.K"][at["parity"], b], w["0.0.Q"][at["asks"], b] = 1, -C
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Of the thought and of the answer alike: signs of one question, digits kept or dropped by a ReLU."""
        n, size = self.task.length + 1, max(self.b, self.P)
        r = roundoff(precision, C * (size + 1))
        if r is None:
            return None
        off = blur(stray(n - 1, 2 * C, noise(C, size + 1, arb(0), r)), n, r)
        return certified(digits_margin(2 * off, size, r))

    def hints(self) -> dict[str, Any]:
        """The asked key looks at its copy, the thought at the value of the pair."""
        return {"looks": [[0, 0, 0, "query", "one", "keys"], [0, 0, 0, "step1", "one", "values"]]}

    @classmethod
    def examples(cls) -> tuple[RecallByChainOfThought, ...]:
        return cls(Recall(1, 2)), cls(Recall(2, 4)), cls(Recall(2, 7))
