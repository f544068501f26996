r"""3-Sum by one softmax layer with n thinking steps that add without carries: by residues modulo primes.

    x_1 … x_n q | s_1 … s_{n+1}  ->  answer       s_t = (hits at some j < t,  q + x_t modulo each prime)

A hit at j is a k ≠ j with x_j + x_k + q = 0, M or 2M: three digits.  Five heads where s_{t+1} is written,
at q or s_t:

    head 0          looks back by n positions: the residues of x_{t+1}        (as in cgram_by_softmax)
    head 1          the residues of q
    heads 2, 3, 4   is there a k ≠ t with x_k = S - (q + x_t),  S = 0, M, 2M?

Why it works.  A sum of three numbers below M is 0 modulo M iff it is 0, M or 2M, and it is S iff it is S
modulo all primes, whose product is 3M or more (Chinese remainder theorem).  The residue of an id is a row of
a table, and so is S - r of a written residue r.  a + b modulo p is a function of a + b < 2p: 2p - 2 ReLUs
give its digits.  With H the number of primes at which x_k is not what is asked for, h the distance of the
places of k and t in binary, heads 2, 3, 4 score

    c(-2AH + 2h - 1),  A a power of two ≥ P ≥ h:        ≥ c for a partner,  ≤ -c where k = t or H ≥ 1,

and 0 on q and on what was written, whose value is 0.  A digit that is 1 stays 1: own + ReLU(read - 4·own), so
no rounding in a long sum adds up.  The last step writes whether any of the three digits is 1.

One layer of 5 heads, keys of size Σp + P + 1, a value for each prime, 2Σ(p - 1) + 3 ReLUs; n + 1 steps.  With
M = 2^40: 12 primes, up to 37, Σp = 197, and 51 bits a token.  Without the steps one layer needs Ω(n) bits
[sanford2023].
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from limen.constructions._addresses import ResidueAddresses
from limen.constructions._fields import ONE, CodedPart, Stretch, bits, one_hot, table, tokens
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, copied, holds, retrieved, settled
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.model.local import Mlp
from limen.tasks.three_sum import ThreeSum

_WRITTEN = 62  # bits of a token
_SHUT = 2.0**60  # takes away any average, however a long sum is rounded


@dataclass(frozen=True)
class ThreeSumByResidues(Programmed):
    """A written token in binary: three digits of what was found, then the residue for each prime."""

    task: ThreeSum = ThreeSum()
    small = tuple(ThreeSum(n, M) for n, M in ((2, 5), (3, 7), (4, 8), (2, 16)))

    def __post_init__(self) -> None:
        if self._size > _WRITTEN:
            raise BadInput(
                f"three_sum_by_residues: M = {self.task.M} is too large for a token of {_WRITTEN} bits"
            )

    @property
    def steps(self) -> int:
        return self.task.n + 1

    @property
    def c(self) -> int:
        """Scores are multiples of it; it grows with log n (_lookup.py)."""
        return 2 * contrast(2 * self.task.n + 2)

    @property
    def primes(self) -> tuple[int, ...]:
        return ResidueAddresses(3 * self.task.M).primes

    @property
    def position(self) -> ResidueAddresses:
        return ResidueAddresses(2 * self.task.n + 2)

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def _starts(self) -> list[int]:
        """The first digit of each residue."""
        return [3 + sum(map(bits_for, self.primes[:i])) for i in range(len(self.primes))]

    @property
    def _size(self) -> int:
        """The bits of a written token."""
        return 3 + sum(map(bits_for, self.primes))

    @property
    def program(self) -> Program:
        n, P, primes = self.task.n, self.P, self.primes
        value = _beside([table(f"value{p}", p, 1, partial(_column, p)) for p in primes])
        residues = _beside([one_hot(f"mod{p}", p) for p in primes])
        start, end, behind = map(self.position.field, (0, n, n + 1))
        partners = {f"partner{s}": self._partners(s) for s in range(3)}
        chain = {"position": behind, "excluded": bits("place", P), "token": bits("token", 3), "chain": ONE}
        return Program(
            text=[
                tokens(n, position=start, value=value, residues=residues, place=bits("place", P), data=ONE),
                tokens(1, position=end, value=value, query=ONE),
                Stretch(n, chain | partners),
                tokens(1, token=table("any", 8, 1, _any), end=ONE),
            ],
            layers=[
                Tier(
                    [self._next, self._query, *map(self._ask, range(3))],
                    write=self._add,
                    fills={"token": self._size},
                    local=Mlp(3 + sum(2 * p - 2 for p in primes)),
                )
            ],
            readout="token",
            more={"moduli": list(primes)},
        )

    def _partners(self, s: int) -> CodedPart:
        """The residues of s·M - (q + x_t), one-hot."""
        parts = []
        for p, start in zip(self.primes, self._starts, strict=True):
            fill = partial(_partner, p, s * self.task.M)
            parts.append(table(f"partner{s}_{p}", 1 << bits_for(p), p, fill, "token", 1 << start))
        return _beside(parts)

    @property
    def _next(self) -> Attend:
        """Head 0: the token n positions before."""
        n, C = self.task.n, self.c
        turned = Match({"position": lambda: C * self.position.back(n)}, {"position": 1})
        return Attend([(asker, "back", n) for asker in ("q", "s")], [turned], {"next": {"value": 1}})

    @property
    def _query(self) -> Attend:
        match = [Match({"query": self.c, "chain": self.c}, {"query": 1})]
        return Attend([(asker, "one", "q") for asker in ("q", "s")], match, {"q": {"value": 1}})

    def _ask(self, s: int) -> Attend:
        """Heads 2, 3, 4 at s_t: is there a k ≠ t with x_k = s·M - (q + x_t)?"""
        c, A = self.c, 1 << bits_for(self.P)
        match = [  # c(2h - 1) = 2c(Σ(1 - 2t)k + Σt) - c
            Match({f"partner{s}": 2 * A * c}, {"residues": 1}),
            Match({"excluded": -4 * c, "chain": 2 * c}, {"place": 1}),
            Match(
                {"excluded": 2 * c, "chain": -c - 2 * A * c * len(self.primes), "query": -c}, {"data": 1}, 1
            ),
        ]
        return Attend([("q", "one", "q"), ("s", "exists", "x", "q")], match, {f"hit{s}": {"data": 1}})

    def _add(self, w: Weights, at: Columns) -> None:
        """f(a + b) = Σ_k (f(k+1) - 2f(k) + f(k-1))·relu(a + b - k) for each digit f of a + b modulo p."""
        W1, b1, W2 = (w[f"local.{name}"] for name in ("W1", "b1", "W2"))
        first, unit = at["token"].start, 3
        W1[at["end"]] = -_SHUT
        for s in range(3):
            W1[at[f"hit{s}"], s], W1[first + s, s], W2[s, first + s] = 1, -4, 1
        for i, (p, start) in enumerate(zip(self.primes, self._starts, strict=True)):
            b, k = bits_for(p), np.arange(2 * p - 2)
            f = digits(b)[np.arange(-1, 2 * p - 1) % p]  # of a + b = -1, where it is taken as 0, … 2p - 2
            f[0] = f[1]
            units = slice(unit, unit := unit + 2 * p - 2)
            W1[at["next"].start + i, units] = W1[at["q"].start + i, units] = 1
            b1[units] = -k
            W2[units, first + start : first + start + b] = f[2:] - 2 * f[1:-1] + f[:-2]

    def margin(self, precision: Precision) -> float | None:
        """Residues are near whole numbers; the digits of a sum err by 4p times as much."""
        r, n, p, P = Roundoff.of(precision), self.task.n, self.primes[-1], self.P
        largest = 4 * self.c * (len(self.primes) + 1) << bits_for(P)
        if r is None or not holds(precision, max(2 * p, 2 * P, self._size), largest):
            return None
        off = (2 * n + 2) * (-ball(self.c)).exp()
        y = copied(off, p, r)
        unit = settled(2 * y, 2 * p, r)  # at most 2p of them, times at most 2 each
        digit = settled(4 * p * unit + r.sums(2 * p) * 4 * p * p, 2, r)
        hit = retrieved(off, 2 * n + 2, r)
        flag = (1 - hit.one).max(hit.zero) + 4 * r.u
        worst = 2 * digit.max(flag) + r.u
        return certified(2 * (1 - worst) - 2 * self._size * (1 + worst) * (r.u + r.sums(self._size)))


def _beside(parts: list[CodedPart]) -> CodedPart:
    return sum(parts[1:], parts[0])


def _column(p: int) -> Array:
    return np.arange(p, dtype=np.float64)[:, None]


def _partner(p: int, total: int) -> Array:
    rows = np.zeros((1 << bits_for(p), p))
    rows[np.arange(p), (total - np.arange(p)) % p] = 1
    return rows


def _any() -> Array:
    return np.array([[0.0], *[[1.0]] * 7])
