r"""Equality: are two strings of n bits the same [bhattamishra2024]?

    n = 4:   0 1 1 0 | 0 1 1 0   ->   1          0 1 1 0 | 0 1 0 0   ->   0

A recurrence must carry all of a past the cut (2^n rows), and one softmax layer must send as much
between the halves.  Two layers of logarithmic size do it: the first compares b_i with a_i, the second
looks for a difference.
"""

from __future__ import annotations

from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, uniform
from limen.tasks._counts import power_and
from limen.tasks._orders import in_order, nearly_equal
from limen.tasks._two_strings import TwoStrings


class Equality(TwoStrings):
    """2n bits: a_1 … a_n, then b_1 … b_n.

    >>> Equality(n=4).answer(np.array([[0, 1, 1, 0, 0, 1, 1, 0], [0, 1, 1, 0, 0, 1, 0, 0]])).tolist()
    [1, 0]
    """

    question: ClassVar[str] = "compare two strings of {n} bits"

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """a uniform; no: b uniform, with a bit that differs; hard: two neighbours in other order."""
        yes = balanced(rng, count)[:, None]
        if hard:
            a, b = nearly_equal(rng, count, self.n)
        else:
            a, b = uniform(rng, 2, (2, count, self.n))
            at = rng.integers(self.n, size=(count, 1))
            np.put_along_axis(b, at, 1 - np.take_along_axis(a, at, axis=1), axis=1)
        return np.hstack([a, np.where(yes, a, b)]), yes[:, 0]

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return Distribution(
                "with a uniform a; yes: b is a; no: b is uniform but differs at a random place"
            )
        return Distribution(
            "with s t s s or s s t s in a, t ≠ s, if it fits; yes: b is a; no: b has the other there",
            support=lambda tokens: in_order(tokens[..., : self.n], tokens[..., self.n :]),
        )

    def answer(self, tokens: Tokens) -> Answers:
        a, b = tokens[..., : self.n], tokens[..., self.n :]
        return np.asarray((a == b).all(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """a itself, and a with one bit flipped."""
        return prefix ^ np.eye(self.n + 1, self.n, k=-1, dtype=np.int64)

    def rows(self, t: int) -> Count:
        """All of a that was read; then what is still to be compared of it, and that something differed."""
        if t <= self.n:
            return Count(((2, t),), "2^t")
        return power_and(2, 2 * self.n - t, 1, "2^(2n-t) + 1")

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $2n$ bits $a_1\dots a_nb_1\dots b_n$; "
            r"$f=1$ if $a_i=b_i$ for all $i$, and $f=0$ otherwise."
        )
        if t <= self.n:
            return Paper(
                task,
                r"Take all words $a_1\dots a_t$. Continue with $a_{t+1}=\dots=a_n=0$ and with $b$ equal to "
                r"$a$: the answer is 1. After any other of these words the same continuation has the answer "
                r"0.",
            )
        return Paper(
            task,
            r"Let $j=t-n$, and let $a_i=b_i=0$ for $i\leq j$. Take all words $a_{j+1}\dots a_n$: there are "
            r"$2^{n-j}=2^{2n-t}$. Continue with $b_i=a_i$ for $i>j$: the answer is 1, and 0 after any other "
            r"of these words. One more prefix has $b_1=1\neq a_1$; the answer after it is 0 always.",
        )

    @classmethod
    def examples(cls) -> tuple[Equality, ...]:
        return cls(), cls(n=1), cls(n=7)
