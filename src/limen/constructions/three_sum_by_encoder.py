r"""3-Sum by three bidirectional softmax layers: all learn q, each looks for a partner, q asks who found one.

    layer 1   every x_j fetches q; ReLUs make of x_j + q, by residues, partners s - x_j - q for s = 0, M, 2M
    layer 2   one head for each s: is there a k ≠ j with x_k ≡ s - x_j - q modulo every prime p?
    layer 3   q looks for an x_j that has met a partner

Why it works.  x_j + x_k + q < 3M is a multiple of M iff it is one of the three s, and it is s iff it is s
modulo primes whose product is 3M or more: sums need no carries, each residue stands for itself.  With H the
Hamming distance of the residues' words and h that of the places,

    score c(-2AH + 2h - 1),  A a power of two ≥ P ≥ h:      ≥ c for a partner,   ≤ -c where k = j or H ≥ 1,

and 0 at q, which is the blank.  A ReLU layer knows v = x_j mod p + q mod p, a whole number below 2p: [v =
m] is a second difference of ReLUs.  In a causal stack q comes last, and the x_j cannot know it: there
3SUM-Indexing stands in the way.

Three layers of one, three and one heads; with b = Σ⌈log₂p⌉ and P = ⌈log₂n⌉, keys of size b + P + 2; 2p + 1
ReLUs for each p.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import count
from math import prod

from limen.constructions._fields import ONE, CodedPart, signs, table, tokens
from limen.constructions._lookup import blur, stray
from limen.constructions._margins import Roundoff, certified, holds, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits
from limen.constructions._words import decided, verdict
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.model.local import Mlp
from limen.tasks.three_sum import ThreeSum

C = 32  # scores are multiples of it; e^-32 ≈ 1.3e-14
HEAR = 64  # e^-64 for a fetch
POOL = 1024  # what a partner is worth to the last layer, also where rounding takes most of it


@dataclass(frozen=True)
class ThreeSumByEncoder(Programmed):
    """Residues modulo the first primes, each in signs."""

    task: ThreeSum = ThreeSum()
    small = tuple(ThreeSum(n, M) for n, M in ((2, 3), (3, 5), (4, 4), (2, 16), (6, 3)))

    @property
    def primes(self) -> tuple[int, ...]:
        """The first ones whose product is 3M or more."""
        primes = [2]
        while prod(primes) < 3 * self.task.M:
            primes.append(next(p for p in count(primes[-1] + 1) if all(p % q for q in primes)))
        return tuple(primes)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Signs of each residue."""
        return tuple(map(bits_for, self.primes))

    @property
    def b(self) -> int:
        return sum(self.sizes)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def A(self) -> int:
        return 1 << self.P.bit_length()

    @property
    def program(self) -> Program:
        """All x look at q, then for a partner, else at q; q looks for an x that met."""
        r, place, token = len(self.primes), signs("place", self.P), CodedPart(0)
        word = sum(map(_word, self.primes, self.sizes), token)
        residue = sum((table(f"mod{p}", p, 1, partial(_residues, p)) for p in self.primes), token)
        heard = sum((table(f"q{p}", p, 1, partial(_residues, p, more=1)) for p in self.primes), token)
        hear = Attend([("x", "one", "q")], [Match({"data": HEAR}, {"asks": 1})], {"heard": {"q": 1}})
        pool = Attend(
            [("q", "exists", "x", "q")],
            [Match({"asks": 1}, {"met": POOL, "data": -POOL / 2})],
            {"verdict": {"data": 1}},
        )
        first, second, third = (
            f"softmax({sizes},bidirectional=true)"
            for sizes in (f"h=1,d={r},d_k=1", f"h=3,d=1,d_k={self.b + self.P + 2}", "h=1,d=1")
        )
        units = Mlp(sum(2 * p + 1 for p in self.primes))
        partners = {f"partner{s}": self.b for s in range(3)}
        return Program(
            text=[
                tokens(self.task.n, word=word, residue=residue, place=place, data=ONE),
                tokens(1, q=heard, asks=ONE),
            ],
            layers=[
                Tier([hear], first, self._subtract, partners, local=units),
                Tier([self._meet(s) for s in range(3)], second),
                Tier([pool], third),
            ],
            readout=verdict("verdict", high=1),
            first=("word", "place", "data"),
        )

    def _subtract(self, w: Weights, at: Columns) -> None:
        """[v = m] = relu(v - m + 1) - 2·relu(v - m) + relu(v - m - 1), v = x_j mod p + q mod p; 0 at q."""
        first, column = 0, 0
        W1, b1, W2 = (w[f"local.{name}"] for name in ("W1", "b1", "W2"))
        for i, (p, size) in enumerate(zip(self.primes, self.sizes, strict=True)):
            units = slice(first, first + 2 * p + 1)
            W1[[at["residue"].start + i, at["heard"].start + i], units] = 1
            W1[at["asks"], units] = -4 * p
            b1[units] = -np.arange(2 * p + 1)  # what is heard is 1 more, so that no 0 is blurred
            for s in range(3):
                to = slice(at[f"partner{s}"].start + column, at[f"partner{s}"].start + column + size)
                for m in range(2 * p - 1):
                    signs = 2 * digits(size)[(s * self.task.M - m) % p] - 1
                    for unit, factor in ((m, 1), (m + 1, -2), (m + 2, 1)):
                        W2[first + unit, to] += factor * signs
            first, column = units.stop, column + size

    def _meet(self, s: int) -> Attend:
        """Score c(A⟨T(x_k), T(partner)⟩ - ⟨T(k), T(j)⟩ + P - 1 - A·b) at data, 0 at q; q looks at itself."""
        b, P, A = self.b, self.P, self.A
        match = [
            Match({f"partner{s}": A * C}, {"word": 1}),
            Match({"place": -C}, {"place": 1}),
            Match({"data": C * (P - 1 - A * b)}, {"data": 1}),
            Match({"asks": HEAR}, {"asks": 1}),
        ]
        return Attend([("x", "exists", "x", "q"), ("q", "one", "q")], match, {"met": {"data": 1}})

    def margin(self, precision: Precision) -> float | None:
        """q is heard so well that it is rounded to whole numbers; so are all scores; three heads may meet."""
        r, n, p = Roundoff.of(precision), self.task.n, self.primes[-1]
        if r is None or not holds(precision, 8 * p, 4 * C * self.A * (self.b + self.P)) or not n * r.acc < 1:
            return None
        if not 64 * p * p * blur(stray(n, HEAR, ball(0)), n + 1, r) < r.u:
            return None
        met = retrieved((n + 1) * ball(-C).exp(), n + 1, r)
        yes = POOL * (met.one * (1 - r.u) ** 3 - ball(1) / 2) * (1 - r.u)
        no = POOL * (ball(1) / 2 - 3 * met.zero * (1 + r.u) ** 3) * (1 - r.u)
        some, none = retrieved((-yes).exp(), n + 1, r), retrieved(n * (-no).exp(), n + 1, r)
        return certified(decided(some.one, none.zero, r))


def _word(p: int, size: int) -> CodedPart:
    """A residue modulo p in signs."""
    return table(f"word{p}", p, size, lambda: 2 * digits(size)[:p] - 1)


def _residues(p: int, more: int = 0) -> Array:
    return more + np.arange(float(p))[:, None]
