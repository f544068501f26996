r"""Recall by a convolution that brings each key to its value, then one softmax head.

    first layer    a Mamba-2 block looks back by one (_convolution.py)
    second layer   K_j = (T(id before j), +1 at values),   Q = 16·(T(id), +1):   the id behind the asked key

Why it works.  The second layer is that of recall_by_softmax; its first one, a softmax head, is replaced by
a convolution over two tokens, which every Mamba and most delta rules have.  A question that stands where a
value would has been told the question before it, and questions differ.

One Mamba-2 layer with ⌈log₂V⌉ channels in its first head and c ≥ 2, then one softmax head with keys of size
⌈log₂V⌉ + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from flint import arb

from limen.constructions._convolution import look_back, look_back_text
from limen.constructions._features import sizes_of
from limen.constructions._lookup import blur, contrast, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified, in_balls
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.mixers.mamba2 import Mamba2
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallByConvolution(Construction):
    """All sizes of the block are those of the architecture: its norm is over all channels."""

    task: Recall = Recall()
    _: KW_ONLY
    h: int = 2
    d: int = 4
    s: int = 1
    c: int = 2

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> RecallByConvolution:
        return cls(task=task, **sizes_of(Mamba2, architecture, "h", "d", "s", "c"))  # type: ignore[arg-type]

    @property
    def mixer(self) -> Mamba2:
        return Mamba2(self.h, self.d, self.s, c=self.c)

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def columns(self) -> Columns:
        return Columns.of(id=self.b, one=1, key=1, value=1, before=self.b, answer=self.b)

    def frame(self) -> Frame:
        at, b = self.columns, self.b
        token = (
            *binary("token", 1, b, at["id"].start),
            Code("place", 1, "one", at["one"].start),
            Code("place", 1, "parity", at["key"].start),
        )
        return Frame(
            Architecture.parse(f"{look_back_text(self.mixer, b)},softmax(h=1,d={b},d_k={b + 1})"),
            at.width,
            self.task.answers,
            Codes(
                at.width,
                (*binary_tables(b), ("one", 1, 1), ("parity", 2, 2)),
                (Segment(self.task.length, token),),
            ),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        frame, at, b, C = self.frame(), self.columns, self.b, contrast(self.task.length)
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = w["embedding.parity"][0, 0] = w["embedding.parity"][1, 1] = 1
        key, value, word = at["key"].start, at["value"].start, slice(0, b)
        look_back(w, self.mixer, at["id"], at["before"], (key, value))
        identity(w["1.0.K"], at["before"], word, 2)
        w["1.0.K"][at["one"], :b], w["1.0.K"][key, b], w["1.0.K"][value, b] = -1, -1, 1
        identity(w["1.0.Q"], at["id"], word, 2 * C)
        w["1.0.Q"][at["one"], :b], w["1.0.Q"][at["one"], b] = -C, C
        identity(w["1.0.V"], at["id"], word)
        identity(w["1.0.O"], word, at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Digits are told exactly in formats of up to 24 bits; else within 2^-40."""
        n, b, C = self.task.length, self.b, contrast(self.task.length)
        r = roundoff(precision, C * (b + 1))
        if r is None:
            return None
        told = arb(0) if r.u > arb(2) ** -30 else arb(2) ** -38
        off = stray(n - 1, 2 * C, noise(C, b + 1, told, r))
        return certified(digits_margin(blur(off, n, r), b, r))

    def hints(self) -> dict[str, Any]:
        """All are told the token before them; then the questions look at the values."""
        asks = ("even", "odd") if self.task.q > 1 else ("even",)
        told = [[0, 0, 0, asker, "back", 1] for asker in ("values", *asks[1:])]
        return {"looks": [*told, *([1, 0, 0, asker, "one", "values"] for asker in asks)]}

    @classmethod
    def examples(cls) -> tuple[RecallByConvolution, ...]:
        return cls(Recall(1, 2)), cls(Recall(2, 7)), cls(Recall(2, 5, q=2), c=4)
