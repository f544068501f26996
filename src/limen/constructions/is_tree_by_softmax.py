r"""IsTree by two softmax layers that think: each written token is one step of a walk over the edges.

    v_0 = 0,     v_t = the other end of edge t mod (n-1) if v_{t-1} is one of its ends, else v_{t-1}

The edges are read n-1 times.  The graph is a tree if no reading ends at v = 0 (`is_tree_by_recurrence` tells
why).  There the walk is the state of a recurrence; here it stands in the text: token t is v_t and whether a
reading before t ended at 0, so that no layer carries anything but what it looks up.

    layer 0   attention by position: the ends a, b of the edge whose turn is next, in binary
              ReLUs: H_a, the Hamming distance of v and a, and H_b;  zero = ReLU(start - Σv_j)
    layer 1   ReLUs alone:   v_j - ReLU(v_j - H_a) - ReLU(v_j - H_b) + ReLU(b_j - H_a) + ReLU(a_j - H_b)

ReLU(v_j - H_a) is v_j if v = a, else 0; likewise the others.  `start` is 1 behind the last edge of a reading;
seen' = min(1, seen + zero).  At the last token the answer is ReLU(1 - seen - zero), and nothing else.

Two layers, one head, (n-1)² steps.  With P = ⌈log₂n⌉, D = ⌈2log₂n⌉, T = ⌈log₂(n-1)⌉: width 5P + 2T + D + 9,
keys of size T + 1, values of size 2P, 4P + 1 and 5P + 3 ReLUs.  A recurrence alone needs Ω(n log n) bits,
whatever the number of steps [denes1959] [wen2025].  c, the unit of the scores, grows with log n.
"""

from __future__ import annotations

from dataclasses import dataclass

from flint import arb

from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, holds, in_balls, settled
from limen.constructions._weights import binary, binary_tables, bits_for, digits, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.is_tree import IsTree


@dataclass(frozen=True)
class IsTreeBySoftmax(Construction):
    """A written token in binary: whether 0 was seen, then v."""

    task: IsTree = IsTree()

    @property
    def steps(self) -> int:
        return (self.task.n - 1) ** 2

    @property
    def c(self) -> int:
        """Scores are multiples of it; it grows with log n (_lookup.py)."""
        return 2 * contrast(self.task.length + self.steps)

    @property
    def P(self) -> int:
        """The bits of a vertex."""
        return bits_for(self.task.n)

    @property
    def D(self) -> int:
        """The bits of a token."""
        return bits_for(self.task.vocab)

    @property
    def T(self) -> int:
        """The bits of a position in the prompt."""
        return bits_for(self.task.length)

    @property
    def columns(self) -> Columns:
        P, T = self.P, self.T
        prompt = {"a": P, "b": P, "position": T, "data": 1}
        thought = {"seen": 1, "v": P, "asks": 1, "start": 1, "next": T, "last": 1}
        return Columns.of(**prompt, **thought, end_a=P, end_b=P, far_a=1, far_b=1, zero=1, token=self.D)

    def frame(self) -> Frame:
        n, P, T, at = self.task.n, self.P, self.T, self.columns
        prompt = Segment(n - 1, (
            Code("token", n, "vertex", at["a"].start),
            Code("token", 1, "vertex", at["b"].start),
            *binary("place", 1, T, at["position"].start),
            Code("place", 1, "one", at["data"].start),
            Code("place", 1, "one", at["asks"].start),
        ))  # fmt: skip
        token = *binary("token", 1, 1, at["seen"].start), *binary("token", 2, P, at["v"].start)
        clock = Code("place", 1, "clock", at["start"].start)
        walk = Segment(self.steps - 1, (*token, clock, Code("place", 1, "one", at["asks"].start)))
        ends = [Code("place", 1, "one", at[name].start) for name in ("start", "last")]
        tables = (("one", 1, 1), ("vertex", n, P), ("clock", n - 1, 1 + T), *binary_tables(1, P, T))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={2 * P},d_k={T + 1}),softmax(h=1,d=1)"),
            at.width,
            1 << self.D,
            Codes(at.width, tables, (prompt, walk, Segment(1, (*token, *ends)))),
            (Mlp(4 * P + 1), Mlp(5 * P + 3)),
            readout=Binary(at["token"].start, self.D),
        )

    def weights(self) -> Weights:
        frame, n = self.frame(), self.task.n
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.vertex"][:] = digits(self.P)[:n]
        w["embedding.clock"][-1, 0] = 1
        w["embedding.clock"][:, 1:] = digits(self.T)[np.arange(1, n) % (n - 1)]
        self._look(w)
        self._compare(*(w[f"0.local.{name}"] for name in ("W1", "W2")))
        self._walk(*(w[f"1.local.{name}"] for name in ("W1", "b1", "W2")))
        return w

    def _look(self, w: Weights) -> None:
        """The ends of the edge whose turn is next, from the prompt."""
        at, P, T = self.columns, self.P, self.T
        Q, K, place, data = w["0.0.Q"], w["0.0.K"], slice(0, T), T
        identity(K, at["position"], place)
        K[at["data"], data] = 1
        identity(
            Q, at["next"], place, 2 * self.c
        )  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
        Q[at["asks"], place] = Q[at["next"], data] = -self.c
        Q[at["asks"], data] = self.c
        for i, end in enumerate("ab"):
            identity(w["0.0.V"], at[end], slice(i * P, (i + 1) * P))
            identity(w["0.0.O"], slice(i * P, (i + 1) * P), at[f"end_{end}"])

    def _compare(self, W1: Array, W2: Array) -> None:
        """H_a and H_b: a ReLU for each bit and sign; zero: whether a reading ended at v = 0."""
        at, P = self.columns, self.P
        for i, end in enumerate("ab"):
            above, below = slice(2 * i * P, (2 * i + 1) * P), slice((2 * i + 1) * P, (2 * i + 2) * P)
            for units, sign in ((above, 1), (below, -1)):
                identity(W1, at["v"], units, sign)
                identity(W1, at[f"end_{end}"], units, -sign)
                W2[units, at[f"far_{end}"]] = 1
        W1[at["start"], 4 * P], W1[at["v"], 4 * P] = 1, -1
        W2[4 * P, at["zero"]] = 1

    def _walk(self, W1: Array, b1: Array, W2: Array) -> None:
        """The next token; at the last one the answer alone, since all bits of v' are pushed below 0."""
        at, P, first = self.columns, self.P, self.columns["token"].start
        v = slice(first + 1, first + 1 + P)
        terms = (
            ("v", "", 1),
            ("v", "far_a", -1),
            ("v", "far_b", -1),
            ("end_b", "far_a", 1),
            ("end_a", "far_b", 1),
        )
        for i, (bit, unless, sign) in enumerate(terms):
            units = slice(i * P, (i + 1) * P)
            identity(W1, at[bit], units)
            W1[at["last"], units] = -1
            if unless:
                W1[at[unless], units] = -1
            identity(W2, units, v, sign)
        once, twice, never = range(5 * P, 5 * P + 3)  # min(1, s) = ReLU(s) - ReLU(s - 1), s = seen + zero
        for unit, sign in ((once, 1), (twice, 1), (never, -1)):
            W1[at["seen"], unit] = W1[at["zero"], unit] = sign
        W1[at["last"], [once, twice]], W1[at["last"], never], b1[twice] = -2, 1, -1
        W2[[once, never], first], W2[twice, first] = 1, -1

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Of every step: an edge's bits are read up to T·e^-c, distances and bits are near integers."""
        r, P, D, T = Roundoff.of(precision), self.P, self.D, self.task.length + self.steps
        if r is None or not holds(precision, max(2 * P + 2, D, self.T), self.c * (self.T + 1)):
            return None
        read = copied(T * (-arb(self.c)).exp(), 1, r)
        unit = settled(read + 2 * r.sums(2), 1, r)
        far = settled(settled(2 * P * (unit + r.sums(2 * P)), P, r), P, r)
        term = settled(read + far + (P + 2) * r.sums(3), P + 2, r)
        bit = settled(settled(5 * (term + r.sums(5)), 1, r), 1, r)
        digit = 2 * bit + r.u
        return certified(2 * (1 - digit) - 2 * D * (1 + digit) * (r.u + r.sums(D)))

    @classmethod
    def examples(cls) -> tuple[IsTreeBySoftmax, ...]:
        return (cls(IsTree(4)),)
