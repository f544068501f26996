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

from limen.constructions._adders import carry
from limen.constructions._fields import ONE, Stretch, bits, table, tokens
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, holds, retrieved, settled
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.errors import at_least
from limen.model.local import Mlp
from limen.tasks.three_sum import ThreeSum


@dataclass(frozen=True)
class ThreeSumByChainOfThought(Programmed):
    """A written token in binary: what was found, then for each block of bits the sum, its carry on top."""

    task: ThreeSum = ThreeSum()
    small = (
        *(ThreeSum(n, M) for n, M in ((2, 3), (3, 5), (4, 7), (2, 16), (6, 3))),
        (ThreeSum(2, 17), {"block": 2}),
    )
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
    def _size(self) -> int:
        """The bits of a written token."""
        return 1 + self.D + len(self.blocks)

    @property
    def program(self) -> Program:
        """A head reads the next x and q, another one looks for a partner; then bits carry in their blocks."""
        n, D, P, size = self.task.n, self.D, self.P, self._size
        following = table("next", n, P, lambda: digits(P)[(np.arange(n) + 1) % n], "place")
        partner = table("partner", 1 << size - 1, D, self._partners, div=2)
        thought = {"partner": partner, "excluded": bits("place", P), "next": following, "chain": ONE}
        return Program(
            text=[
                tokens(n, value=bits("token", D), position=bits("place", P), data=ONE),
                tokens(1, q=bits("token", D), query=ONE),
                Stretch(n, thought | {"token": bits("token", 1)}),
            ],
            layers=[
                Tier(
                    [self._add],
                    beside=[Tier([self._ask])],
                    write=self._carry,
                    fills={"token": size},
                    local=Mlp(2 * D + 1),
                )
            ],
            readout="token",
            groups=("one", "next", "partner"),
            more={"blocks": [len(b) for b in self.blocks]},
        )

    def _partners(self) -> Array:
        """-s modulo M for all that a token may say: the sums of the blocks, side by side."""
        sums = np.arange(1 << self._size - 1)
        s = sum((sums >> b.start + i) % (2 << len(b)) << b.start for i, b in enumerate(self.blocks))
        rows: Array = digits(self.D)[-s % self.task.M]
        return rows

    @property
    def _add(self) -> Attend:
        """Head 0 at q or s_t: x_{t+1} and q, half and half."""
        c = self.c  # c(1 - H) = c(Σ(2ν - 1)k + 1 - Σν), ν the position asked for
        match = [
            Match({"next": 2 * c, "query": -c, "chain": -c}, {"position": 1}),
            Match({"next": -c, "query": c, "chain": c}, {"data": 1}, 1),
            Match({"query": c, "chain": c}, {"query": 1}),
        ]
        reads = {
            Piece("token", 1 + b.start + i, len(b)): {
                Piece("value", b.start, len(b)): 2,
                Piece("q", b.start, len(b)): 2,
            }
            for i, b in enumerate(self.blocks)
        }
        return Attend([(asker, "pair", "x", "q") for asker in ("q", "s")], match, reads)

    @property
    def _ask(self) -> Attend:
        """Head 1 at s_t: is there a k ≠ t with x_k ≡ -(q + x_t)?"""
        c, A = self.c, 1 << bits_for(self.P)
        match = [  # -2AcH = 2Ac(Σ(2r - 1)x - Σr), r the partner; c(2h - 1) = 2c(Σ(1 - 2t)k + Σt) - c
            Match({"partner": 4 * A * c, "chain": -2 * A * c}, {"value": 1}),
            Match({"excluded": -4 * c, "chain": 2 * c}, {"position": 1}),
            Match({"partner": -2 * A * c}, {"data": 1}, 1),
            Match({"excluded": 2 * c, "chain": -c, "query": -c}, {"data": 1}, 1),
        ]
        return Attend([("q", "one", "q"), ("s", "hit", "x", "q")], match, {Piece("token", 0, 1): {"data": 1}})

    def _carry(self, w: Weights, at: Columns) -> None:
        """The token's columns hold 0, 1 or 2: the flag becomes at most 1, bits carry inside their block."""
        W1, b1, W2 = (w[f"local.{name}"] for name in ("W1", "b1", "W2"))
        flag = at["token"].start
        W1[flag, 0], b1[0], W2[0, flag] = 1, -1, -1
        for i, b in enumerate(self.blocks):
            first = flag + 1 + b.start + i
            digits, units = range(first, first + len(b)), range(1 + 2 * b.start, 1 + 2 * b.stop)
            carry(W1, b1, W2, digits, units, to=range(first, first + len(b) + 1))

    def margin(self, precision: Precision) -> float | None:
        """At every step sums are near integers < 2^{g+1}, the flag is cut at 1, tokens differ in a digit."""
        r, D, P, n = Roundoff.of(precision), self.D, self.P, self.task.n
        g, B = len(self.blocks[0]), 1 + D + len(self.blocks)
        if r is None or not holds(precision, max(2 << g, 2 * P, B), 4 * self.c * (D + 1) << bits_for(P)):
            return None
        off = (2 * n + 1) * (-ball(self.c)).exp()
        y = copied(off, 2, r)
        p = settled((1 << g) * y + r.sums(g) * (2 << g), 2 << g, r)
        unit = settled(p, 2 << g, r)
        bit = settled(settled(6 * unit + r.sums(4) * (6 << g), 2, r) + y, 2, r)
        hit = retrieved(off, 2 * n + 1, r)
        flag = (1 - hit.one).max(hit.zero) + 4 * r.u
        digit = 2 * bit.max(flag) + r.u
        return certified(2 * (1 - digit) - 2 * B * (1 + digit) * (r.u + r.sums(B)))
