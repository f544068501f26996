r"""3-Sum by one softmax layer with n thinking steps: step t writes q + x_t and whether a triple was found.

    x_1 … x_n q | s_1 … s_n  ->  answer       s_t = (q + x_t,  is there k ≠ j < t with x_j + x_k + q ≡ 0)

Two heads at the position that holds s_t.  The first attends x_{t+1} and q, half and half: twice the average
of their bits is the sum of their bits, and ReLUs carry.  The second asks for a k ≠ t with x_k ≡ -(q + x_t);
the residue is the embedding's work, since the vector of a token may be any function of the token.

Why it works.  With H the Hamming distance of x_k and that residue, h that of k and t, the second head scores

    c(-2AH + 2h - 1),  A a power of two ≥ P ≥ h:        ≥ c for a partner,  ≤ -c where k = t or H ≥ 1,

and 0 on q and on what was written, whose value is 0.  The first scores c(1 - H) on x, c on q, 0 elsewhere.
The carry out of bit b is relu(p - 2^{b+1} + 1) - relu(p - 2^{b+1}), p the sum up to bit b.  Carries run in
blocks of 7 bits, where p < 2^8 is exact in bfloat16; from block to block the embedding's table carries.

One layer, two heads, n steps.  With D = ⌈log₂M⌉, P = ⌈log₂n⌉, B = ⌈D/7⌉: width 4D + 3P + B + 4, keys of size
D + P + 2, 2D + 1 ReLUs, 2^{D+B+1} tokens.  Without the steps one layer needs Ω(n) bits [sanford2023].

c grows with log n, so no gap ends the range.  The kernel does: it looks at places and sums one by one, of at
most n = 2^13 and M = 2^8.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

from flint import arb

from limen.constructions._adders import carry
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, holds, in_balls, retrieved, settled
from limen.constructions._weights import binary, binary_tables, bits_for, digits, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.errors import at_least
from limen.model.embedding import Code, Codes, Segment
from limen.model.local import Mlp
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.three_sum import ThreeSum


@dataclass(frozen=True)
class ThreeSumByChainOfThought(Construction):
    """A written token in binary: what was found, then for each block of bits the sum, its carry on top."""

    task: ThreeSum = ThreeSum()
    _: KW_ONLY
    block: int = 7

    def __post_init__(self) -> None:
        at_least(self, block=1)

    @property
    def steps(self) -> int:
        return self.task.n

    @property
    def c(self) -> int:
        """Scores are multiples of it; it grows with log n (_lookup.py)."""
        return 2 * contrast(2 * self.task.n + 1)

    @property
    def D(self) -> int:
        return bits_for(self.task.M)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def blocks(self) -> tuple[range, ...]:
        """The bits of a residue, cut into blocks."""
        return tuple(range(low, min(low + self.block, self.D)) for low in range(0, self.D, self.block))

    @property
    def columns(self) -> Columns:
        D, P = self.D, self.P
        given = {"value": D, "position": P, "data": 1, "q": D, "query": 1}
        written = {"partner": D, "excluded": P, "next": P, "chain": 1, "token": 1 + D + len(self.blocks)}
        return Columns.of(**given, **written)

    def frame(self) -> Frame:
        D, P, n, at = self.D, self.P, self.task.n, self.columns
        token = at["token"].stop - at["token"].start
        x = Segment(n, (
            *binary("token", 1, D, at["value"].start),
            *binary("place", 1, P, at["position"].start),
            Code("place", 1, "one", at["data"].start),
        ))  # fmt: skip
        q = Segment(1, (*binary("token", 1, D, at["q"].start), Code("place", 1, "one", at["query"].start)))
        s = Segment(n, (
            Code("token", 2, "partner", at["partner"].start),
            *binary("place", 1, P, at["excluded"].start),
            Code("place", 1, "next", at["next"].start),
            Code("place", 1, "one", at["chain"].start),
            *binary("token", 1, 1, at["token"].start),
        ))  # fmt: skip
        tables = (("one", 1, 1), ("next", n, P), ("partner", 1 << token - 1, D), *binary_tables(D, P, 1))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={D},d_k={P + 2})|softmax(h=1,d=1,d_k={D + P + 2})"),
            at.width,
            1 << token,
            Codes(at.width, tables, (x, q, s)),
            (Mlp(2 * D + 1),),
            readout=Binary(at["token"].start, token),
        )

    def weights(self) -> Weights:
        frame, n, M = self.frame(), self.task.n, self.task.M
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.next"][:] = digits(self.P)[(np.arange(n) + 1) % n]
        sums = np.arange(len(w["embedding.partner"]))  # the sums of the blocks, side by side
        s = sum((sums >> b.start + i) % (2 << len(b)) << b.start for i, b in enumerate(self.blocks))
        w["embedding.partner"][:] = digits(self.D)[-s % M]
        self._add(w)
        self._ask(w)
        self._carry(w)
        return w

    def _add(self, w: Weights) -> None:
        """Head 0 at q or s_t: x_{t+1} and q, half and half."""
        at, D, P = self.columns, self.D, self.P
        Q, K = w["0.0.Q"], w["0.0.K"]
        position, on_x, on_q = slice(0, P), P, P + 1
        identity(K, at["position"], position)
        K[at["data"], on_x] = K[at["query"], on_q] = 1
        identity(
            Q, at["next"], position, 2 * self.c
        )  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
        Q[at["next"], on_x] = -self.c
        for asks in ("query", "chain"):
            Q[at[asks], position] = -self.c
            Q[at[asks], on_x] = Q[at[asks], on_q] = self.c
        identity(w["0.0.V"], at["value"], slice(0, D), 2)
        identity(w["0.0.V"], at["q"], slice(0, D), 2)
        for i, b in enumerate(self.blocks):
            first = at["token"].start + 1 + b.start + i
            identity(w["0.0.O"], slice(b.start, b.stop), slice(first, first + len(b)))

    def _ask(self, w: Weights) -> None:
        """Head 1 at s_t: is there a k ≠ t with x_k ≡ -(q + x_t)?"""
        at, D, P = self.columns, self.D, self.P
        A = 1 << bits_for(P)
        Q, K = w["0.1.Q"], w["0.1.K"]
        value, position, far, near = slice(0, D), slice(D, D + P), D + P, D + P + 1
        identity(K, at["value"], value)
        identity(K, at["position"], position)
        K[at["data"], [far, near]] = 1
        identity(Q, at["partner"], value, 4 * A * self.c)  # -2AcH = 2Ac(Σ(2r - 1)x - Σr), r the partner
        Q[at["chain"], value] = -2 * A * self.c
        Q[at["partner"], far] = -2 * A * self.c
        identity(Q, at["excluded"], position, -4 * self.c)  # c(2h - 1) = 2c(Σ(1 - 2t)k + Σt) - c
        Q[at["chain"], position] = 2 * self.c
        Q[at["excluded"], near] = 2 * self.c
        Q[at["chain"], near] = Q[at["query"], near] = -self.c
        w["0.1.V"][at["data"], 0] = 1
        w["0.1.O"][0, at["token"].start] = 1

    def _carry(self, w: Weights) -> None:
        """The token's columns hold 0, 1 or 2: the flag becomes at most 1, bits carry inside their block."""
        W1, b1, W2 = (w[f"0.local.{name}"] for name in ("W1", "b1", "W2"))
        flag = self.columns["token"].start
        W1[flag, 0], b1[0], W2[0, flag] = 1, -1, -1
        for i, b in enumerate(self.blocks):
            first = flag + 1 + b.start + i
            digits, units = range(first, first + len(b)), range(1 + 2 * b.start, 1 + 2 * b.stop)
            carry(W1, b1, W2, digits, units, to=range(first, first + len(b) + 1))

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """Of every step: sums are near integers < 2^{g+1}, the flag is cut at 1, tokens differ in a digit."""
        r, D, P, n = Roundoff.of(precision), self.D, self.P, self.task.n
        g, B = len(self.blocks[0]), 1 + D + len(self.blocks)
        if r is None or not holds(precision, max(2 << g, 2 * P, B), 4 * self.c * (D + 1) << bits_for(P)):
            return None
        off = (2 * n + 1) * (-arb(self.c)).exp()
        y = copied(off, 2, r)
        p = settled((1 << g) * y + r.sums(g) * (2 << g), 2 << g, r)
        unit = settled(p, 2 << g, r)
        bit = settled(settled(6 * unit + r.sums(4) * (6 << g), 2, r) + y, 2, r)
        found = retrieved(off, 2 * n + 1, r)
        flag = (1 - found.one).max(found.zero) + 4 * r.u
        digit = 2 * bit.max(flag) + r.u
        return certified(2 * (1 - digit) - 2 * B * (1 + digit) * (r.u + r.sums(B)))

    def hints(self) -> dict[str, Any]:
        """Head 0 reads the next x and q, head 1 looks for a partner; a written token's blocks of bits."""
        looks: list[list[Any]] = [[0, 0, 0, asker, "pair", "x", "q"] for asker in ("q", "s")]
        looks += [[0, 1, 0, "q", "one", "q"], [0, 1, 0, "s", "hit", "x", "q"]]
        return {"looks": looks, "blocks": [len(b) for b in self.blocks]}

    @classmethod
    def examples(cls) -> tuple[ThreeSumByChainOfThought, ...]:
        small = tuple(cls(ThreeSum(n, M)) for n, M in ((2, 3), (3, 5), (4, 7), (2, 16), (6, 3)))
        return *small, cls(ThreeSum(2, 17), block=2)
