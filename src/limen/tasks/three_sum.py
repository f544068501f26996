r"""3-Sum, the last token asks: given x_1 … x_n and q, are there j ≠ k with x_j + x_k + q ≡ 0 modulo M?

    n = 4, M = 9:   6 5 2 7 | 6   ->   5 + 7 + 6 = 18, so 1        (6 + 6 + 6 would take x_1 twice)

The triple detection of [sanford2023].  Softmax compares two tokens at a time: one layer needs Ω(n) bits (set
disjointness again), several layers are conjectured to fail too, while n steps of chain of thought
ask n times for a 2-Sum.  A recurrence must carry the set of the sums x_j + x_k past the cut.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from limen.core.errors import at_least
from limen.core.task import Answers, Task, Tokens, balanced
from limen.tasks._pairs import draw, exists


@dataclass(frozen=True)
class ThreeSum(Task):
    """n+1 tokens in 0..M-1: x_1 … x_n, then q; the answer is 1 or 0.

    >>> int(ThreeSum(n=4, M=9).answer(np.array([6, 5, 2, 7, 6])))
    1
    """

    n: int = 4
    M: int = 9

    def __post_init__(self) -> None:
        at_least(self, n=2, M=3)

    @property
    def vocab(self) -> int:
        return self.M

    @property
    def length(self) -> int:
        return self.n + 1

    @property
    def answers(self) -> int:
        return 2

    @property
    def cut(self) -> int:
        return self.n

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """q uniform; x from different {v, -q-v}, and one pair put in for yes; hard: sums that miss -q by one.

        Half of the rows hold a token with 2x ≡ -q, where there is one: it may not serve twice.
        """
        y = balanced(rng, count)
        q = rng.integers(self.M, size=count)
        return np.column_stack([draw(rng, y, self.n, self.M, -q % self.M, hard), q]), y

    def answer(self, tokens: Tokens) -> Answers:
        return exists(tokens[..., :-1], -tokens[..., -1:] % self.M, self.M)

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.M)[:, None]

    @classmethod
    def examples(cls) -> tuple["ThreeSum", ...]:
        return cls(), cls(n=5, M=8), cls(n=2, M=3), cls(n=9, M=5)
