r"""Bounded Dyck by a ReLU recurrence that keeps the open brackets, newest first, in D slots of bits.

    slot_i' = push·slot_{i-1} + pop·slot_{i+1},     slot_{-1} = the bracket read,     lost' = lost + (a fault)

Why it works.  A slot holds the b = ⌈log₂k⌉ bits of a kind and a bit "taken"; a product of two bits is
ReLU(x + y - 1), and of two such products at most one is 1, so their sum is a bit again.  The faults, each a
bit and 0 once the text is lost, exclude each other:

    push on a full stack     ReLU(push + taken_{D-1} - lost - 1)
    pop of an empty one      ReLU(pop - taken_0 - lost)
    pop of another kind      ReLU(z) - ReLU(z-1)  with  z = ±(kind_0 - kind) + K(pop + taken_0 - lost - 2)

The last is [z ≥ 1], z being an integer, for either sign; with K = 2^b > |kind_0 - kind| it asks for pop,
taken_0 and not lost.  The text is right if at its end nothing is lost and the top slot is free.

One layer of two stages; state d = D(b+1) + 1, inner stage (2D-1)(b+1) + 3, and 4 more for k ≥ 2.  The state
is d bits at any length, where any machine needs log₂(Σ k^h + 1), h = 0..D [hewitt2020] [bhattamishra2024].
Every number is an integer of size at most 4K: z - 1 is -4K when all is lost, the top slot is free and the
last kind is pushed; a logit is 4.  So t significant bits are enough if 4K ≤ 2^t (bfloat16: k ≤ 64), and
fixed point if 4K < 2^top.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from limen.constructions._margins import whole
from limen.constructions._weights import zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.dyck import Dyck


class Unit(NamedTuple):
    """A ReLU of the inner stage: what it adds up of the old state and the token, and what it adds to."""

    state: dict[int, int]
    token: dict[int, int]
    bias: int
    to: dict[int, int]


@dataclass(frozen=True)
class DyckByReluRnn(Construction):
    """One layer; every number of the state is 0 or 1."""

    task: Dyck = Dyck()

    @property
    def b(self) -> int:
        """The bits of a kind; none if there is one kind."""
        return (self.task.k - 1).bit_length()

    @property
    def columns(self) -> Columns:
        return Columns.of(push=1, pop=1, kind=self.b, fault=1)

    @property
    def state(self) -> Columns:
        """The recurrence's state: D slots of b bits of a kind and one that says "taken"."""
        return Columns.of(slots=self.task.D * (self.b + 1), lost=1)

    def units(self) -> Iterator[Unit]:
        """The inner stage."""
        b, D, K, at = self.b, self.task.D, 1 << self.b, self.columns
        push, pop, kind, lost = at["push"].start, at["pop"].start, at["kind"].start, self.state["lost"].start
        taken, full = b, (D - 1) * (b + 1) + b
        for c in range(b + 1):
            bit = {} if c == b else {kind + c: 1}
            yield Unit({}, {push: 1} | bit, -len(bit), {c: 1})
            for i in range(c, (D - 1) * (b + 1), b + 1):
                yield Unit({i: 1}, {push: 1}, -1, {i + b + 1: 1})
                yield Unit({i + b + 1: 1}, {pop: 1}, -1, {i: 1})
        yield Unit({lost: 1}, {}, 0, {lost: 1})
        yield Unit({full: 1, lost: -1}, {push: 1}, -1, {lost: 1})
        yield Unit({taken: -1, lost: -1}, {pop: 1}, 0, {lost: 1})
        for sign in (1, -1) if b else ():
            top = {c: sign << c for c in range(b)} | {taken: K, lost: -K}
            read = {kind + c: -sign << c for c in range(b)} | {pop: K}
            yield Unit(top, read, -2 * K, {lost: 1})
            yield Unit(top, read, -2 * K - 1, {lost: -1})

    def frame(self) -> Frame:
        k, n, width = self.task.k, self.task.n, self.columns.width
        inner = (2 * self.task.D - 1) * (self.b + 1) + 3 + (4 if self.b else 0)  # as many as there are units
        return Frame(
            Architecture.parse(f"relu_rnn(d={self.state.width},stages=2,inner={inner})"),
            width,
            self.task.answers,
            Codes(width, (("bracket", 2 * k, 2 + self.b),), (Segment(n, (Code("token", 1, "bracket", 0),)),)),
        )

    def weights(self) -> Weights:
        k, at, w = self.task.k, self.columns, zeros(self.frame())
        token = np.arange(2 * k)
        w["embedding.bracket"][:, at["push"]] = (token < k).astype(np.float64)[:, None]
        w["embedding.bracket"][:, at["pop"]] = (token >= k).astype(np.float64)[:, None]
        w["embedding.bracket"][:, at["kind"]] = (token[:, None] % k >> np.arange(self.b) & 1).astype(
            np.float64
        )
        for u, unit in enumerate(self.units()):
            for name, terms in (("W1", unit.state), ("U", unit.token)):
                for row, factor in terms.items():
                    w[f"0.0.{name}"][row, u] = factor
            w["0.0.b1"][u] = unit.bias
            for column, factor in unit.to.items():
                w["0.0.W2"][u, column] = factor
        w["0.0.O"][self.state["lost"], at["fault"]] = 1
        w["0.0.O"][self.b, at["fault"]] = 1  # the top slot is taken
        w["readout.U"][at["fault"], 0] = 2  # logits (2·faults, 1)
        w["readout.u"][1] = 1
        return w

    def margin(self, precision: Precision) -> float | None:
        """Logits (0, 1) for yes and (2 or 4, 1) for no, where all integers are exact."""
        return 1.0 if whole(precision, 4 << self.b) else None

    def hints(self) -> dict[str, Any]:
        """Where the slots and `lost` stand in the state."""
        size, lost = self.b + 1, self.state["lost"].start
        slots = {f"s{i}": list(range(i * size, (i + 1) * size)) for i in range(self.task.D)}
        return {"cells": slots | {"lost": [lost]}}

    @classmethod
    def examples(cls) -> tuple[DyckByReluRnn, ...]:
        sizes = ((4, 1, 1), (8, 1, 2), (6, 2, 1), (6, 2, 3), (4, 3, 2), (4, 5, 2))
        return tuple(cls(Dyck(*size)) for size in sizes)
