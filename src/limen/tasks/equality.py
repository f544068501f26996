r"""Equality: are two strings of n bits the same [bhattamishra2024]?

    n = 4:   0 1 1 0 | 0 1 1 0   ->   1          0 1 1 0 | 0 1 0 0   ->   0

A recurrence must carry all of a past the cut (2^n rows), and one softmax layer must send as much
between the halves.  Two layers of logarithmic size do it: the first compares b_i with a_i, the second
looks for a difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Tokens, balanced, uniform
from limen.tasks._counts import power_and
from limen.tasks._orders import in_order, nearly_equal
from limen.tasks._two_strings import TwoStrings


@dataclass(frozen=True)
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

    @classmethod
    def examples(cls) -> tuple[Equality, ...]:
        return cls(), cls(n=1), cls(n=7)
