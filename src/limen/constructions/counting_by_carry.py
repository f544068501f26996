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

from limen.constructions._addresses import BinaryWords
from limen.constructions._carries import Carry, Trip, carry_of, plain
from limen.constructions._copies import share_margin
from limen.constructions._fields import ONE, table, tokens
from limen.constructions._lookup import vanishing
from limen.constructions._margins import Roundoff, holds
from limen.constructions._program import Attend, Logits, Match, Program, Programmed, Tier
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.text import spell
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.tasks.counting import Counting


@dataclass(frozen=True)
class CountingByCarry(Programmed):
    """`carry` is the first layer's mixer; linear attention with φ = relu unless said."""

    task: Counting = Counting()
    _: KW_ONLY
    carry: Carry | None = None

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> CountingByCarry:
        """By the first layer that can carry."""
        D = BinaryWords.of(task.S).k if isinstance(task, Counting) else 1
        parts = (part for layer in architecture.counted for part in layer.parts)
        able = (carry.fitted(D, 0) for part in parts if (carry := carry_of(part.mixer)))
        return cls(task=task, carry=next(filter(None, able), None))  # type: ignore[arg-type]

    @property
    def words(self) -> BinaryWords:
        return BinaryWords.of(self.task.S)

    @property
    def carrier(self) -> Carry:
        D = self.words.k
        carrier = (self.carry or plain(D)).fitted(D, 0)
        if carrier is None:
            raise BadInput(f"{self.carry} is too small to carry {D} signs")
        return carrier

    @property
    def program(self) -> Program:
        """The last token shares its weight among the copies, s and itself."""
        n, D, c = self.task.n, self.words.k, vanishing(self.task.n)
        first = Tier(mixer=spell(self.carrier.mixer, p=2), write=self._carry, fills={"wanted": D})
        match = [Match({"wanted": c}, {"word": 1}), Match({"asks": -c * D}, {"data": 1})]
        threshold = table("threshold", n + 1, 1, lambda: 1 / (np.arange(n + 1)[:, None] + 1.5))
        return Program(
            text=[
                tokens(n, word=self.words.field("token"), data=ONE),
                tokens(1, s=self.words.field("token"), symbol=ONE),
                tokens(1, asks=ONE, threshold=threshold),
            ],
            layers=[first, Tier([Attend([("k", "share", "x")], match, {"share": {"symbol": 1}})])],
            readout=Logits({"threshold": (-1, 1), "share": (1, -1)}),
        )

    def _carry(self, w: Weights, at: Columns) -> None:
        """The signs of s go to the token behind it."""
        marks = (at[name].start for name in ("symbol", "asks", "data"))
        self.carrier.write(w, Trip(at["s"], at["wanted"], *marks))

    def margin(self, precision: Precision) -> float | None:
        r, n = Roundoff.of(precision), self.task.length
        if r is None or not holds(precision, self.words.k, 2**40) or self.carrier.error(n, r) > 0:
            return None
        return share_margin(self.task.n, 2, r)

    @classmethod
    def examples(cls) -> tuple[CountingByCarry, ...]:
        carries = "linear(h=1,d=2,d_k=3)", "mamba2(h=2,d=4,s=1)"
        return cls(Counting(5, 3)), *(cls(Counting(4, 4), carry=Carry.named(text)) for text in carries)
