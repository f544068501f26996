r"""Function evaluation: given f(0) … f(n-1) and x, the answer is f(x) [ye2026].

    n = 4:   3 1 0 2 | 1   ->   f(1) = 1

Key and position are one: the token at position i is f(i).  That is what makes one softmax
layer enough (the key is the position), while every recurrence must carry all of f past the
cut: #rows = n^n, so n·log₂n bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import UNIFORM, Distribution
from limen.core.task import Answers, Paper, Task, Tokens, different, distinct, uniform
from limen.errors import at_least


@dataclass(frozen=True)
class Eva(Task):
    """n+1 tokens in 0..n-1: f(0) … f(n-1), then x.

    >>> int(Eva(n=4).answer(np.array([3, 1, 0, 2, 1])))
    1
    """

    question: ClassVar[str] = "look up one of {n} values"

    n: int = 4

    def __post_init__(self) -> None:
        at_least(self, n=1)

    @property
    def vocab(self) -> int:
        return self.n

    @property
    def length(self) -> int:
        return self.n + 1

    @property
    def answers(self) -> int:
        return self.n

    @property
    def cut(self) -> int:
        return self.n

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """f and x uniform; hard: f is a permutation, so that no majority helps."""
        n = self.n
        f = distinct(rng, count, n, n) if hard else uniform(rng, n, (count, n))
        x = uniform(rng, n, count)
        return np.column_stack([f, x]), f[np.arange(count), x]

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return UNIFORM
        says = "drawn uniformly from those in which f is a permutation"
        return Distribution(says, "uniform", lambda tokens: different(tokens[..., :-1]))

    def answer(self, tokens: Tokens) -> Answers:
        f, x = tokens[..., :-1], tokens[..., -1:]
        return np.take_along_axis(f, x, axis=-1)[..., 0]

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.n)[:, None]

    def free(self, known: int = 0) -> int:
        """Any f(i), while there are two values."""
        return max(self.n - known, 0) if self.n > 1 else 0

    def rows(self, t: int) -> Count:
        """All n^t tables f(0) … f(t-1)."""
        return Count(((self.n, t),), "n^t")

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input has $n+1$ tokens $g(0),\dots,g(n-1),x$ in $\{0,\dots,n-1\}$, and $f=g(x)$.",
            r"Take all words $g(0)\dots g(t-1)$. Two of them differ in some $g(i)$ with $i<t$. Whatever the "
            r"other entries are, the last token $x=i$ asks for $g(i)$, and the answers differ.",
        )
