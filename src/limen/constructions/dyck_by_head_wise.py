r"""Bounded Dyck of depth at most 4 by two layers of linear heads, which add up, beside softmax heads.

    layer 1   linear:   the depth h;  Σ ±(bits of the kind) over the brackets of my class
              softmax:  the kind of the latest opening bracket of my class
    layer 2   is there a token with a fault?

Why it works.  As dyck_by_two_softmax: brackets of levels 3, 4 belong to the latest of their class, and
those of levels 1, 2 have a class whose sum is 0 after a closing bracket that is right.  The normaliser of
linear attention is anchored at token 1 (_additive.py), so that it adds up; a feature φ(64(x + y - 2)) = [x
and y] tells what class a bracket is of. Sums are whole numbers up to n, exact in float32 up to n = 2^22,
whatever was wrong before.

Two layers: three linear heads, with keys of size 5 or more, beside one softmax head with keys of size 4;
one softmax head.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from flint import arb

from limen.constructions._additive import A
from limen.constructions._depths import KINDS, SoftmaxDyck
from limen.constructions._features import SHUT, linear_keys
from limen.constructions._margins import Roundoff, certified, holds, in_balls
from limen.constructions._net import Net
from limen.constructions._weights import zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.model.embedding import Codes
from limen.model.model import Frame
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByHeadWise(SoftmaxDyck):
    """Linear heads: depth, class sums, token 1; unused keys are shut, so their size must be known."""

    task: Dyck = Dyck()
    _: KW_ONLY
    d_k: int = 5

    def __post_init__(self) -> None:
        if self.task.D > 4 or self.d_k < 5:
            raise BadInput(
                f"dyck_by_head_wise: D ≤ 4 and keys of size 5, got D={self.task.D}, d_k={self.d_k}"
            )

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByHeadWise:
        return cls(task=task, d_k=linear_keys(architecture, 5))  # type: ignore[arg-type]

    @property
    def heads(self) -> int:
        return 1

    @cached_property  # a level asks for it by itself
    def columns(self) -> Columns:
        summed = {"opened": self.b, "closed": self.b, "sign": 1}
        return Columns.of(
            **self.told, **summed, h=1, sum=self.b, mine=self.b, held=self.b, rest=1, flag=1, any=1
        )

    def frame(self) -> Frame:
        at, b = self.columns, self.b
        tables, segments = self.laid(at["sign"].stop)
        first = f"softmax(h=1,d={b},d_k=4)|linear(h=3,d={b + 1},d_k={self.d_k})"
        stack = Architecture.parse(f"{first},softmax(h=1,d=1)")
        return Frame(stack, at.width, 2, Codes(at.width, tables, segments), (self.net.mlp, None))

    @property
    def net(self) -> Net:
        """h is a whole number: relu(1 - 4(h - m + 1/2)) is 0 iff h ≥ m, else at least 3."""
        net, at, D = Net(), self.columns, self.task.D
        flag, h = at["flag"].start, at["h"].start

        def deep(m: int) -> int:
            return net.unit({h: -4}, 4 * m - 1)

        def flat(m: int) -> int:  # 0 iff h < m
            return net.unit({h: 4}, 3 - 4 * m)

        opens, closes = (net.unit({at[name].start: 1}) for name in ("opens", "closes"))
        for does, out in ((opens, flat(1)), (opens, deep(D + 1)), (closes, flat(0)), (closes, deep(D))):
            net.gate({does: 1, out: -1}, {flag: 1})
        net.gate({net.unit({h: 1}): 1}, {at["rest"].start: 1})
        high, low = deep(2), flat(2)  # of a closing bracket: levels 3 and 4, levels 1 and 2
        for i in range(self.b):
            bit, held, total, mine = (at[name].start + i for name in ("bit", "held", "sum", "mine"))
            for sign in (4, -4):
                other = net.unit({bit: -sign, held: sign}, 3)
                net.gate({closes: 1, high: -1, other: -1}, {flag: 1})
            plus, minus = net.unit({total: 1}), net.unit({total: -1})
            first = net.unit({mine: 1, at["even"].start: 1}, -1)  # token 1 is of the class of my level
            for sign in (1, -1):
                net.gate({plus: sign, minus: -sign, first: sign, opens: -4, low: -4}, {flag: 1})
        return net

    def weights(self) -> Weights:
        w = zeros(self.frame())
        self.embed(w)
        self.latest_of_class(w, 0, 0)
        self._sums(w)
        self.net.write(w, 0)
        self.any_flag(w, 1)
        return w

    def _sums(self, w: Weights) -> None:
        """Heads 0, 1: anchored sums; head 2: what token 1 is."""
        at, r, d = self.columns, self.d_k, self.b + 1
        Q, K, V, O = (w[f"0.1.{name}"] for name in "QKVO")
        one, first = at["one"].start, at["first"].start
        Q[one] = K[one] = -SHUT
        Q[one, 0] = K[one, 0] = Q[one, 1] = Q[one, r + 4] = Q[one, 2 * r] = 0
        K[first, 0], K[first, 1], K[first, r + 4], K[first, 2 * r] = -SHUT, A, A, SHUT
        for c, (does, place, shift) in enumerate(KINDS, r):  # a bracket's class is odd iff its shift is
            K[[at[f"k_{does}"].start, at[f"k_{place}"].start], c], K[one, c] = SHUT, -2 * SHUT
            Q[one, c], Q[at["odd" if shift % 2 else "even"], c] = 0, -SHUT
        V[at["k_opens"], 0], V[at["k_closes"], 0], O[0, at["h"]] = 1, -1, A
        V[at["sign"], 2 * d] = O[2 * d, at["h"]] = 1
        for i in range(self.b):
            V[at["opened"].start + i, d + i], V[at["closed"].start + i, d + i] = 1, -1
            O[d + i, at["sum"].start + i] = A
            V[at["kind1"].start + i, 2 * d + 1 + i] = O[2 * d + 1 + i, at["mine"].start + i] = 1

    def embed(self, w: Weights) -> None:
        """Kinds as they are summed up: 0 at token 1, which has its sign instead."""
        super().embed(w)
        at = self.columns
        for name in ("middle", "end"):
            table = w[f"embedding.{name}"]
            table[:, at["opened"]] = table[:, at["bit"]] * table[:, at["opens"]]
            table[:, at["closed"]] = table[:, at["bit"]] * table[:, at["closes"]]
        begin = w["embedding.begin"]
        begin[:, at["sign"]] = 2 * begin[:, at["opens"]] - 1

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Sums are whole where formats hold numbers up to n, and A + 2n is rounded to A or nearly so."""
        r, n = Roundoff.of(precision), self.task.n
        held = None if r is None else self.latest(r)
        if r is None or held is None or not held < 2.0**-4 or not holds(precision, 2 * n, 2**100):
            return None
        if 8 * n < A * r.u:
            return self.verdict_margin(r)
        error, margin = 2 * n / arb(A) + 8 * r.u, self.verdict_margin(r)  # of a sum, relative to it
        return None if margin is None or not 16 * n * error < 1 else certified(margin - 32 * error)

    @classmethod
    def examples(cls) -> tuple[DyckByHeadWise, ...]:
        sizes = ((2, 1, 1), (6, 1, 2), (6, 2, 3), (4, 3, 4))
        return *(cls(Dyck(*size)) for size in sizes), cls(Dyck(6, 2, 2), d_k=7)
