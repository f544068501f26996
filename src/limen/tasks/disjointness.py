r"""Disjointness: do two sets, written as n bits each, have no element in common [sanford2023]?

    n = 4:   0 1 1 0 | 1 0 0 1   ->   1          0 1 1 0 | 1 0 1 0   ->   0

The hardest question of communication: order n bits must pass even with coins and errors.  So a
recurrence needs n bits of state (2^n rows) and one softmax layer n bits between the halves; two
layers of logarithmic size do it, as for equality.
"""

from __future__ import annotations

from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, distinct, shuffled, uniform
from limen.tasks._counts import power_and
from limen.tasks._two_strings import TwoStrings


class Disjointness(TwoStrings):
    """2n bits: a_1 … a_n, then b_1 … b_n; 1 means that no i has a_i = b_i = 1.

    >>> Disjointness(n=4).answer(np.array([[0, 1, 1, 0, 1, 0, 0, 1], [0, 1, 1, 0, 1, 0, 1, 0]])).tolist()
    [1, 0]
    """

    question: ClassVar[str] = "see whether two subsets of {n} things are disjoint"

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Each element in a, in b or in neither, none of the sets empty; no: b's elements are moved.

        Hard: one of them, to an element of a; otherwise all, anywhere.  So a and b are as large for yes as
        for no (n = 1 leaves no choice).
        """
        n, yes = self.n, balanced(rng, count)
        where = uniform(rng, 3, (count, n))  # 0 nowhere, 1 in a, 2 in b
        np.put_along_axis(
            where, distinct(rng, count, min(n, 2), n), np.arange(1, 1 + min(n, 2))[None], axis=1
        )
        a, b = where & 1, where >> 1
        no = np.flatnonzero(yes == 0)
        if not hard:
            b[no] = shuffled(rng, b[no])
        apart = no[~(a[no] & b[no]).any(axis=1)]
        into, out = (_any_of(rng, s[apart]) for s in (a, b))
        b[apart, out], b[apart, into] = 0, 1
        return np.hstack([a, b]), yes

    def drawn(self, hard: bool = False) -> Distribution:
        if self.n == 1:
            return Distribution("in which a is not empty", "uniform", self._small)
        sets = "with one element in a, one in b, and each other in a, b or none as likely; for no"
        if not hard:
            return Distribution(f"{sets} those of b are moved anywhere, one into a", support=self._small)
        return Distribution(
            f"{sets} one of b is moved into a",
            support=lambda tokens: self._small(tokens) & (self._common(tokens) <= 1),
        )

    def _small(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether no set is empty, and both together have at most n elements."""
        a, b = (half.sum(axis=-1) for half in (tokens[..., : self.n], tokens[..., self.n :]))
        if self.n == 1:
            return np.asarray(a == 1)
        return np.asarray((a > 0) & (b > 0) & (a + b <= self.n))

    def _common(self, tokens: Tokens) -> NDArray[np.int64]:
        """How many elements are in both sets."""
        return np.asarray((tokens[..., : self.n] & tokens[..., self.n :]).sum(axis=-1))

    def answer(self, tokens: Tokens) -> Answers:
        a, b = tokens[..., : self.n], tokens[..., self.n :]
        return np.asarray(~(a & b).any(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """Each single element, and everything that is not in a."""
        return np.vstack([np.eye(self.n, dtype=np.int64), 1 - prefix])

    def free(self, known: int = 0) -> int:
        """Any a_i: b has a single 1."""
        return max(self.n - known, 0)

    def rows(self, t: int) -> Count:
        """All of a that was read; then what b may still meet of it, and that it met something."""
        if t <= self.n:
            return Count(((2, t),), "2^t")
        return power_and(2, 2 * self.n - t, 1, "2^(2n-t) + 1")

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $2n$ bits $a_1\dots a_nb_1\dots b_n$; "
            r"$f=0$ if $a_i=b_i=1$ for some $i$, and $f=1$ otherwise."
        )
        if t <= self.n:
            return Paper(
                task,
                r"Take all words $a_1\dots a_t$. Two of them differ in some $a_i$. Let the other bits of "
                r"$a$ be 0, and let $b_i=1$ be the only one in $b$. The answer is 0 where $a_i=1$, and 1 "
                r"where $a_i=0$.",
            )
        return Paper(
            task,
            r"Let $j=t-n$, and let $a_i=b_i=0$ for $i\leq j$. Take all words $a_{j+1}\dots a_n$: there are "
            r"$2^{n-j}=2^{2n-t}$. Two of them differ in some $a_i$, and then $b_i=1$, alone, has two "
            r"answers. One more prefix has $a_1=b_1=1$: the answer after it is 0 always, and after the "
            r"others it is 1 if no bit of $b$ is 1.",
        )

    @classmethod
    def examples(cls) -> tuple[Disjointness, ...]:
        return cls(), cls(n=1), cls(n=7)


def _any_of(rng: Generator, s: Tokens) -> Tokens:
    """(count, n) sets -> (count,): a random element of each."""
    return np.asarray(np.where(s == 1, rng.random(s.shape), -1).argmax(axis=1))
