r"""Recall of few pairs by linear attention with a slot for each pair, then one softmax head.

    first layer    a value reads the key before it out of its pair's slot, bit by bit (_slots.py)
    second layer   K_j = (T(key of j), +1 at values),   Q = 16·(T(id), +1):   the id behind the asked key

Why it works.  A value must know its key before the only softmax layer: behind it n·log₂V bits would have to
pass the memory.  Linear attention cannot look back by one in a long text, since what it has added up it
cannot take away; but with a coordinate for each pair nothing has to be taken away.  The second layer is
that of recall_by_softmax.

The questions own slots, too: one that stands where a value would has read the one before it, and questions
differ.

h·r slots hold n + ⌈q/2⌉ pairs, r the size of the keys; values of size b = ⌈log₂V⌉; then one softmax head
with keys of size b + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from flint import arb

from limen.constructions._features import linear_keys
from limen.constructions._lookup import C, blur, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._slots import Slots
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallBySlots(Construction):
    """`r` coordinates a head."""

    task: Recall = Recall()
    _: KW_ONLY
    r: int = 4

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> RecallBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def slots(self) -> Slots:
        return Slots(-(-self.task.length // 2), self.r, self.b)

    @property
    def columns(self) -> Columns:
        b = self.b
        return Columns.of(id=b, one=1, key=1, value=1, slot=self.r, head=self.slots.heads, before=b, answer=b)

    def frame(self) -> Frame:
        at, b = self.columns, self.b
        token = (
            *binary("token", 1, b, at["id"].start),
            Code("place", 1, "one", at["one"].start),
            Code("place", 1, "parity", at["key"].start),
            *self.slots.codes(at["slot"].start, at["head"].start),
        )
        tables = (*binary_tables(b), ("one", 1, 1), ("parity", 2, 2), *self.slots.tables)
        return Frame(
            Architecture.parse(f"{self.slots.text},softmax(h=1,d={b},d_k={b + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, tables, (Segment(self.task.length, token),)),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        frame, at, b = self.frame(), self.columns, self.b
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = w["embedding.parity"][0, 0] = w["embedding.parity"][1, 1] = 1
        key, value = at["key"].start, at["value"].start
        self.slots.write(w, (at["slot"], at["head"], key, value), at["id"], at["before"])
        word = slice(0, b)
        identity(w["1.0.K"], at["before"], word, 2)
        w["1.0.K"][at["one"], :b], w["1.0.K"][key, b], w["1.0.K"][value, b] = -1, -1, 1
        identity(w["1.0.Q"], at["id"], word, 2 * C)
        w["1.0.Q"][at["one"], :b], w["1.0.Q"][at["one"], b] = -C, C
        identity(w["1.0.V"], at["id"], word)
        identity(w["1.0.O"], word, at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        n, b = self.task.length, self.b
        r = roundoff(precision, b + 1)
        if r is None:
            return None
        off = stray(n - 1, 2 * C, noise(b + 1, arb(0), r))
        return certified(digits_margin(blur(off, n, r), b, r))

    def hints(self) -> dict[str, Any]:
        """A value reads its pair's slot; then the questions look at the values."""
        asks = ("even", "odd") if self.task.q > 1 else ("even",)
        slots = [[0, 0, 0, asker, "slot", "evens"] for asker in ("values", *asks[1:])]
        return {"looks": [*slots, *([1, 0, 0, asker, "one", "values"] for asker in asks)]}

    @classmethod
    def examples(cls) -> tuple[RecallBySlots, ...]:
        return cls(Recall(1, 2), r=1), cls(Recall(2, 7), r=1), cls(Recall(2, 5, q=2), r=2)
