r"""Bounded Dyck of depth at most 4 by two softmax layers, which distinguish levels by their parity.

Class of a bracket: the parity of its level.  It is that of its place if it opens, the other one if it
closes, for the parity of the depth is that of the place: no depth is needed to know it.

    levels 3, 4   inside such a pair stand only pairs of level 4, whose class is the other one: the latest
                  opening bracket of my class is mine
    levels 1, 2   all pairs of levels 3 and 4 cancel, for they are checked: after a closing bracket that is
                  right there are in my class as many opening brackets with bit β as closing ones

    layer 1   the depth (_depths.py); the kind of the latest opening bracket of my class; for each bit of a
              kind 1/(1 + opening ones), 1/(1 + closing ones) of my class with another bit than mine
    layer 2   is there a token with a fault?

Why it works.  If a closing bracket is the first that is wrong, some bit of its partner is another one: of
the brackets with that bit one more was opened than closed.  Token 1 is the anchor of the counts and not
counted itself, so where it is one of these, which all know, one less is counted:

    not one of these    right: as many were opened as closed      wrong: one more was opened
    one of these        right: one less was opened                wrong: as many were opened as closed

Shares A, B of up to n/2 brackets are equal or differ by (A + B)/(n + 3): ±(A - B) > (A + B)/(2n) tells which.
Where nothing was wrong before, the level says which of the two checks counts.

Two layers of 2 + 2⌈log₂k⌉ heads and one; keys of size 5, values of size ⌈log₂k⌉ + 1; log₂n + 4 bits.  At D
= 5 levels 1 and 3 share a class and neither is the latest: the same weights fail there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from limen.constructions._depths import KINDS, C, SoftmaxDyck
from limen.constructions._margins import Roundoff
from limen.constructions._net import Net
from limen.constructions._weights import zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Codes
from limen.model.model import Frame
from limen.tasks.dyck import Dyck

_KEYS = 5


@dataclass(frozen=True)
class DyckByTwoSoftmax(SoftmaxDyck):
    """Heads: the share, the latest, then for each bit opening and closing ones with another one than mine."""

    task: Dyck = Dyck()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task.D > 4:
            raise BadInput(f"dyck_by_two_softmax: two layers do D ≤ 4, got D={self.task.D}")

    @property
    def heads(self) -> int:
        return 2 + 2 * self.b

    @cached_property  # a level asks for it by itself
    def columns(self) -> Columns:
        counts = {"others": 2 * self.b}  # of each bit: opening, closing
        return Columns.of(
            **self.told,
            threshold=self.T + 1,
            share=1,
            mine=self.b,
            held=self.b,
            **counts,
            rest=1,
            flag=1,
            any=1,
        )

    def frame(self) -> Frame:
        at = self.columns
        tables, segments = self.laid_with_thresholds()
        stack = f"softmax(h={self.heads},d={self.b + 1},d_k={_KEYS}),softmax(h=1,d=1)"
        return Frame(
            Architecture.parse(stack), at.width, 2, Codes(at.width, tables, segments), (self.net.mlp, None)
        )

    @property
    def net(self) -> Net:
        """A fault becomes a flag at once; the checks count at closing brackets, by their level."""
        net, at, share = Net(), self.columns, self.columns["share"].start
        flag = {at["flag"].start: 1.0}
        self._out_of_range(net, flag)
        net.gate({net.unit({at["fault"].start: 1}): 1}, flag)
        closes, high, low = net.unit({at["closes"].start: 1}), self.deep(net, 1), self._flat(net, 1)
        odd = net.unit({at["odd"].start: 1})  # 0 where a closing bracket has the class of token 1
        for i in range(self.b):
            bit, held, mine = (at[name].start + i for name in ("bit", "held", "mine"))
            for sign in (4, -4):
                other = net.unit({bit: -sign, held: sign}, 3)  # 0 iff the latest one has the other bit
                net.gate({closes: 1, high: -1, other: -1}, flag)
            fewer, more = self._uneven(net, at["others"].start + 2 * i)
            net.gate({closes: 1, low: -1, fewer: -1}, flag)
            is_zero = net.unit({mine: self.S, share: -self.S / 2}, 1)  # 0 iff token 1 has the bit 0
            is_one = net.unit({mine: -self.S, share: self.S / 2}, 1)
            for same, known in ((net.unit({bit: -1}, 1), is_zero), (net.unit({bit: 1}), is_one)):
                net.gate({closes: 1, low: -1, odd: -1, same: -1, known: -1, more: -1}, flag)
        return net

    def _flat(self, net: Net, t: int) -> int:
        """0 iff N < B + t; else 1 or more."""
        at = self.columns
        return net.unit({at["threshold"].start + t: self.S, at["share"].start: -self.S}, 1)

    def _out_of_range(self, net: Net, flag: dict[int, float]) -> None:
        """A level 2t + shift below 1 or above D is a flag; whether brackets are open at an even place."""
        at, D = self.columns, self.task.D
        for does, place, shift in KINDS:
            is_one = net.unit({at[does].start: 1, at[place].start: 1}, -1)
            least, beyond = -(-(1 - shift) // 2), (D - shift) // 2 + 1  # t from the one, below the other
            net.gate({is_one: 1, self._flat(net, least): -1}, flag)
            net.gate({is_one: 1, self.deep(net, beyond): -1}, flag)
        net.gate({net.unit({at["even"].start: 1}): 1, self.deep(net, 1): -1}, {at["rest"].start: 1})

    def _uneven(self, net: Net, first: int) -> tuple[int, int]:
        """0 iff share A is surely below B: B - A > (A + B)/(2n); and 0 iff it is not surely above."""
        slack, (A, B) = self.S / (2 * self.task.n), (first, first + 1)
        below = net.unit({A: slack + self.S, B: slack - self.S}, 1)
        return below, net.unit({A: self.S - slack, B: -self.S - slack}, 1)

    def weights(self) -> Weights:
        at, b = self.columns, self.b
        w = zeros(self.frame())
        self.embed(w)
        self.fill_thresholds(w)
        self.share(w, 0)
        for i in range(b):
            w["0.0.V"][at["kind1"].start + i, 1 + i] = 1
            w["0.0.O"][1 + i, at["mine"].start + i] = 1
        self.latest_of_class(w, _KEYS, b + 1)
        for i in range(b):
            for closing in range(2):
                head = 2 + 2 * i + closing
                self._count(w, head, i, closing)
                w["0.0.O"][head * (b + 1), at["others"].start + 2 * i + closing] = 1
        self.net.write(w, 0)
        self.any_fault(w, 1)
        return w

    def _count(self, w: Weights, head: int, i: int, closing: int) -> None:
        """Score 0 at token 1 and at brackets of my class that open, or close, with another bit i than mine;
        else ≤ -64.
        """
        at, first = self.columns, head * _KEYS
        Q, K = w["0.0.Q"], w["0.0.K"]
        for c, (mine, its) in enumerate((("even", "k_odd"), ("odd", "k_even"))):
            Q[at[mine], first + c] = C
            K[at[its if closing else f"k_{mine}"], first + c] = -1
        Q[at["one"], first + 2] = C
        K[at["k_opens" if closing else "k_closes"], first + 2] -= 1
        for c, name in enumerate(("k_bit", "k_not"), first + 3):
            Q[at[name].start + i, c], K[at[name].start + i, c] = C, -1
        w["0.0.V"][at["first"], head * (self.b + 1)] = 1

    def hints(self) -> dict[str, Any]:
        """Tokens are followed by the brackets that are open."""
        return {"how": "shares"}

    def margin(self, precision: Precision) -> float | None:
        """A difference of two shares is 1/n of a share away from the slack; each errs by some 8 roundings."""
        r, n, margin = Roundoff.of(precision), self.task.n, super().margin(precision)
        if r is None:
            return None
        error = 2 * ((1 + r.u) ** 2 * (1 + r.sums(4)) - 1) + 2 * r.u
        return margin if self.S * (1 / (n + 4) - error) * 2 / (n + 4) > 2 else None

    @classmethod
    def examples(cls) -> tuple[DyckByTwoSoftmax, ...]:
        return tuple(cls(Dyck(*size)) for size in ((2, 1, 1), (6, 1, 2), (6, 2, 3), (4, 3, 4)))
