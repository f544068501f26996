r"""Sparse averaging: given z_0 … z_{n-1} = ±1 and q positions, at how many of them is z = +1 [sanford2023]?

    n = 5, q = 2:   1 0 0 1 1 | 1 3   ->   z_1 = -1, z_3 = +1, so 1        (mean 0)

The mean over the positions is (2·answer - q)/q.  One softmax layer of width O(q·log n) averages just
there; a recurrence must carry all of z past the cut: #rows = 2^n if q < n.
Sanford et al. put all q positions into each token.  No token id can hold that beyond small sizes,
so here they take q tokens of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import BY_ANSWER, Distribution
from limen.core.task import Answers, Paper, Tokens, distinct
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped

_MOST_SUBSETS = 4096  # ask them all up to here


@dataclass(frozen=True)
class SparseAverage(Shaped):
    """n+q tokens: z_0 … z_{n-1} as 0 (for -1) or 1, then positions y_1 < … < y_q in 0..n-1 (shared ids).

    >>> int(SparseAverage(n=5, q=2).answer(np.array([1, 0, 0, 1, 1, 1, 3])))
    1
    """

    question: ClassVar[str] = "average over chosen places of {n} signs"

    n: int = 5
    q: int = 2

    def __post_init__(self) -> None:
        at_least(self, n=1, q=1)
        if self.q > self.n:
            raise BadInput(f"sparse_average: q must be at most n = {self.n}, got {self.q}")

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=max(self.n, 2), length=self.n + self.q, answers=self.q + 1, cut=self.n)

    def alphabets(self) -> list[tuple[range, int]]:
        return [(range(2), self.n), (range(self.n), self.q)]

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        return np.asarray((np.diff(tokens[..., self.n :], axis=-1) > 0).all(axis=-1))

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """y uniform, all answers equally likely, z elsewhere uniform; hard: y in a row, around the end."""
        n, q = self.n, self.q
        z = rng.integers(2, size=(count, n))
        y = (
            self._windows(rng.integers(n, size=count))
            if hard
            else np.sort(distinct(rng, count, q, n), axis=1)
        )
        # A coin whose bias is uniform shows each number of heads with the same probability.
        chosen = (rng.random((count, q)) < rng.random((count, 1))).astype(np.int64)
        np.put_along_axis(z, y, chosen, axis=1)
        return np.hstack([z, y]), chosen.sum(axis=1)

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return BY_ANSWER
        says = (
            "drawn uniformly given the answer, every answer as likely, with positions in a row around the end"
        )
        return Distribution(says, "answer", self._in_a_row)

    def _in_a_row(self, tokens: Tokens) -> NDArray[np.bool_]:
        y = tokens[..., self.n :]
        gaps = np.diff(y, axis=-1, append=y[..., :1] + self.n) > 1
        return np.asarray(gaps.sum(axis=-1) <= 1)

    def answer(self, tokens: Tokens) -> Answers:
        z, y = tokens[..., : self.n], tokens[..., self.n :]
        return np.asarray(np.take_along_axis(z, y, axis=-1).sum(axis=-1))

    def queries(self, prefix: Tokens) -> Tokens:
        """All sets of q positions; where they are too many, those in a row."""
        if comb(self.n, self.q) <= _MOST_SUBSETS:
            return np.array(list(combinations(range(self.n), self.q)), dtype=np.int64)
        return self._windows(np.arange(self.n))

    def _windows(self, first: Tokens) -> Tokens:
        """(count,) -> (count, q): q positions in a row from the given ones on, around the end, in order."""
        return np.sort((first[:, None] + np.arange(self.q)) % self.n, axis=1)

    def free(self, known: int = 0) -> int:
        """Any z_i but at q-1 places, which are 0 and always asked for."""
        return max(self.n - max(known, self.q - 1), 0)

    def rows(self, t: int) -> Count:
        """2^t if q < n: sums over all sets of q positions tell any two z apart; the number of +1 if q = n.

        When y_1 … y_j are known there are at least 2^(n-j), with y_i = i-1: any z behind them.
        """
        if self.q == self.n:
            return Count.of(min(t, self.n) + 1, "min(t,n) + 1")
        return Count(((2, min(t, 2 * self.n - t)),), "2^min(t, 2n-t)", exact=t <= self.n)

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $n$ bits $z_0\dots z_{n-1}$ and then $q$ positions $0\leq y_1<\dots<y_q\leq "
            r"n-1$, one token each, and $f=z_{y_1}+\dots+z_{y_q}$."
        )
        if self.q == self.n:
            return Paper(
                task,
                r"As $q=n$, all positions are asked for, and $f$ is the number of ones. Take the prefixes "
                r"whose bits are $1^s0^{\min(t,n)-s}$, $0\leq s\leq\min(t,n)$. If the other bits are 0, the "
                r"answer is $s$.",
            )
        if t <= self.n:
            return Paper(
                task,
                r"Take all words $z_0\dots z_{t-1}$, and let all later bits be 0. Two different words $z$ "
                r"and $z'$ of $n$ bits have another sum at some $q$ positions. Otherwise $d=z-z'$ would sum "
                r"to 0 at every $q$ positions; as $q<n$, one position can be exchanged for any other, so "
                r"all $d_i$ are equal, to $c\neq 0$, and the sum is $qc\neq 0$.",
            )
        return Paper(
            task,
            r"Let $j=t-n$ and let the positions that were read be $0,\dots,j-1$. Take all words with "
            r"$z_0=\dots=z_{j-1}=0$: there are $2^{n-j}=2^{2n-t}$. There are $q-j\geq 1$ positions to come, "
            r"fewer than the $n-j$ places behind. Two different words $z$ and $z'$ have another sum at some "
            r"$q-j$ of these. Otherwise $d=z-z'$ would sum to 0 at every $q-j$ of them; one can be "
            r"exchanged for any other, so all these $d_i$ are equal, to $c\neq 0$, and the sum is "
            r"$(q-j)c\neq 0$.",
        )

    @classmethod
    def examples(cls) -> tuple[SparseAverage, ...]:
        return cls(), cls(n=3, q=3), cls(n=1, q=1), cls(n=20, q=7)
