r"""2-Sum with a query token: given x_1 … x_n and q, is there a j with x_j + q ≡ 0 modulo M?

    n = 4, M = 7:   1 4 4 6 | 3   ->   4 + 3 = 7, so 1

One softmax layer with a head of size 3 decides it, by angles 2πx/M [sanford2023].  A recurrence must
carry the set of the x_j past the cut: #rows = Σ_{s=1}^{min(n,M)} C(M,s); a block-sparse layer the set
of each block [ye2026].  Near misses, -q ± 1, are what low precision confuses with a partner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, uniform
from limen.errors import at_least
from limen.tasks._counts import subsets
from limen.tasks._modular import ModularSums
from limen.tasks._shape import InputShape


@dataclass(frozen=True)
class TwoSum(ModularSums):
    """n+1 tokens in 0..M-1: x_1 … x_n, then q; the answer is 1 or 0.  The query is no partner of itself.

    >>> int(TwoSum(n=4, M=7).answer(np.array([1, 4, 4, 6, 3])))
    1
    """

    question: ClassVar[str] = "find a partner among {n} numbers"

    def __post_init__(self) -> None:
        at_least(self, n=1, M=3)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.M, length=self.n + 1, answers=2, cut=self.n)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """q uniform; x uniform on what is no partner, and one partner put in for yes; hard: x is -q ± 1."""
        n, M = self.n, self.M
        y = balanced(rng, count)
        q = uniform(rng, M, count)
        miss = 1 + (uniform(rng, 2, (count, n)) * (M - 2) if hard else uniform(rng, M - 1, (count, n)))
        x = miss - q[:, None]  # -q + miss, and miss is never 0
        x += M * (x < 0)
        yes = np.flatnonzero(y)
        x[yes, rng.integers(n, size=len(yes))] = -q[yes] % M
        return np.column_stack([x, q]), y

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            says = "with at most one partner of q, drawn uniformly given the answer, yes as often as no"
            return Distribution(says, "answer", lambda tokens: self._sums(tokens, 0).sum(axis=-1) <= 1)
        says = "of -q ± 1 and at most one partner of q, drawn uniformly given the answer, yes as often as no"
        return Distribution(says, "answer", self._missing_by_one)

    def _missing_by_one(self, tokens: Tokens) -> NDArray[np.bool_]:
        partners, near = self._sums(tokens, 0), self._sums(tokens, 1) | self._sums(tokens, -1)
        return np.asarray((partners.sum(axis=-1) <= 1) & (partners | near).all(axis=-1))

    def _sums(self, tokens: Tokens, residue: int) -> NDArray[np.bool_]:
        """(*batch, n): whether x_j + q is this residue."""
        return np.asarray((tokens[..., :-1] + tokens[..., -1:] - residue) % self.M == 0)

    def answer(self, tokens: Tokens) -> Answers:
        x, q = tokens[..., :-1], tokens[..., -1:]
        return np.asarray((x == -q % self.M).any(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.M)[:, None]

    def free(self, known: int = 0) -> int:
        """Any set of values but one, which fills up and is not asked for."""
        return max(min(self.n - known, self.M - 1), 0)

    def rows(self, t: int) -> Count:
        """The sets of 1 to t values; a value in one of two sets alone is the query, and comes no more."""
        if t == 0:
            return Count.of(1, "1")
        return subsets(self.M, t, "Σ_{s=1}^{min(t,M)} C(M,s)")

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input has $n+1$ tokens $x_1,\dots,x_n,q$ in $\{0,\dots,M-1\}$; $f=1$ if $x_j+q\equiv "
            r"0\pmod M$ for some $j$, and $f=0$ otherwise.",
            r"Take for each non-empty set of at most $t$ values one prefix with exactly these values; one "
            r"of them is repeated if there are fewer than $t$. Of two different sets one, say $A$, has a "
            r"value $a$ that the other, $B$, lacks. Let the other $x_j$ be a value of $B$ and let $q\equiv "
            r"-a$. The answer is 1 after $A$ and 0 after $B$.",
        )

    @classmethod
    def examples(cls) -> tuple[TwoSum, ...]:
        return cls(), cls(n=3, M=6), cls(n=1, M=3), cls(n=9, M=4)
