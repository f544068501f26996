r"""Bounded Dyck by three bidirectional softmax layers: averages over blocks, and digits for a causal mask.

"Uniform over j ≤ i" has rank n - 1: no head of fixed size has it.  Write places in G digits of base R, d_g
of weight R^g.  Head g looks at the block of places whose digits above g are those of i: N = R^{g+1} tokens,
which all weigh the same.  Its value has a column for each digit c, which is 0 at tokens whose digit g is
another.  So it reads

    N·y_c = Σ v_j over the j of the block whose digit g is c,          for all c at once

and the position-wise function adds those up of which the digit is smaller than d_g, by two units each:

    ReLU(±N·y_c - M·[c ≥ d_g])               and  Σ_g Σ_{c < d_g} N·y_c = Σ_{j<i} v_j.

    layer 1   v = ±1: the depth.  [level = l] by ReLUs of it, for each l, and for each digit c once more,
              closed where the token's own digit is another
    layer 2   v = ± the bits of the kind, for each level: what is open on my level
    layer 3   the average of all flags

Why it works.  Weights are 1/N, N a power of two, and all sums before the first fault are whole numbers below
2^24: nothing is rounded.  Before a closing bracket its level holds the bits, ±1, of the bracket that it
closes: its own bits cancel them, or ±2 is left.  A flag is a sum of ReLUs and never negative, whatever was
wrong before.

Three layers of G, G and one heads; keys of size log₂n, values of size (R-1)·D·⌈log₂k⌉; n is a power of two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product
from typing import Any

from limen.constructions._net import Net
from limen.constructions._weights import bits_for, digits, exponent, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Float, Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import BadInput, at_least
from limen.mixers.softmax import Softmax
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.dyck import Dyck

_NUMBERS = 1 << 22  # of a position-wise function that anybody writes down
_APART = 512  # a bit of the place that differs costs twice as much: e^-1024 is 0 in float32 and float64


@dataclass(frozen=True)
class DyckByEncoder(Construction):
    """Digits of `bits` bits of the place, the highest one of what is left, if that is less."""

    task: Dyck = Dyck()
    _: KW_ONLY
    bits: int = 3

    def __post_init__(self) -> None:
        at_least(self, bits=1)
        if exponent(self.task.n) is None:
            raise BadInput(f"dyck_by_encoder: n is a power of two, got n={self.task.n}")
        if self.hidden * (self.K * (1 + self.task.D * self.b) + self.task.D) > _NUMBERS:
            raise BadInput(f"dyck_by_encoder: for D={self.task.D} its per-position function is too large")

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByEncoder:
        """The shortest digits for which there are heads enough."""
        assert isinstance(task, Dyck)
        parts = [p.mixer for l in architecture.counted for p in l.parts if isinstance(p.mixer, Softmax)]
        length = exponent(task.n) or 1
        return cls(
            task=task, bits=-(-length // max(1, min(length, *(m.h for m in parts)))) if parts else length
        )

    @property
    def b(self) -> int:
        """Bits of a kind."""
        return bits_for(self.task.k)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The bits of each digit, from the lowest on."""
        length = self.task.n.bit_length() - 1
        return tuple(min(self.bits, length - low) for low in range(0, length, self.bits))

    @property
    def K(self) -> int:
        """Digits g and their values c but the largest, which is below none."""
        return sum((1 << size) - 1 for size in self.sizes)

    @property
    def hidden(self) -> int:
        """ReLUs of the depth: for each l, and for each digit, bit of a kind and sign again."""
        return (self.task.D + 2) * (1 + 2 * self.K * self.b)

    @property
    def M(self) -> float:
        """Larger than a depth may seem to be, wherever."""
        return 2.0 ** (2 * self.task.n + 2 * self.task.D + 16).bit_length()

    def _cells(self, g: int) -> range:
        """The numbers of digit g and each c."""
        first = sum((1 << size) - 1 for size in self.sizes[:g])
        return range(first, first + (1 << self.sizes[g]) - 1)

    @cached_property  # a unit asks for it by itself
    def columns(self) -> Columns:
        told = {"opens": 1, "plus": self.b, "minus": self.b}
        for g, size in enumerate(self.sizes):  # what the place tells: not c, not larger than c, its bits
            K = (1 << size) - 1
            told |= {f"other{g}": K, f"late{g}": K, f"bits{g}": size, f"sign{g}": K}
        each = self.K * self.task.D * self.b
        return Columns.of(
            **told, depth=self.K, level=self.task.D, fault=1, kind=each, held=each, flag=1, rest=1, any=1
        )

    def _of(self, name: str) -> list[int]:
        """The column of each cell."""
        return [
            c for g in range(len(self.sizes)) for c in range(*self.columns[f"{name}{g}"].indices(1 << 62))
        ]

    def frame(self) -> Frame:
        at, k, G, D = self.columns, self.task.k, len(self.sizes), self.task.D
        tables = [("token", 2 * k, 1 + 2 * self.b)]
        codes = [Code("token", 1, "token", at["opens"].start)]
        for g, size in enumerate(self.sizes):
            R, div = 1 << size, 1 << sum(self.sizes[:g])
            tables += [(f"digit{g}", R, 2 * (R - 1) + size), (f"signs{g}", 2 * k * R, R - 1)]
            codes.append(Code("place", div, f"digit{g}", at[f"other{g}"].start))
            codes.append(Code(f"place*{2 * k}+token", div, f"signs{g}", at[f"sign{g}"].start))
        most, keys = (1 << self.sizes[0]) - 1, max(1, sum(self.sizes[1:]))
        heads = [f"h={G},d={d},d_k={keys}" for d in (most, most * D * self.b)]
        stack = ",".join(f"softmax({sizes},bidirectional=true)" for sizes in (*heads, "h=1,d=1"))
        embedding = Codes(at.width, tuple(tables), (Segment(self.task.n, tuple(codes)),))
        return Frame(
            Architecture.parse(stack), at.width, 2, embedding, (self.levels.mlp, self.flags.mlp, None)
        )

    def weights(self) -> Weights:
        at, w, each = self.columns, zeros(self.frame()), self.task.D * self.b
        self._embed(w)
        for g in range(len(self.sizes)):
            cells = self._cells(g)
            self._average(w, 0, g, at[f"sign{g}"], at["depth"].start + cells.start)
            first = at["kind"].start + cells.start * each
            kinds = slice(first, first + len(cells) * each)
            self._average(w, 1, g, kinds, at["held"].start + cells.start * each)
        self.levels.write(w, 0)
        self.flags.write(w, 1)
        w["2.0.V"][at["flag"]] = 1
        w["2.0.O"][:, at["any"]] = self.task.n
        w["readout.U"][[at["any"].start, at["rest"].start], 0] = 2
        w["readout.u"][1] = 1
        return w

    def _embed(self, w: Weights) -> None:
        k, token = self.task.k, np.arange(2 * self.task.k)
        opens, bit = (token < k).astype(np.float64), digits(self.b)[token % k]
        w["embedding.token"][:] = np.hstack(  # ±: what opens, times the bit as ±1
            [opens[:, None], bit == opens[:, None], bit != opens[:, None]]
        )
        for g, size in enumerate(self.sizes):
            R = 1 << size
            c, own = np.arange(R - 1), np.arange(R)[:, None]
            w[f"embedding.digit{g}"][:] = np.hstack([own != c, own <= c, 2 * digits(size) - 1])
            signs = (own == c)[:, None] * (2 * opens - 1)[:, None]
            w[f"embedding.signs{g}"][:] = signs.reshape(-1, R - 1)

    def _average(self, w: Weights, layer: int, g: int, values: slice, to: int) -> None:
        """Head g: all with the same digits above g score the same; what it reads times their number."""
        at, N = self.columns, 2.0 ** sum(self.sizes[: g + 1])
        Q, K, V, O = (w[f"{layer}.0.{name}"] for name in "QKVO")
        d, first, G = V.shape[1] // len(self.sizes), g * (Q.shape[1] // len(self.sizes)), len(self.sizes)
        for above in range(g + 1, G):
            columns = slice(first, first + self.sizes[above])
            identity(Q, at[f"bits{above}"], columns, _APART)
            identity(K, at[f"bits{above}"], columns)
            first = columns.stop
        count = values.stop - values.start
        identity(V, values, slice(g * d, g * d + count))
        identity(O, slice(g * d, g * d + count), slice(to, to + count), N)

    def _before(self, net: Net, columns: list[int], M: float) -> dict[int, float]:
        """Units that add up to Σ_{j<i} v_j; `columns` hold the sums of each cell."""
        before = dict[int, float]()
        for column, late in zip(columns, self._of("late"), strict=True):
            for sign in (1, -1):
                before[net.unit({column: sign, late: -M})] = sign
        return before

    def _tent(
        self, net: Net, of: dict[int, float], to: list[int], factor: float
    ) -> Iterator[tuple[int, float]]:
        """[x = l], l = 1 … D, of a whole number x ≤ D + 1, times a factor; all that goes to whom."""
        D = self.task.D
        for j in range(D + 2):
            parts = {l: f for l, f in ((j + 1, 1), (j, -2), (j - 1, 1)) if 1 <= l <= D}
            net.gate(of, {to[l - 1]: f * factor for l, f in parts.items()}, -j)
            yield len(net.gates) - 1, sum(parts.values())

    @cached_property
    def levels(self) -> Net:
        """Its level is the depth before an opening bracket, and 1; before a closing one it is the depth."""
        net, at, D, M = Net(), self.columns, self.task.D, self.M
        x = self._before(net, [*range(*at["depth"].indices(1 << 62))], M)
        x |= {net.unit({at["opens"].start: 1}): 1}
        other = [net.unit({c: 1}) for c in self._of("other")]
        signs = [[net.unit({at[name].start + i: 1}) for i in range(self.b)] for name in ("minus", "plus")]
        fault, level = at["fault"].start, [at["level"].start + l for l in range(D)]
        net.constants[fault] = 1
        for gate, least in [*self._tent(net, x, level, 1)]:
            of, bias, told = net.gates[gate]
            net.gates[gate] = of, bias, {**told, fault: -least}
        for cell, i, closed in product(range(self.K), range(self.b), range(2)):
            to = [at["kind"].start + (cell * D + l) * self.b + i for l in range(D)]
            [*self._tent(net, x | {other[cell]: -M, signs[closed][i]: -M}, to, 1 - 2 * closed)]
        return net

    @cached_property
    def flags(self) -> Net:
        """A closing bracket whose level holds another kind, or a fault; whether something is left open."""
        net, at, D, b = Net(), self.columns, self.task.D, self.b
        opens, fault = net.unit({at["opens"].start: 1}), net.unit({at["fault"].start: 1})
        level = [net.unit({at["level"].start + l: 1}) for l in range(D)]
        plus, minus = ([net.unit({at[name].start + i: 1}) for i in range(b)] for name in ("plus", "minus"))
        flag, M = {at["flag"].start: 1.0}, 2.0 ** (2 * self.task.n.bit_length() + 4)
        for l, i in product(range(D), range(b)):
            columns = [at["held"].start + (cell * D + l) * b + i for cell in range(self.K)]
            before = self._before(net, columns, M)
            for sign in (1, -1):
                held = {u: sign * f for u, f in before.items()} | {plus[i]: sign, minus[i]: -sign}
                net.gate(held | {level[l]: 4, opens: -4}, flag, -4)
        net.gate({fault: 1}, flag)
        net.gate({level[0]: -1, opens: 1}, {at["rest"].start: 1}, 1)
        return net

    def hints(self) -> dict[str, Any]:
        """Tokens are followed by the brackets that are open."""
        return {"how": "blocks"}

    def margin(self, precision: Precision) -> float | None:
        """All is exact where whole numbers up to 2M + n + … are."""
        most = 2 * self.M + 2 * self.task.n + 2 * self.task.D + 16
        exact = isinstance(precision, Float) and max(8 * self.task.n, most) <= 2.0**precision.t
        return 1.0 if exact else None

    @classmethod
    def examples(cls) -> tuple[DyckByEncoder, ...]:
        small = cls(Dyck(2, 1, 1), bits=1), cls(Dyck(8, 1, 2), bits=2), cls(Dyck(4, 2, 2), bits=1)
        return *small, cls(Dyck(4, 3, 1), bits=2)
