r"""Index: given s_0 … s_{n-1} and a position p, the answer is s_p [bhattamishra2024].

    n = 4, S = 2:   1 0 1 1 | 1   ->   s_1 = 0

Function evaluation with an alphabet of its own.  One softmax layer of width O(log n) looks the
position up; a recurrence must carry the whole string past the cut: #rows = S^n, so n·log₂S bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import UNIFORM, Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, different, uniform
from limen.errors import at_least
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Index(Shaped):
    """n+1 tokens: s_0 … s_{n-1} in 0..S-1, then p in 0..n-1 (symbols and positions share their ids).

    >>> int(Index(n=4, S=2).answer(np.array([1, 0, 1, 1, 1])))
    0
    """

    question: ClassVar[str] = "say what stood at one of {n} places"

    n: int = 4
    S: int = 2

    def __post_init__(self) -> None:
        at_least(self, n=1, S=2)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=max(self.n, self.S), length=self.n + 1, answers=self.S, cut=self.n)

    def alphabets(self) -> list[tuple[range, int]]:
        return [(range(self.S), self.n), (range(self.n), 1)]

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """s and p uniform; hard: all symbols but one are equal; p is its place or, as often, one beside.

        So neither the rare symbol nor the common one is the answer more often than the other.
        """
        n, S, row = self.n, self.S, np.arange(count)
        p = uniform(rng, n, count)
        if not hard:
            s = uniform(rng, S, (count, n))
        else:
            s = uniform(rng, S, (count, 1)).repeat(n, axis=1)
            s[row, p] = (s[row, p] + rng.integers(1, S, size=count)) % S
            beside = np.abs(p + rng.choice([-1, 1], count))  # 1 beside 0, n-2 beside n-1
            p = np.where(balanced(rng, count), p, (n - 1 - np.abs(n - 1 - beside)) % n)
        return np.column_stack([s, p]), s[row, p]

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard or self.n == 1:  # nothing stands beside a single symbol
            return UNIFORM
        return Distribution(
            "in which all symbols but one are equal, asked at its place or, as often, beside it",
            support=self._needle,
        )

    def _needle(self, tokens: Tokens) -> NDArray[np.bool_]:
        s, p = tokens[..., :-1], tokens[..., -1:]
        if self.n == 2:  # each is the one that differs
            return different(s)
        equal = (s[..., :, None] == s[..., None, :]).sum(axis=-1)  # (*batch, n): how often each symbol occurs
        rare = (equal == 1) & (equal.max(axis=-1, keepdims=True) == self.n - 1)
        return np.asarray((rare & (np.abs(np.arange(self.n) - p) <= 1)).any(axis=-1))

    def answer(self, tokens: Tokens) -> Answers:
        s, p = tokens[..., :-1], tokens[..., -1:]
        return np.take_along_axis(s, p, axis=-1)[..., 0]

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.n)[:, None]

    def free(self, known: int = 0) -> int:
        """Any symbol."""
        return max(self.n - known, 0)

    def rows(self, t: int) -> Count:
        """All S^t strings s_0 … s_{t-1}."""
        return Count(((self.S, t),), "S^t")

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input is a word $s_0\dots s_{n-1}$ over $\{0,\dots,S-1\}$, then a position "
            r"$p\in\{0,\dots,n-1\}$, and $f=s_p$.",
            r"Take all words $s_0\dots s_{t-1}$. Two of them differ in some $s_i$ with $i<t$. Whatever the "
            r"other symbols are, the position $p=i$ asks for $s_i$, and the answers differ.",
        )

    @classmethod
    def examples(cls) -> tuple[Index, ...]:
        return cls(), cls(n=3, S=5), cls(n=1, S=2)
