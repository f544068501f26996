r"""Bounded Dyck by three bidirectional softmax layers: digits of the position replace the causal mask.

"Uniform over j ≤ i" has rank n - 1: no head of fixed size has it.  Write places in G digits of base R.
Head g looks at the j whose digits above g are those of i, and whose digit g is smaller (in the last head:
not larger): the G sets are intervals, one behind the other, and make up {j ≤ i}.  A digit costs 2⌈log₂R⌉
numbers where it must agree, R numbers where it must be smaller: one-hot against the row of those that are
not.

    layer 1   G heads: shares 1/(1 + opening brackets in the set).  In a word that is right so far half of a
              set opens, up to ⌈D/2⌉: thresholds by place tell how many more; ReLUs add up to the level
    layer 2   G heads: the latest opening bracket of my level in the set, or none
    layer 3   is there a fault, or a token whose finest head that found one found another kind?

Why it works.  Counts are exact as in _depths.py; that a set has e more than half shows in relu(f - Σ_g (two
units that are 0 iff e_g = u_g)), one for each (u_0 … u_{G-1}).  If more is missing, some depth was out of
range.  Token 1 is the anchor of the counts, and the partner of those for whom no head finds one; the last
token, which closes in a right word, is what a head looks at where there is none: it scores P/2.

Three layers of G, G and one heads; keys of size 2(G-1)⌈log₂R⌉ + R + D + 1; log₂n + 4 bits.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from itertools import product

from limen.constructions._depths import KINDS, STEP, C, SoftmaxDyck
from limen.constructions._net import Net
from limen.constructions._weights import bits_for, digits, identity, zeros
from limen.constructions._words import oppose
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.task import Task
from limen.core.weights import Array, Weights
from limen.errors import BadInput, at_least
from limen.mixers.softmax import Softmax
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.dyck import Dyck

_GATES = 2**12  # of a kind of token: one for each (u_0 … u_{G-1})


@dataclass(frozen=True)
class DyckByEncoder(SoftmaxDyck):
    """Digits of base R of the places of all tokens but the first and the last."""

    task: Dyck = Dyck()
    _: KW_ONLY
    R: int = 128

    def __post_init__(self) -> None:
        at_least(self, R=2)

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByEncoder:
        """The largest power of two for which the keys fit, if its per-position function is not too large."""
        keys = [
            p.mixer.key_size for l in architecture.counted for p in l.parts if isinstance(p.mixer, Softmax)
        ]
        ways = [cls(task=task, R=R) for R in (128, 64, 32, 16, 8, 4, 2)]  # type: ignore[arg-type]
        fits = (c for c in ways if c.key_size <= min(keys, default=0) and c._differences**c.G <= _GATES)
        return next(fits, ways[0]).payable()

    def payable(self) -> DyckByEncoder:
        """Itself, unless its per-position function has more gates than anybody writes down."""
        if self._differences**self.G > _GATES:
            raise BadInput(f"dyck_by_encoder: for D={self.task.D} its per-position function is too large")
        return self

    @property
    def G(self) -> int:
        """Digits of the places 0 … n - 2; the last is that of the last token."""
        G = 1
        while self.task.n - 1 > self.R**G:
            G += 1
        return G

    @property
    def heads(self) -> int:
        return self.G

    @property
    def size(self) -> int:
        """Bits of a digit."""
        return bits_for(self.R)

    @property
    def key_size(self) -> int:
        return 2 * (self.G - 1) * self.size + self.R + self.task.D + 2

    @property
    def U(self) -> range:
        """How many more than half: from -U to U."""
        U = self.task.D // 2 + 1
        return range(-U, U + 1)

    @property
    def _differences(self) -> int:
        return self.U.stop - self.U.start  # len() takes no number beyond 2^63

    @cached_property  # a level asks for it by itself
    def columns(self) -> Columns:
        """k_… and v_… are 0 at the first and at the last token; `ask` and `late` are asked with."""
        G, D, b = self.G, self.task.D, self.b
        words, places = 2 * (G - 1) * self.size, G * self.R
        keys = {"k_word": words, "k_digit": places, "k_place": G, "v_bit": b, "v_one": 1}
        asks = {"ask": words, "late": places, "threshold": G * (len(self.U) + 1)}
        looked_up = {"level": D, "open_level": D, "mine": b, "found": G, "held": G * b}
        return Columns.of(
            **self.told, **keys, **asks, share=G, kind_share=b, **looked_up, rest=1, flag=1, any=1
        )

    def frame(self) -> Frame:
        self.payable()
        at, G, n, head = self.columns, self.G, self.task.n, f"h={self.G},d={self.b + 1},d_k={self.key_size}"
        tables, (begin, middle, end) = self.laid(at["late"].stop)
        row = at["threshold"]
        more = [(f"digit{g}", self.R, at["late"].stop) for g in range(G)]
        more += [(name, rows, row.stop - row.start) for name, rows in self._masks.items()]
        codes = [Code("place", self.R ** (G - 1 - g), f"digit{g}", 0) for g in range(G)]
        parts = (begin.codes, (*middle.codes, *codes), end.codes)
        told = (
            (*part, Code("place", 1, name, row.start)) for part, name in zip(parts, self._masks, strict=True)
        )
        segments = tuple(Segment(count, part) for count, part in zip((1, n - 2, 1), told, strict=True))
        stack = ",".join(f"softmax({sizes},bidirectional=true)" for sizes in (head, head, "h=1,d=1"))
        embedding, locals_ = (
            Codes(at.width, (*tables, *more), segments),
            (self.net.mlp, self.compare.mlp, None),
        )
        return Frame(Architecture.parse(stack), at.width, 2, embedding, locals_)

    @property
    def _masks(self) -> dict[str, int]:
        """Tables of thresholds by place: of the first token, those between, the last one."""
        return {"threshold1": 1, "threshold": max(1, self.task.n - 2), "threshold_n": 1}

    def weights(self) -> Weights:
        w = zeros(self.frame())
        self.embed(w)
        self._thresholds_by_head(w)
        for g in range(self.G):
            self._count(w, g)
            self._latest(w, g)
        self.net.write(w, 0)
        self.compare.write(w, 1)
        self.any_flag(w, 2)
        return w

    def embed(self, w: Weights) -> None:
        """The last token stands at place n - 2 as it asks; as a key it closes."""
        super().embed(w)
        at, end, middle = self.columns, w["embedding.end"], w["embedding.middle"]
        middle[:, at["v_bit"]], middle[:, at["v_one"]] = middle[:, at["bit"]], 1
        end[:, at["fault"]] = end[:, at["opens"]]
        end[:, at["k_opens"]], end[:, at["k_closes"]] = 0, 1
        for g in range(self.G):
            table, value = w[f"embedding.digit{g}"], np.arange(self.R)
            table[:, self._at("k_digit", g)] = np.eye(self.R)
            table[:, self._at("late", g)] = self._late(g)
            table[:, at["k_place"].start : at["k_place"].start + g + 1] = value[:, None] * float(self.R) ** (
                self.G - 1 - g
            )
            last = (self.task.n - 2) // self.R ** (self.G - 1 - g) % self.R
            end[:, self._at("late", g)] = self._late(g)[last]
            if g < self.G - 1:
                bits = digits(self.size)[: self.R]
                words = np.hstack([bits, 1 - bits])
                table[:, self._word("k_word", g)] = table[:, self._word("ask", g)] = words
                end[:, self._word("ask", g)] = words[last]

    def _at(self, name: str, g: int) -> slice:
        first = self.columns[name].start + g * self.R
        return slice(first, first + self.R)

    def _word(self, name: str, g: int) -> slice:
        first = self.columns[name].start + 2 * g * self.size
        return slice(first, first + 2 * self.size)

    def _late(self, g: int) -> Array:
        """(R, R): which digits are not smaller; in the last head: larger."""
        late = np.tri(self.R).T if g < self.G - 1 else np.tri(self.R, k=-1).T
        return np.asarray(late, dtype=np.float64)

    def _thresholds_by_head(self, w: Weights) -> None:
        """1/(1 + half of the set + u - 1/2) for each head and u; at token 1 all sets are empty."""
        n, us = self.task.n, np.array([*self.U, self.U.stop])
        w["embedding.threshold1"][0] = np.tile(np.where(us <= 0, 4.0, -4.0), self.G)
        for name, places in (("threshold", np.arange(n - 2)), ("threshold_n", np.array([n - 2]))):
            rows = []
            for g in range(self.G):
                digit = places // self.R ** (self.G - 1 - g) % self.R
                size = digit * self.R ** (self.G - 1 - g) + (g == self.G - 1)
                more = -(-size[:, None] // 2) + us
                rows.append(np.where(more < 0, 4.0, 1 / np.maximum(more + 0.5, 0.5)))
            w[f"embedding.{name}"][: len(places)] = np.hstack(rows)

    def _count(self, w: Weights, g: int) -> None:
        """Layer 0, head g: score 0 at token 1 and at opening brackets of the set, else -64 or less."""
        at, b = self.columns, self.b
        Q, K, V, O = (w[f"0.0.{name}"] for name in "QKVO")
        first = g * self.key_size
        last = self._mask(Q, K, first, g, C)
        Q[at["one"], last], K[at["k_closes"], last] = C, -1
        V[at["first"], g * (b + 1)] = O[g * (b + 1), at["share"].start + g] = 1
        for i in range(b if g == 0 else 0):
            V[at["kind1"].start + i, 1 + i] = O[1 + i, at["kind_share"].start + i] = 1

    def _mask(self, Q: Array, K: Array, first: int, g: int, cost: float) -> int:
        """-cost for each bit that differs in a digit above g, and for a digit g that is not smaller."""
        for above in range(g):
            columns = slice(first, first + 2 * self.size)
            identity(K, self._word("k_word", above), columns)
            oppose(Q, self._word("ask", above), columns, -cost)
            first = columns.stop
        identity(K, self._at("k_digit", g), slice(first, first + self.R))
        identity(Q, self._at("late", g), slice(first, first + self.R), -cost)
        return first + self.R

    def _latest(self, w: Weights, g: int) -> None:
        """Layer 1, head g: P·[opens on my level] + 16·place in the set; P/2 at the last token."""
        at, D, b, G = self.columns, self.task.D, self.b, self.G
        P = 2.0 ** ((STEP * self.R ** (G - g) - 1).bit_length() + 1)
        Q, K, V, O = (w[f"1.0.{name}"] for name in "QKVO")
        first = self._mask(Q, K, g * self.key_size, g, P)
        identity(Q, at["level"], slice(first, first + D), P)
        identity(K, at["open_level"], slice(first, first + D))
        Q[at["one"], first + D], K[at["k_place"].start + g, first + D] = STEP, 1
        Q[at["one"], first + D + 1], K[at["last"], first + D + 1], K[at["first"], first + D + 1] = (
            P / 2,
            1,
            -8,
        )
        V[at["v_one"], g * (b + 1)] = O[g * (b + 1), at["found"].start + g] = 1
        for i in range(b):
            V[at["v_bit"].start + i, g * (b + 1) + 1 + i] = 1
            O[g * (b + 1) + 1 + i, at["held"].start + g * b + i] = 1

    @property
    def net(self) -> Net:
        """For each kind and all (u_0 …): relu(f - Σ_g (0 iff e_g = u_g)); and the bits of token 1."""
        net, at, U, G = Net(), self.columns, self.U, self.G
        equal: list[list[dict[int, float]]] = []
        for g in range(G):
            share, first = at["share"].start + g, at["threshold"].start + g * (len(U) + 1)
            enough = [net.unit({share: self.S, first + u: -self.S}, 1) for u in range(len(U))]
            few = [net.unit({share: -self.S, first + u + 1: self.S}, 1) for u in range(len(U))]
            equal.append([{a: -1, b: -1} for a, b in zip(enough, few, strict=True)])
        net.constants[at["fault"].start] = 1
        for does, place, shift in KINDS:
            is_one = net.unit({at[does].start: 1, at[place].start: 1}, -1)
            for us in product(range(len(U)), repeat=G):
                t = sum(U[u] for u in us) + (place == "even")
                to = self._told(does, 2 * t + shift)
                to |= {at["rest"].start: 1.0} if t > 0 and place == "even" else {}
                if to:
                    net.gate(
                        {is_one: 1} | {k: v for g, u in enumerate(us) for k, v in equal[g][u].items()}, to
                    )
        one = net.unit({at["one"].start: 1})
        for i in range(self.b):
            zero = net.unit({at["kind_share"].start + i: -self.S, at["share"].start: self.S / 2}, 1)
            net.gate({one: 1, zero: -1}, {at["mine"].start + i: 1})
        return net

    def _told(self, does: str, level: int) -> dict[int, float]:
        """The columns that a level from 1 to D sets, with their values."""
        at = self.columns
        if not 1 <= level <= self.task.D:
            return {}
        to = {at["fault"].start: -1.0, at["level"].start + level - 1: 1.0}
        return to | ({at["open_level"].start + level - 1: 1.0} if does == "opens" else {})

    @property
    def compare(self) -> Net:
        """At a closing bracket: the finest head that found one, or else token 1, has another bit."""
        net, at, flag = Net(), self.columns, self.columns["flag"].start
        closes = net.unit({at["closes"].start: 1})
        net.gate({net.unit({at["fault"].start: 1}): 1}, {flag: 1})
        none: dict[int, float] = {}
        for g in reversed(range(-1, self.G)):
            some = {net.unit({at["found"].start + g: -4}, 3): -1.0} if g >= 0 else {}
            for i, sign in product(range(self.b), (4, -4)):
                held = at["held"].start + g * self.b + i if g >= 0 else at["mine"].start + i
                other = net.unit({at["bit"].start + i: -sign, held: sign}, 3)
                net.gate({closes: 1, other: -1} | some | none, {flag: 1})
            if g >= 0:
                none[net.unit({at["found"].start + g: 4}, -1)] = -1.0
        return net

    @classmethod
    def examples(cls) -> tuple[DyckByEncoder, ...]:
        small = cls(Dyck(2, 1, 1), R=8), cls(Dyck(6, 1, 2), R=2), cls(Dyck(6, 2, 2), R=2)
        return *small, cls(Dyck(4, 3, 1), R=4)
