r"""Inner product modulo 2: do two strings of n bits have an odd number of common ones [forster2002]?

    n = 4:   0 1 1 0 | 1 1 1 0   ->   0          0 1 1 0 | 1 0 1 0   ->   1

A recurrence must carry all of a past the cut (2^n rows), and n bits of state are enough.  A state that only
an affine map reads needs exponentially many numbers, whatever they hold: the sign rank is at least 2^(n/2).
"""

from __future__ import annotations

from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, uniform
from limen.tasks._two_strings import TwoStrings


class InnerProduct(TwoStrings):
    """2n bits: a_1 … a_n, then b_1 … b_n; the answer is Σ a_i·b_i modulo 2.

    >>> InnerProduct(n=4).answer(np.array([[0, 1, 1, 0, 1, 1, 1, 0], [0, 1, 1, 0, 1, 0, 1, 0]])).tolist()
    [0, 1]
    """

    question: ClassVar[str] = "say whether two strings of {n} bits have an odd number of common ones"

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """a uniform, with a 1; b uniform, but flipped where a has a 1 if the answer is to be another.

        None is harder than another: every text is one bit away from the other answer.
        """
        odd, at = balanced(rng, count), rng.integers(self.n, size=(count, 1))
        a, b = uniform(rng, 2, (2, count, self.n))
        np.put_along_axis(a, at, 1, axis=1)
        flip = ((a & b).sum(axis=1) + odd) % 2
        np.put_along_axis(b, at, np.take_along_axis(b, at, axis=1) ^ flip[:, None], axis=1)
        return np.hstack([a, b]), odd

    def drawn(self, hard: bool = False) -> Distribution:
        return Distribution(
            "with a uniform a but for a 1 at a random place, where b is flipped if the other answer is due",
            support=lambda tokens: tokens[..., : self.n].any(axis=-1),
        )

    def answer(self, tokens: Tokens) -> Answers:
        a, b = tokens[..., : self.n], tokens[..., self.n :]
        return np.asarray((a & b).sum(axis=-1) % 2, dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """Each single place, and none."""
        return np.eye(self.n + 1, self.n, dtype=np.int64)

    def free(self, known: int = 0) -> int:
        """Any a_i: b has a single 1."""
        return max(self.n - known, 0)

    def rows(self, t: int) -> Count:
        """All of a that was read; then what is left of it, and whether the sum so far is odd."""
        if t <= self.n:
            return Count(((2, t),), "2^t")
        return Count(((2, 2 * self.n - t + 1),), "2^(2n-t+1)")

    def in_paper(self, t: int) -> Paper:
        task = r"An input has $2n$ bits $a_1\dots a_nb_1\dots b_n$, and $f=(a_1b_1+\dots+a_nb_n)\bmod 2$."
        if t <= self.n:
            return Paper(
                task,
                r"Take all words $a_1\dots a_t$. Two of them differ in some $a_i$. Let the other bits of "
                r"$a$ be 0, and let $b_i=1$ be the only one in $b$: the answer is $a_i$.",
            )
        return Paper(
            task,
            r"Let $j=t-n$. Take the prefixes with $b_1=1$, with $a_i=b_i=0$ for $1<i\leq j$, and with any "
            r"bits $a_1,a_{j+1},\dots,a_n$: there are $2^{1+n-j}=2^{2n-t+1}$. If all later bits of $b$ are "
            r"0, the answer is $a_1$; so where $a_1$ differs, the answers do. If $a_1$ is the same, some "
            r"$a_i$ with $i>j$ differs, and with $b_i=1$, alone among the later bits, the answer is "
            r"$(a_1+a_i)\bmod 2$.",
        )

    @classmethod
    def examples(cls) -> tuple[InnerProduct, ...]:
        return cls(), cls(n=1), cls(n=7)
