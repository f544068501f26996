r"""k-hop induction: from each character, k times jump to what followed its last occurrence [sanford2024].

    c = 1:   a b c b a b   ->   - - - c b a        (-: none)

One hop from i: the last j < i with x_j = x_i, then to j + 1; the answer is the character reached.
Neighbours differ, so every hop goes back.  A softmax layer can double the number of hops, so
⌊log₂k⌋ + 2 layers are enough.  The token ids are those of the public code, whose T = 100 means n = 98.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.distribution import UNIFORM, Distribution
from limen.core.task import Answers, Paper, Tokens
from limen.errors import at_least
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Khop(Shaped):
    """n+1 tokens: c in 0..k, then n of the S characters k+1 … k+S; an answer at each of these n.

    The answers are ids too, k+S+1 for none; k+S+2 is the blank of the public code and never an input.

    >>> Khop(n=6, k=1, S=3).answer(np.array([1, 2, 3, 4, 3, 2, 3])).tolist()
    [5, 5, 5, 4, 3, 2]
    """

    question: ClassVar[str] = "follow two induction hops in {n} characters"
    posed: ClassVar[str] = "k=2"

    n: int = 8
    k: int = 2
    S: int = 3

    def __post_init__(self) -> None:
        at_least(self, n=2, k=0, S=2)

    @property
    def none(self) -> int:
        """The answer where there is nothing to hop to."""
        return self.k + self.S + 1

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.k + self.S + 3, length=self.n + 1, answers=self.none + 1, cut=self.n)

    @property
    def asks(self) -> int:
        return self.n

    def alphabets(self) -> list[tuple[range, int]]:
        return [(range(self.k + 1), 1), (range(self.k + 1, self.none), self.n)]

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        return np.asarray((np.diff(tokens[..., 1:], axis=-1) != 0).all(axis=-1))

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Characters uniform among those that differ from the one before, c uniform; hard: c = k."""
        n, k, S = self.n, self.k, self.S
        c = np.full(count, k) if hard else rng.integers(k + 1, size=count)
        steps = rng.integers(1, S, size=(count, n))
        steps[:, 0] = rng.integers(S, size=count)
        x = steps.cumsum(axis=1) % S
        rows = np.arange(count)
        # reached[i, h]: the character h hops from i; row n is "none" for ever
        reached = np.full((count, n + 1, k + 1), self.none)
        after = np.full((count, S), n)  # the position after a character's last occurrence
        for i in range(n):
            reached[:, i, 0] = k + 1 + x[:, i]
            reached[:, i, 1:] = reached[rows, after[rows, x[:, i]], :-1]
            after[rows, x[:, i]] = i + 1
        return np.column_stack([c, k + 1 + x]), reached[rows, :n, c]

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return UNIFORM
        return Distribution("drawn uniformly from those with c = k", "uniform", lambda x: x[..., 0] == self.k)

    def answer(self, tokens: Tokens) -> Answers:
        c, x = tokens[..., :1], tokens[..., 1:]
        order = np.argsort(x, axis=-1, kind="stable")  # equal characters side by side, in their order
        ranked = np.take_along_axis(x, order, axis=-1)
        before = np.where(ranked[..., 1:] == ranked[..., :-1], order[..., :-1], -2)
        hop = np.full_like(tokens, -1)  # position -1 is nowhere, and a hop from there leads there
        np.put_along_axis(hop, order[..., 1:], before + 1, axis=-1)
        at = np.broadcast_to(np.arange(self.n), x.shape)
        for h in range(self.k):
            at = np.where(h < c, np.take_along_axis(hop, at, axis=-1), at)
        reached = np.concatenate([x, np.full_like(c, self.none)], axis=-1)
        return np.take_along_axis(reached, at, axis=-1)

    def queries(self, prefix: Tokens) -> Tokens:
        """Every character that differs from the one before."""
        return np.setdiff1d(np.arange(self.k + 1, self.none), prefix[-1:])[:, None]

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input has $n+1$ tokens: a number $c\in\{0,\dots,k\}$ and then $x_1\dots x_n$ over an "
            r"alphabet of $S$ symbols, no two neighbours equal. A hop leads from a place $i$ to $j+1$, "
            r"where $j<i$ is the last place with $x_j=x_i$; there is none if there is no such $j$. For each "
            r"$i=1,\dots,n$, $f$ answers with the symbol at the place that $c$ hops from $i$ lead to, or "
            r"says that there is none.",
            "",
        )

    @classmethod
    def examples(cls) -> tuple[Khop, ...]:
        return cls(), cls(n=2, k=0, S=2), cls(n=7, k=3, S=2)
