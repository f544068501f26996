r"""IsTree by one layer: a recurrence of two numbers beside an attention head that reads the edges again.

    v_0 = 0,     v_i = the other end of edge i if v_{i-1} is one of its ends, else v_{i-1}

The edges are read n-1 times, first in the prompt.  The graph is a tree if no reading ends at v = 0.

Why it works.  One reading permutes the vertices: it is the product τ of n-1 transpositions.  A transposition
of two vertices joins their cycles if these are different.  The edges of a tree join parts that were apart,
and a cycle stays inside its part: so each edge joins two cycles, τ is one cycle of all n vertices, and v is
back at 0 after n readings, no sooner.  If the graph is no tree, n-1 edges leave it in parts; v stays in the
part of 0 and is back sooner [denes1959].

    recurrence   ReLU(b - a - N|v-a|) is b - a if v = a < b, else 0, for N ≥ n; likewise the other three ways;
                 seen = min(1, seen + ReLU(start - v)), start is 1 at the first edge of a reading, else 0
    attention    by position: the edge that is next, in binary, is the next token
    answer       min(1, ReLU(v - N·seen)), at the last token alone, which reads itself

One layer, both side by side, (n-1)(n-2) steps.  The state is v and seen, ⌈log₂n⌉ + 1 bits, with 10 ReLUs in
each of two inner stages.  With D = ⌈2log₂n⌉, P = ⌈log₂(n-1)⌉: width 2D + 2P + 8, keys of size P + 2.
Integers to 2N, N = 2^⌈log₂n⌉, must be exact: n ≤ 128 in bfloat16.  A recurrence alone needs Ω(n log n) bits,
whatever the number of steps [wen2025].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fields import ONE, Stretch, apart, bits, table, tokens
from limen.constructions._margins import Roundoff, certified, copied, holds, settled
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Relu, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.balls import Ball, ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.tasks.is_tree import IsTree

C = 32  # scores are multiples of it; e^-32 ≈ 1.3e-14


@dataclass(frozen=True)
class IsTreeByRecurrence(Programmed):
    """A relu_rnn of three stages beside one softmax head; a written token is an edge."""

    task: IsTree = IsTree()
    small = (IsTree(4),)

    @property
    def steps(self) -> int:
        return (self.task.n - 1) * (self.task.n - 2)

    @property
    def P(self) -> int:
        """The bits of a position."""
        return bits_for(self.task.length)

    @property
    def D(self) -> int:
        """The bits of an edge."""
        return bits_for(self.task.vocab)

    @property
    def N(self) -> int:
        """A power of two that is larger than any vertex."""
        return 1 << bits_for(self.task.n)

    @property
    def reader(self) -> Tier:
        """Who brings the next edge from the prompt: a head; the last token reads itself, which is 0."""
        match = [  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
            Match({"next": 2 * C, "asks": -C}, {"position": 1}),
            Match({"next": -C, "last": -C, "asks": C}, {"data": 1}, 1),
            Match({"last": C}, {"last": 1}),
        ]
        looks = [("asks", "row", "edges"), ("walk", "row", "edges"), ("end", "one", "end")]
        return Tier([Attend(looks, match, {"token": {"edge": 1}})])

    @property
    def program(self) -> Program:
        """The answer, min(1, ReLU(v - N·seen)) at the last token, is the lowest digit of what comes next."""
        left, digit = {"v": 1, "seen": -self.N, "last": self.N}, Piece("token", 0, 1)
        n, D, P, N = self.task.n, self.D, self.P, self.N
        a, b = (table("vertex", n, 1, lambda: np.arange(float(n))[:, None], div=div) for div in (n, 1))
        start, following = apart(table("clock", n - 1, 1 + P, self._clock, "place"), 1, P)
        edge, position = bits("token", D), bits("place", P)
        return Program(
            text=[
                tokens(n - 1, a=a, b=b, edge=edge, position=position, data=ONE, asks=ONE),
                Stretch(self.steps - 1, {"a": a, "b": b, "start": start, "next": following, "asks": ONE}),
                tokens(1, a=a, b=b, last=ONE),
            ],
            layers=[
                Tier(
                    mixer="relu_rnn(d=2,stages=3,inner=10)",
                    write=self._walk,
                    fills={"v": 1, "seen": 1},
                    beside=[self.reader],
                    relus=[Relu(left, -N, {digit: 1}), Relu(left, -N - 1, {digit: -1})],
                )
            ],
            readout="token",
            first=("edge", "position", "data", "a", "b", "asks"),
            groups=("one", "vertex", "clock"),
        )

    def _clock(self) -> Array:
        """For each edge: whether it is the first one of a reading; which one is next, in binary."""
        n = self.task.n
        return np.hstack([np.eye(n - 1, 1), digits(self.P)[np.arange(1, n) % (n - 1)]])

    def _walk(self, w: Weights, at: Columns) -> None:
        """The recurrence: v goes over the edge if it can; `seen` tells whether a reading began at 0."""
        N, U, W1, W2, W3, O = self.N, *(w[name] for name in ("U", "W1", "W2", "W3", "O"))
        v, seen, zero, above_a, below_a, above_b, below_b, up, down, more = range(10)  # v, seen: of the state
        a, b, start = (at[name].start for name in ("a", "b", "start"))
        W1[v, v] = W1[seen, seen] = 1
        W1[v, zero], U[start, zero] = -1, 1  # ReLU(start - v)
        W2[v, v] = W2[[seen, zero], seen] = W2[[seen, zero], more] = 1
        w["b2"][more], W3[more, seen] = -1, -1  # min(1, s) = s - ReLU(s - 1)
        W3[v, v] = W3[seen, seen] = 1
        U[b, up], U[a, up], U[a, down], U[b, down] = 1, -1, 1, -1
        for end, above, below, gain, loss in (
            (a, above_a, below_a, up, down),
            (b, above_b, below_b, down, up),
        ):
            W1[v, above], U[end, above], W1[v, below], U[end, below] = 1, -1, -1, 1
            W2[above, [above, below]] = W2[below, [above, below]] = -N  # their sum is |v - end|
            W2[gain, above] = W2[loss, below] = 1
            W3[above, v], W3[below, v] = 1, -1
        O[v, at["v"]] = O[seen, at["seen"]] = 1

    def margin(self, precision: Precision) -> float | None:
        """At every step the walk is exact, an edge is read up to `lost`, two tokens differ in a digit."""
        r, D, N = Roundoff.of(precision), self.D, self.N
        if r is None or not holds(precision, max(2 * N, self.P, D), max(N * N, C * (self.P + 1))):
            return None
        bit = settled(copied(self._lost(), 1, r), 1, r)
        digit = 2 * bit + r.u
        return certified(2 * (1 - digit) - 2 * (D + 1) * (1 + digit) * (r.u + r.sums(D)))

    def _lost(self) -> Ball:
        """The weight that goes to other tokens than the one whose turn is next, at most."""
        return (self.task.length + self.steps) * (-ball(C)).exp()
