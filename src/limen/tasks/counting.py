r"""Counting: given x_1 … x_n, a symbol s and a threshold k, does s occur at least k times [wen2025]?

    n = 5, S = 3:   0 2 2 1 2 | 2 3   ->   2 occurs 3 times, so 1

One softmax layer that spreads its weight over the tokens equal to s and one more reads 1/(count+1), which
takes log₂n bits of precision.  A recurrence must carry all the counts: #rows = C(n+S-1, S-1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, WrittenSizes, balanced, distinct, filled, uniform
from limen.errors import at_least
from limen.tasks._counts import binomial
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Counting(Shaped):
    """n+2 tokens: x_1 … x_n and s in 0..S-1, then k in 1..n (symbols and numbers share their ids).

    >>> int(Counting(n=5, S=3).answer(np.array([0, 2, 2, 1, 2, 2, 3])))
    1
    """

    question: ClassVar[str] = "count a symbol among {n}"

    n: int = 5
    S: int = 3

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """S = n: as many symbols as tokens."""
        return filled(written, "n", S=lambda n: max(n, 2))

    def __post_init__(self) -> None:
        at_least(self, n=1, S=2)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=max(self.S, self.n + 1), length=self.n + 2, answers=2, cut=self.n)

    def alphabets(self) -> list[tuple[range, int]]:
        return [(range(self.S), self.n + 1), (range(1, self.n + 1), 1)]

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """s occurs a uniform number of times, k is on the answer's side; hard: that number or one more."""
        n, S = self.n, self.S
        y = balanced(rng, count)
        s = rng.integers(S, size=count)
        c = rng.integers(n, size=count) + y  # occurrences of s: 1..n for yes, 0..n-1 for no
        nearest = c + 1 - y
        k = nearest if hard else rng.integers(np.where(y, 1, nearest), np.where(y, nearest, n), endpoint=True)
        other = uniform(rng, S - 1, (count, n))
        other += other >= s[:, None]  # steps over s
        x = np.where(distinct(rng, count, n, n) < c[:, None], s[:, None], other)
        return np.column_stack([x, s, k]), y

    def drawn(self, hard: bool = False) -> Distribution:
        often = (
            "with yes as often as no, in which s occurs a uniform number of times given the answer and k is"
        )
        if not hard:
            return Distribution(f"{often} uniform on the answer's side")
        return Distribution(f"{often} that number or, for no, one more", support=self._at_the_threshold)

    def _at_the_threshold(self, tokens: Tokens) -> NDArray[np.bool_]:
        x, s, k = tokens[..., :-2], tokens[..., -2:-1], tokens[..., -1]
        missing = k - (x == s).sum(axis=-1)
        return np.asarray((missing == 0) | (missing == 1))

    def answer(self, tokens: Tokens) -> Answers:
        x, s, k = tokens[..., :-2], tokens[..., -2:-1], tokens[..., -1]
        return np.asarray((x == s).sum(axis=-1) >= k, dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """For every symbol the largest threshold it reaches and the smallest it does not."""
        s = np.arange(self.S).repeat(2)
        k = np.bincount(prefix, minlength=self.S).repeat(2) + np.tile([0, 1], self.S)
        legal = (k >= 1) & (k <= self.n)
        return np.column_stack([s[legal], k[legal]])

    def free(self, known: int = 0) -> int:
        """Whether a symbol is there, but for one that fills up; the threshold is 1."""
        return max(min(self.n - known, self.S - 1), 0)

    def rows(self, t: int) -> Count:
        """The counts of the symbols: t as a sum of S of them.  When s is known, its own count, 0 … n."""
        if t > self.n:
            return Count.of(self.n + 1, "n + 1")
        return binomial(t + self.S - 1, min(t, self.S - 1), "C(t+S-1, S-1)")

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $n$ symbols $x_1,\dots,x_n$ and a symbol $s$, all in $\{0,\dots,S-1\}$, and a "
            r"number $k\in\{1,\dots,n\}$; $f=1$ if at least $k$ of the $x_j$ are $s$, and $f=0$ otherwise."
        )
        if t > self.n:
            return Paper(
                task,
                r"Let $s=0$, and take for each $c=0,\dots,n$ a prefix in which $c$ of the $x_j$ are 0. Of "
                r"two of them let $c$ be the larger number: $k=c$ has the answer 1 after the one, and 0 "
                r"after the other.",
            )
        return Paper(
            task,
            r"Take for all $(c_0,\dots,c_{S-1})$ with $c_0+\dots+c_{S-1}=t$ one prefix in which each symbol "
            r"$s$ occurs $c_s$ times. In two of them the sums are equal, so for some $s$ the first one has "
            r"the larger number $c_s$. Let all later $x_j$ be another symbol, and ask for $s$ and $k=c_s$: "
            r"the answer is 1 after the first one and 0 after the other.",
        )

    @classmethod
    def examples(cls) -> tuple[Counting, ...]:
        return cls(), cls(n=3, S=7), cls(n=1, S=2)
