r"""Bounded Dyck by three additive memories: depth, signed slots by level, any fault.

    h_i = #opening - #closing up to i           level_i = h_i if i opens, h_i + 1 if it closes

    memory 1   h                          local: [level = 1] … [level = D], fault = [level < 1 or > D]
    memory 2   s = Σ ±(bits of the kind), over the tokens of my level
                                          local: flag = fault + [I close and s ≠ 0]
    memory 3   any = Σ flags              yes iff any = 0 and h_n = 0

Why it works.  On one level brackets alternate: opening, closing, opening, …  As long as nothing was wrong,
s is the kind that is open on this level, or 0; after a closing bracket of the right kind it is 0, after
another one some bit of it is ±1.  So the first fault is seen where it happens.  What later tokens hold may
be anything, but flags are sums of ReLUs and never negative: `any` stays at least 1.  All numbers before the
first fault are whole and at most 4D + 7 in size; so are sums over any stretch of tokens: they are
differences of such numbers.

A state of D⌈log₂k⌉ + 2 numbers, any n; locals of 2D + 3 and 2⌈log₂k⌉ + 1 ReLUs, 2⌈log₂k⌉ more with an
anchor.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from limen.constructions._additive import Additive, AnchoredMemory, SignedSum, machine
from limen.constructions._features import SHUT
from limen.constructions._margins import Roundoff, certified, holds
from limen.constructions._weights import bits_for, digits, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByMemories(Construction):
    """Three layers of one recurrence."""

    task: Dyck

    @property
    @abstractmethod
    def memory(self) -> Additive:
        """The recurrence of all three layers, as large as the architecture's."""

    @property
    def b(self) -> int:
        """Bits of a kind."""
        return bits_for(self.task.k)

    @cached_property  # a level asks for it by itself
    def columns(self) -> Columns:
        """`plus` … `closed` are what the memories sum up; with an anchor they are 0 at token 1."""
        b, D = self.b, self.task.D
        told = {"one": 1, "opens": 1, "plus": 1, "minus": 1, "closes": 1, "opened": b, "closed": b}
        first = {"first": 1, "then": 1, "sign": 1, "kind": b, "kind1": b} if self.memory.anchored else {}
        return Columns.of(**told, **first, h=1, level=D, fault=1, rest=1, s=b, flag=1, any=1)

    def frame(self) -> Frame:
        at, n, memory = self.columns, self.task.n, self.memory
        memory.fit(self.task.D, self.b + memory.anchored)
        size = at["kind" if memory.anchored else "closed"].stop
        counts = {"begin": 1, "then": n - 1} if memory.anchored else {"then": n}
        return Frame(
            Architecture.parse(",".join(map(memory.text, self._heads))),
            at.width,
            self.task.answers,
            Codes(
                at.width,
                tuple((name, 2 * self.task.k, size) for name in counts),
                tuple(Segment(count, (Code("token", 1, name, 0),)) for name, count in counts.items()),
            ),
            (Mlp(2 * self.task.D + 3 + (2 * self.b if memory.anchored else 0)), Mlp(2 * self.b + 1), None),
        )

    @property
    def _heads(self) -> tuple[int, int, int]:
        """An anchored memory needs a second head to tell all tokens what the first one is."""
        return (2, 1, 1) if self.memory.anchored else (1, 1, 1)

    def weights(self) -> Weights:
        at, w = self.columns, zeros(self.frame())
        anchored = isinstance(self.memory, AnchoredMemory)
        self._embed(w["embedding.then"], "plus", "minus", "opened", "closed")
        depth = SignedSum(at["one"], at["plus"], at["minus"], at["h"])
        self.memory.write(w, 0, depth, at)
        if isinstance(self.memory, AnchoredMemory):
            self._begin(w, self.memory)
        self._levels(w)
        if anchored:
            w["embedding.then"][:, at["then"]] = 1
            self._first_kind(w)
        self.memory.write(w, 1, SignedSum(at["level"], at["opened"], at["closed"], at["s"]), at)
        self._flags(w)
        self.memory.write(w, 2, SignedSum(at["one"], at["flag"], None, at["any"]), at)
        w["readout.U"][[at["any"].start, at["rest"].start], 0] = 2  # logits (2(any + rest), 1)
        w["readout.u"][1] = 1
        return w

    def _embed(self, table: Array, *summed: str) -> None:
        """What a token is: whether it opens or closes, and its kind."""
        at, k = self.columns, self.task.k
        opens = (np.arange(2 * k) < k).astype(np.float64)[:, None]
        kind = digits(self.b)[np.arange(2 * k) % k]
        table[:, at["one"]], table[:, at["opens"]], table[:, at["closes"]] = 1, opens, 1 - opens
        values = {"plus": opens, "minus": 1 - opens, "opened": kind * opens, "closed": kind * (1 - opens)}
        for name in summed:
            table[:, at[name]] = values[name]

    def _begin(self, w: Weights, memory: AnchoredMemory) -> None:
        """Token 1 is the anchor: the second head copies what it would add to all."""
        at, table = self.columns, w["embedding.begin"]
        self._embed(table)
        table[:, at["first"]] = 1
        table[:, at["sign"]] = 2 * table[:, at["opens"]] - 1
        table[:, at["kind"]] = digits(self.b)[np.arange(2 * self.task.k) % self.task.k]
        kinds = zip(
            range(at["kind"].start, at["kind"].stop), range(at["kind1"].start, at["kind1"].stop), strict=True
        )
        memory.copy_first(w, 0, [(at["sign"].start, at["h"].start), *kinds], at)

    def _levels(self, w: Weights) -> None:
        """[level ≥ l] = relu(4(level - l) + 3) - relu(4(level - l) + 2): exact for whole numbers ± 1/4."""
        at, D = self.columns, self.task.D
        W1, b1, W2, b2 = (w[f"0.local.{name}"] for name in ("W1", "b1", "W2", "b2"))
        fault, level = at["fault"].start, at["level"].start
        for l in range(1, D + 2):
            for unit, bias, sign in ((2 * l - 2, 3, 1), (2 * l - 1, 2, -1)):
                W1[[at["h"].start, at["closes"].start], unit] = 4
                b1[unit] = bias - 4 * l
                if l <= D:
                    W2[unit, level + l - 1] = sign
                if l > 1:
                    W2[unit, level + l - 2] = -sign
                W2[unit, fault] += -sign if l == 1 else 0
                W2[unit, fault] += sign if l == D + 1 else 0
        b2[fault] = 1
        W1[at["h"], 2 * D + 2] = W2[2 * D + 2, at["rest"]] = 1

    def _first_kind(self, w: Weights) -> None:
        """Token 1 is on level 1: on others what it adds, `kind1`, becomes 0."""
        at, D, first = self.columns, self.task.D, 2 * self.task.D + 3
        W1, b1, W2 = (w[f"0.local.{name}"] for name in ("W1", "b1", "W2"))
        gate = 1 << (4 * D).bit_length()
        for i, kind in enumerate(range(at["kind1"].start, at["kind1"].stop)):
            for unit, bias, sign in ((first + 2 * i, 3, -1), (first + 2 * i + 1, 2, 1)):
                W1[[at["h"].start, at["closes"].start], unit] = 4
                W1[kind, unit] = gate
                b1[unit] = bias - 8 - gate
                W2[unit, kind] = sign

    def _flags(self, w: Weights) -> None:
        """relu(±s - 2·opens) and relu(fault): never negative."""
        at, W1, W2 = self.columns, w["1.local.W1"], w["1.local.W2"]
        for i in range(self.b):
            for unit, sign in ((2 * i, 1), (2 * i + 1, -1)):
                W1[at["s"].start + i, unit] = sign
                if self.memory.anchored:
                    W1[at["kind1"].start + i, unit] = sign
                W1[at["opens"], unit] = -2
        W1[at["fault"], 2 * self.b] = 1
        W2[:, at["flag"]] = 1

    def hints(self) -> dict[str, Any]:
        """Tokens are followed by the brackets that are open."""
        return {"how": "steps"}

    def margin(self, precision: Precision) -> float | None:
        """Where sums are exact, so is all; else levels and flags err by a few e, keys SHUT times as much."""
        format, r, D = machine(precision), Roundoff.of(precision), self.task.D
        if format is None or r is None or not holds(format, 8 * D + 16, 2**100):
            return None
        e = self.memory.error(format, r, self.task.n, 2 * D + 4)
        if e.is_zero():
            return 1.0
        e = e + SHUT * (16 * D + 32) * r.u
        return certified(1 - 8 * e) if (D + 2) * e < ball(1) / 16 else None
