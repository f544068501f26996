r"""Counting by a layer that carries the symbol to the last token, then one softmax head over its copies.

    first layer    the token of s hands its D signs to the token behind it, which holds k (_carries.py)
    second layer   score c(⟨T(x_j), T(s)⟩ - D):  share = 1/(count + 2) (_copies.py), compared with 1/(k + 3/2)

Why it works.  The signs arrive exactly, so the copies score exactly 0, as s and k do.  What the first layer
keeps is 0 or a sign, two bits a number, so that it does not set the precision.  The other way round, the
share itself would have to be carried, with log₂n + 3 bits (counting_by_hybrid).

One layer of any recurrence, or attention over a few tokens, with room for D = ⌈log₂S⌉ signs; one softmax
head with keys of size D + 1; no ReLU; width 4D + 5.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from limen.constructions._addresses import BinaryWords
from limen.constructions._carries import Carry, Trip, carry_of, plain
from limen.constructions._copies import share_margin
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff, holds, in_balls
from limen.constructions._weights import identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.text import spell
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingByCarry(Construction):
    """`carry` is the first layer's mixer; linear attention with φ = relu unless said."""

    task: Counting = Counting()
    _: KW_ONLY
    carry: Carry | None = None

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> CountingByCarry:
        """By the first layer that can carry."""
        D = BinaryWords.of(task.S).k if isinstance(task, Counting) else 1
        parts = (part for layer in architecture.layers for part in layer.parts)
        able = (found.fitted(D, 0) for part in parts if (found := carry_of(part.mixer)))
        return cls(task=task, carry=next(filter(None, able), None))  # type: ignore[arg-type]

    @property
    def words(self) -> BinaryWords:
        return BinaryWords.of(self.task.S)

    @property
    def columns(self) -> Columns:
        D = self.words.k
        return Columns.of(word=D, data=1, s=D, symbol=1, asks=1, threshold=1, wanted=D, share=1)

    @property
    def carrier(self) -> Carry:
        D = self.words.k
        found = (self.carry or plain(D)).fitted(D, 0)
        if found is None:
            raise BadInput(f"{self.carry} is too small to carry {D} signs")
        return found

    def frame(self) -> Frame:
        D, n, at = self.words.k, self.task.n, self.columns
        one = {name: Code("place", 1, "one", at[name].start) for name in ("data", "symbol", "asks")}
        x = (*self.words.codes("token", 1, at["word"].start), one["data"])
        s = (*self.words.codes("token", 1, at["s"].start), one["symbol"])
        k = (one["asks"], Code("token", 1, "threshold", at["threshold"].start))
        tables = (*self.words.tables, ("one", 1, 1), ("threshold", n + 1, 1))
        first = spell(self.carrier.mixer, p=2)
        return Frame(
            Architecture.parse(f"{first},softmax(h=1,d=1,d_k={D + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, tables, (Segment(n, x), Segment(1, s), Segment(1, k))),
        )

    def weights(self) -> Weights:
        at, D = self.columns, self.words.k
        w = zeros(self.frame())
        self.words.fill(w)
        w["embedding.one"][:] = 1
        w["embedding.threshold"][:, 0] = 1 / (np.arange(self.task.n + 1) + 1.5)
        part = {name.removeprefix("0.0."): w[name] for name in w if name.startswith("0.0.")}
        marks = (at[name].start for name in ("symbol", "asks", "data"))
        self.carrier.write(part, Trip(at["s"], at["wanted"], *marks))
        identity(w["1.0.K"], at["word"], slice(0, D))
        identity(w["1.0.Q"], at["wanted"], slice(0, D), vanishing(self.task.n))
        w["1.0.K"][at["data"], D], w["1.0.Q"][at["asks"], D] = 1, -vanishing(self.task.n) * D
        w["1.0.V"][at["symbol"]] = w["1.0.O"][:, at["share"]] = 1
        w["readout.U"][at["threshold"]] = np.array([-1, 1])
        w["readout.U"][at["share"]] = np.array([1, -1])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r, n = Roundoff.of(precision), self.task.length
        if r is None or not holds(precision, self.words.k, 2**40) or self.carrier.error(n, r) > 0:
            return None
        return share_margin(self.task.n, 2, r)

    def hints(self) -> dict[str, Any]:
        """The last token shares its weight among the copies, s and itself."""
        return {"looks": [[1, 0, 0, "k", "share", "x"]]}

    @classmethod
    def examples(cls) -> tuple[CountingByCarry, ...]:
        carries = "linear(h=1,d=2,d_k=3)", "mamba2(h=2,d=4,s=1)"
        return cls(Counting(5, 3)), *(cls(Counting(4, 4), carry=Carry.named(text)) for text in carries)
