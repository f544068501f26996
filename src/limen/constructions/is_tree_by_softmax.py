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

from limen.constructions._fields import ONE, Stretch, apart, bits, table
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, holds, settled
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.tasks.is_tree import IsTree


@dataclass(frozen=True)
class IsTreeBySoftmax(Programmed):
    """A written token in binary: whether 0 was seen, then v."""

    task: IsTree = IsTree()
    small = (IsTree(4),)

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
    def program(self) -> Program:
        n, P, T = self.task.n, self.P, self.T
        a, b = (table("vertex", n, P, lambda: digits(P)[:n], div=div) for div in (n, 1))
        start, following = apart(table("clock", n - 1, 1 + T, self._clock, "place"), 1, T)
        token = {"seen": bits("token", 1), "v": bits("token", P, 2)}
        prompt = {"a": a, "b": b, "position": bits("place", T), "data": ONE}
        return Program(
            text=[
                Stretch(n - 1, prompt | {"asks": ONE}),
                Stretch(self.steps - 1, token | {"start": start, "next": following, "asks": ONE}),
                Stretch(1, token | {"start": ONE, "last": ONE}),
            ],
            layers=[
                Tier([self._look], relus=self._compare),
                Tier(mixer="softmax(h=1,d=1)", fills={"token": self.D}, relus=self._walk),
            ],
            readout="token",
            first=[*prompt, *token, "asks", "start", "next"],
            groups=("one", "vertex", "clock"),
        )

    def _clock(self) -> Array:
        """For each edge: whether it is the last one of a reading; which one is next, in binary."""
        n = self.task.n
        return np.hstack([np.eye(n - 1)[:, -1:], digits(self.T)[np.arange(1, n) % (n - 1)]])

    @property
    def _look(self) -> Attend:
        """The ends of the edge whose turn is next, from the prompt."""
        c = self.c  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
        match = [
            Match({"next": 2 * c, "asks": -c}, {"position": 1}),
            Match({"next": -c, "asks": c}, {"data": 1}, 1),
        ]
        return Attend((), match, {"end_a": {"a": 1}, "end_b": {"b": 1}})

    @property
    def _compare(self) -> list[Relu]:
        """H_a and H_b: a ReLU for each bit and sign; zero: whether a reading ended at v = 0."""
        far = [
            Relu({"v": sign, f"end_{end}": -sign}, 0, {Piece(f"far_{end}", 0, 1): 1})
            for end in "ab"
            for sign in (1, -1)
        ]
        return [*far, Relu({"start": 1, "v": -1}, 0, {"zero": 1}, 1)]

    @property
    def _walk(self) -> list[Relu]:
        """The next token; at the last one the answer alone, since all bits of v' are pushed below 0."""
        seen, v = Piece("token", 0, 1), Piece("token", 1, self.P)
        ways = ("v", "far_a", -1), ("v", "far_b", -1), ("end_b", "far_a", 1), ("end_a", "far_b", 1)
        return [
            Relu({"v": 1, "last": -1}, 0, {v: 1}),
            *(Relu({bit: 1, "last": -1, unless: -1}, 0, {v: sign}) for bit, unless, sign in ways),
            Relu({"seen": 1, "zero": 1, "last": -2}, 0, {seen: 1}),  # min(1, s) = ReLU(s) - ReLU(s - 1),
            Relu({"seen": 1, "zero": 1, "last": -2}, -1, {seen: -1}),  # s = seen + zero
            Relu({"seen": -1, "zero": -1, "last": 1}, 0, {seen: 1}),
        ]

    def margin(self, precision: Precision) -> float | None:
        """At every step an edge's bits are read up to T·e^-c, distances and bits are near integers."""
        r, P, D, T = Roundoff.of(precision), self.P, self.D, self.task.length + self.steps
        if r is None or not holds(precision, max(2 * P + 2, D, self.T), self.c * (self.T + 1)):
            return None
        read = copied(T * (-ball(self.c)).exp(), 1, r)
        unit = settled(read + 2 * r.sums(2), 1, r)
        far = settled(settled(2 * P * (unit + r.sums(2 * P)), P, r), P, r)
        term = settled(read + far + (P + 2) * r.sums(3), P + 2, r)
        bit = settled(settled(5 * (term + r.sums(5)), 1, r), 1, r)
        digit = 2 * bit + r.u
        return certified(2 * (1 - digit) - 2 * D * (1 + digit) * (r.u + r.sums(D)))
