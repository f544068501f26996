r"""Match3, any three tokens: given x_1 … x_n, are there i < j < k with x_i + x_j + x_k ≡ 0 modulo M?

    n = 4, M = 13:   3 5 1 9   ->   3 + 1 + 9 = 13, so 1

The 3-Sum of [sanford2023] as it stands there; `three_sum` asks for triples through the last token.  They show
that one layer needs Ω(n/log log n) bits and conjecture that several layers do not do it efficiently either.
Here one layer needs about n·log₂(M/n) bits (one_layer_cut).  Of several layers no theorem speaks, and there
is no construction.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, WrittenSizes, balanced, distinct, filled
from limen.errors import at_least
from limen.tasks._counts import subsets
from limen.tasks._modular import ModularSums
from limen.tasks._pairs import exists
from limen.tasks._shape import InputShape


@dataclass(frozen=True)
class Match3(ModularSums):
    """n tokens in 0..M-1; the answer is 1 or 0.

    >>> int(Match3(n=4, M=13).answer(np.array([3, 5, 1, 9])))
    1
    """

    question: ClassVar[str] = "find three of {n} numbers that add up to 0"

    M: int = 13

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """M = n³: as many numbers as triples."""
        return filled(written, "n", M=lambda n: max(n**3, 7))

    def __post_init__(self) -> None:
        at_least(self, n=3, M=7)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.M, length=self.n, answers=2, cut=self.n - 1)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Numbers u with 0 < 3u < M, of which no three make M; for yes one of them completes a triple.

        Hard: all u are multiples of 2g, g another one in each row, and where the answer is no one of them
        misses a triple by g: as two multiples of 2g are never g apart, no other triple is made.  All are
        negated in half of the rows.
        """
        n, M, yes, row = self.n, self.M, balanced(rng, count), np.arange(count)
        top = -(-M // 3) - 1  # the largest u
        g = rng.integers(1, max(top // 4, 1) + 1, size=count) if hard else np.ones(count, dtype=np.int64)
        if hard:
            u = 2 * g[:, None] * rng.integers(1, top // (2 * g[:, None]) + 1, size=(count, n))
        else:
            u = rng.integers(1, top + 1, size=(count, n))
        i, j, k = distinct(rng, count, 3, n).T
        miss = np.where(yes, 0, g * rng.choice([-1, 1], count))
        last = M - u[row, i] - u[row, j] + miss
        u[row, k] = last if hard else np.where(yes, last, u[row, k])
        return np.where(rng.integers(2, size=(count, 1)), u, -u) % M, yes

    def drawn(self, hard: bool = False) -> Distribution:
        signs = "all negated in half of the texts"
        if not hard:
            says = f"of uniform u with 0 < 3u < M, {signs}; for yes one is replaced and completes a triple"
            return Distribution(says, support=self._small)
        says = f"of multiples of 2g, g random, {signs}; one is replaced and completes or misses a triple by g"
        return Distribution(says, exact=False)

    def _small(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether all tokens, up to sign, are u with 0 < 3u < M, except one that completes a triple."""
        top, small = -(-self.M // 3) - 1, np.zeros(tokens.shape[:-1], dtype=np.bool_)
        for u in (tokens, -tokens % self.M):
            large = (u > top).sum(axis=-1)
            small |= (u > 0).all(axis=-1) & ((large == 0) | ((large == 1) & (self.answer(tokens) == 1)))
        return small

    def answer(self, tokens: Tokens) -> Answers:
        exist = np.zeros(tokens.shape[:-1], dtype=np.int64)
        for i in range(self.n - 2):
            exist |= exists(tokens[..., i + 1 :], -tokens[..., i : i + 1] % self.M, self.M)
        return exist

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.M)[:, None]

    def rows(self, t: int) -> Count:
        """At least Σ_{s=1}^{min(t,n-2)} C(K,s) + [t ≥ 3], K = ⌊(M-1)/4⌋.

        A prefix is a set A of values in 1 … K, and 2K if only one token is to come.  M-2K-a asks with 2K
        whether a is in A; before it come repetitions of what the other of two sets holds.  Or there is a
        triple already.
        """
        K, sizes = (self.M - 1) // 4, min(t, self.n - 2)
        if t == 0:
            return Count.of(1, "1")
        sets = subsets(K, sizes, "Σ_{s=1}^{min(t,n-2)} C(K,s) + [t ≥ 3], K = ⌊(M-1)/4⌋")
        if t < 3 or sets.value is None:
            return replace(sets, exact=False)
        return Count.of(sets.value + 1, sets.formula, exact=False)

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $n$ tokens $x_1,\dots,x_n$ in $\{0,\dots,M-1\}$; $f=1$ if $x_i+x_j+x_k\equiv "
            r"0\pmod M$ for some $i<j<k$, and $f=0$ otherwise."
        )
        last = "and $2K$ behind them" if t == self.n - 1 else "some repeated"
        then = "" if t == self.n - 1 else "$n-t-2$ copies of a value of $B$, then $2K$, then "
        return Paper(
            task,
            r"Take for each non-empty set of values in $1,\dots,K$ that fits one prefix with exactly these "
            r"values, "
            rf"{last}. Let $A$ have a value $a$ that $B$ lacks, and continue with {then}$M-2K-a$. After "
            r"$A$ the answer is 1, for $a+2K+(M-2K-a)=M$. After $B$, with $x,y,z$ of $B$: $x+y+z\leq 3K<M$ "
            r"and $x+y+2K\leq 4K<M$; $x+y+(M-2K-a)$ is below $M$ and at least $M-3K+1>0$; and "
            r"$x+2K+(M-2K-a)=M+x-a$ is no multiple of $M$, since $x\neq a$ and $|x-a|\leq K$. So the answer "
            r"is 0."
            + (
                r" The same holds of $a=K+1$, which no set has. One more prefix is all zeros; the answer "
                r"after it is 1 always, and so it is told apart from each set."
                if t >= 3
                else ""
            ),
        )

    @classmethod
    def examples(cls) -> tuple[Match3, ...]:
        return cls(), cls(n=3, M=7), cls(n=5, M=9)
