r"""Bounded Dyck by softmax: the depth as a share, read off by two layers of ReLUs; any fault at the end.

    share_i = 1/N_i,   N_i = the number of opening brackets up to i, token 1, the anchor, taken for one

All tokens that count score exactly 0, so the weights before they are divided sum up to N_i, exactly, in any
order.  With B = ⌈i/2⌉ and t = N - B the depth is 2t, or 2t + 1 where i is odd.  N ≥ B + t iff the share is
below 1/(B + t - 1/2), which stands in a table by place; it is 1/(2(B + t)²) away or more, and errors are a
few roundings of 1/B: log₂n + 4 bits resolve it.  Two ReLUs, one behind the other,

    relu(f - relu(1 - S(threshold - share))) = [f and N ≥ B + t],       f = 0 or 1,      S ≥ 8n²

are exactly 0 or 1, however large S·(…) is; f says what the token is:

    opens at an odd place: level 2t + 1;    at an even one: 2t
    closes at an even place: 2t + 1;        at an odd one: 2t + 2

A level below 1 or above D is a fault; if token 1 closes, that is one, too.  Counts are what they are,
whatever was wrong before.

A last head finds out whether there is a flag: every token scores 80·flag and has the value 1; one token
has 40 more, and the value 0: token 1, unless it closes, or in an encoder the last one.  Flags are never
negative, so what holds garbage can only add to what is found.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

from limen.constructions._margins import Roundoff, certified, lower, retrieved
from limen.constructions._net import Net
from limen.constructions._weights import DIGITS, bits_for, digits
from limen.core.arrays import np
from limen.core.balls import Ball, ball
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.model.embedding import Code, Segment
from limen.model.local import Mlp
from limen.tasks.dyck import Dyck

C = 64  # what a token that does not count loses; e^-64 ≈ 1.6e-28
FOUND, BLANK = 80, 40
_LONGEST = 500  # bits of n
STEP = 16  # what a place is worth where the latest is looked for
KINDS = (("opens", "odd", 1), ("opens", "even", 0), ("closes", "even", 1), ("closes", "odd", 2))


@dataclass(frozen=True)
class SoftmaxDyck(Construction):
    """What all share: the layout, the depth, the last head."""

    task: Dyck

    def __post_init__(self) -> None:
        if self.task.n.bit_length() > _LONGEST:
            raise BadInput(f"{self.task}: float64 has no number S above n² for n = 2^{_LONGEST} and more")

    @property
    def b(self) -> int:
        """Bits of a kind."""
        return bits_for(self.task.k)

    @property
    def T(self) -> int:
        """t = 0 … T are told apart: T is too deep."""
        return self.task.D // 2 + 1

    @property
    def S(self) -> float:
        return 2.0 ** (2 * (self.task.n - 1).bit_length() + 4)

    @property
    def told(self) -> dict[str, int]:
        """Columns of the embedding; those that begin with k_ are 0 at token 1."""
        own = {"one": 1, "first": 1, "last": 1, "opens": 1, "closes": 1, "odd": 1, "even": 1, "bit": self.b}
        keys = {"k_opens": 1, "k_closes": 1, "k_odd": 1, "k_even": 1, "k_bit": self.b, "k_not": self.b}
        return own | keys | {"kind1": self.b, "closed1": 1, "fault": 1, "place": 1}

    def laid(self, told: int | None = None) -> tuple[tuple[tuple[str, int, int], ...], tuple[Segment, ...]]:
        """Tables, of `told` columns, and segments: token 1, those between, the last one."""
        n, at, wide = self.task.n, self.columns, told or self.columns["place"].stop
        size, bytes_ = 1 << DIGITS, range(0, max(1, (n - 3).bit_length()), DIGITS)
        named = [(name, 2 * self.task.k, wide) for name in ("begin", "middle", "end")]
        places = [(f"place{low}", size, 1) for low in bytes_]
        middle = (
            Code("token", 1, "middle", 0),
            Code("place", 1, "parity", 0),
            *(Code("place", 1 << low, f"place{low}", at["place"].start) for low in bytes_),
        )
        begin, end = ((Code("token", 1, name, 0),) for name in ("begin", "end"))
        return (*named, ("parity", 2, wide), *places), (
            Segment(1, begin),
            Segment(n - 2, middle),
            Segment(1, end),
        )

    def laid_with_thresholds(self) -> tuple[tuple[tuple[str, int, int], ...], tuple[Segment, ...]]:
        """The same, and a row of thresholds for every place."""
        tables, segments = self.laid()
        counts = [max(1, segment.count) for segment in segments]
        names, column = ("threshold1", "threshold", "threshold_n"), self.columns["threshold"].start
        more = tuple((name, count, self.T + 1) for name, count in zip(names, counts, strict=True))
        codes = (Code("place", 1, name, column) for name in names)
        told = (replace(s, codes=(*s.codes, c)) for s, c in zip(segments, codes, strict=True))
        return tables + more, tuple(told)

    def embed(self, w: Weights) -> None:
        at, n, k = self.columns, self.task.n, self.task.k
        token = np.arange(2 * k)
        opens, kind = (token < k).astype(np.float64)[:, None], digits(self.b)[token % k]
        for name in ("begin", "middle", "end"):
            table, first = w[f"embedding.{name}"], name == "begin"
            table[:, at["one"]], table[:, at["opens"]], table[:, at["closes"]] = 1, opens, 1 - opens
            table[:, at["bit"]] = kind
            if first:
                table[:, at["first"]], table[:, at["fault"]], table[:, at["closed1"]] = (
                    1,
                    1 - opens,
                    1 - opens,
                )
                table[:, at["kind1"]] = kind
            else:
                table[:, at["k_opens"]], table[:, at["k_closes"]] = opens, 1 - opens
                table[:, at["k_bit"]], table[:, at["k_not"]] = kind, 1 - kind
        w["embedding.end"][:, at["last"]] = 1
        w["embedding.begin"][:, at["odd"]] = 1
        w["embedding.middle"][:, at["place"]] = 1
        w["embedding.end"][:, at["place"]] = n - 1
        for row, name in enumerate(("even", "odd")):  # the first of those between is the second of all
            w["embedding.parity"][row, [at[name].start, at[f"k_{name}"].start]] = 1
        w["embedding.end"][:, [at["even"].start, at["k_even"].start]] = 1
        for name in w:
            if name.startswith("embedding.place"):
                low = int(name.removeprefix("embedding.place"))
                w[name][:, 0] = np.arange(1 << DIGITS) * 2.0**low

    def fill_thresholds(self, w: Weights) -> None:
        n = self.task.n
        w["embedding.threshold1"][:], w["embedding.threshold_n"][:] = (
            self._thresholds(1, 2),
            self._thresholds(n, n + 1),
        )
        w["embedding.threshold"][: n - 2] = self._thresholds(2, n)

    def _thresholds(self, first: int, stop: int) -> Array:
        """(stop - first, T + 1): 1/(⌈i/2⌉ + t - 1/2) for i = first …"""
        B = np.ceil(np.arange(first, stop) / 2)[:, None]
        return np.asarray(1 / (B + np.arange(self.T + 1) - 0.5))

    def share(self, w: Weights, head: int) -> None:
        """Layer 0: 1/N, and the bits of token 1's kind times that."""
        at, (Q, K, V, O) = self.columns, (w[f"0.0.{name}"] for name in "QKVO")
        keys, values = Q.shape[1] // self.heads, V.shape[1] // self.heads
        Q[at["one"], head * keys] = C
        K[at["k_closes"], head * keys] = -1
        V[at["first"], head * values] = 1
        O[head * values, at["share"]] = 1

    @property
    @abstractmethod
    def heads(self) -> int:
        """Softmax heads of layer 0."""

    def deep(self, net: Net, t: int) -> int:
        """0 iff N ≥ B + t; else 1 or more."""
        at = self.columns
        return net.unit({at["share"].start: self.S, at["threshold"].start + t: -self.S}, 1)

    @property
    def levels_mlp(self) -> Mlp:
        """As large as what `levels` writes, which need not be written to be counted."""
        return Mlp(self.T + 1 + len(KINDS), hidden2=len(KINDS) * (self.T + 1))

    def levels(self, net: Net, fault: int) -> None:
        """1 in column `fault` unless the level is 1 … D; whether brackets are open; and on_level."""
        at, D = self.columns, self.task.D
        deep = [self.deep(net, t) for t in range(self.T + 1)]
        net.constants[fault] = 1
        for does, place, shift in KINDS:
            is_one = net.unit({at[does].start: 1, at[place].start: 1}, -1)
            for t in range(self.T + 1):
                to: dict[int, float] = {}
                for level, sign in ((2 * t + shift, 1), (2 * t - 2 + shift, -1)):
                    if 1 <= level <= D and (sign > 0 or t > 0):
                        self.on_level(to, does, level, sign)
                        to[fault] = to.get(fault, 0) - sign
                if t == 1 and place == "even":
                    to[at["rest"].start] = 1
                net.gate({is_one: 1, deep[t]: -1}, to)

    def on_level(self, to: dict[int, float], does: str, level: int, sign: int) -> None:
        """Adds the columns that this level sets to `to`, times the sign."""

    def latest_of_class(self, w: Weights, first: int, d: int) -> None:
        """A head of layer 0, keys from `first` on, values from d on: for a closing bracket i, scores

        P·([j is of its class] - 2·[j closes]) + 16·place_j; if j opens, its class is the parity of its place.
        """
        at = self.columns
        P = 2.0 ** ((STEP * self.task.n - 1).bit_length() + 1)
        Q, K, V, O = (w[f"0.0.{name}"] for name in "QKVO")
        for c, (mine, its) in enumerate((("even", "odd"), ("odd", "even")), first):
            Q[at[mine], c], K[at[its], c] = P, 1
        Q[at["one"], first + 2], K[at["closes"], first + 2] = 2 * P, -1
        Q[at["one"], first + 3], K[at["place"], first + 3] = STEP, 1
        for i in range(self.b):
            V[at["bit"].start + i, d + i] = O[d + i, at["held"].start + i] = 1

    def any_flag(self, w: Weights, layer: int) -> None:
        """The last head and the readout."""
        at = self.columns
        Q, K, V, O = (w[f"{layer}.0.{name}"] for name in "QKVO")
        Q[at["last"]] = V[at["one"]] = O[:, at["any"]] = 1
        K[at["flag"]], K[at["last"]], V[at["last"]] = FOUND, BLANK, -1
        w["readout.U"][[at["any"].start, at["flag"].start, at["rest"].start], 0] = 2
        w["readout.u"][1] = 1

    def any_fault(self, w: Weights, layer: int) -> None:
        """The same where token 1 is the blank: what it scores is known, whatever was wrong before.

        Its value is 0 if it opens, 1 if it closes.
        """
        self.any_flag(w, layer)
        at, K, V = self.columns, w[f"{layer}.0.K"], w[f"{layer}.0.V"]
        K[at["last"]], K[at["first"]] = 0, BLANK
        V[at["last"]], V[at["first"]], V[at["closed1"]] = 0, -1, 1

    def latest(self, r: Roundoff) -> Ball | None:
        """How far what is read is from what the latest token of a class has; scores are multiples of 16."""
        if not 4 * self.task.n * r.u <= 1:
            return None
        others = ball(-STEP).exp()
        return retrieved(2 * others, self.task.n, r).zero

    def counted(self, r: Roundoff) -> bool:
        """Whether shares are told apart: half a gap at N ≤ n/2 + T + 1, less what is rounded."""
        N = ball(self.task.n) / 2 + self.T + 1
        error = (1 + r.u) ** 2 * (1 + r.sums(4)) - 1 + 6 * r.u
        return bool(N * r.acc < 1 and self.S * (1 / (2 * N) - error) / N > 2)

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        held = None if r is None else self.latest(r)
        if r is None or held is None or not held < 2.0**-4 or not self.counted(r):
            return None
        return self.verdict_margin(r)

    def verdict_margin(self, r: Roundoff) -> float | None:
        """The margin behind the last head: a flag of 1 or more, or none."""
        n = self.task.n
        some = retrieved(ball(-BLANK).exp() * 2, n, r).one
        none = retrieved(n * ball(-BLANK).exp(), n, r).zero
        least = min(2 * some * (1 - r.u) ** 3 - 1, 1 - 2 * none * (1 + r.u) ** 3, key=lower)
        return certified(least * (1 - r.u))
