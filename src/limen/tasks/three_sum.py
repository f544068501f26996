r"""3-Sum with a query token: given x_1 … x_n and q, are there j ≠ k with x_j + x_k + q ≡ 0 modulo M?

    n = 4, M = 9:   6 5 2 7 | 6   ->   5 + 7 + 6 = 18, so 1        (6 + 6 + 6 would take x_1 twice)

The triple detection of [sanford2023].  Softmax compares two tokens at a time: one layer needs Ω(n) bits (set
disjointness again), several layers are conjectured to fail too, while n steps of chain of thought
ask n times for a 2-Sum.  A recurrence must carry the set of the sums x_j + x_k past the cut.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced
from limen.errors import at_least
from limen.tasks._counts import subsets
from limen.tasks._modular import ModularSums
from limen.tasks._pairs import draw, exists, near_misses
from limen.tasks._shape import InputShape


@dataclass(frozen=True)
class ThreeSum(ModularSums):
    """n+1 tokens in 0..M-1: x_1 … x_n, then q; the answer is 1 or 0.

    >>> int(ThreeSum(n=4, M=9).answer(np.array([6, 5, 2, 7, 6])))
    1
    """

    question: ClassVar[str] = "find two of {n} numbers that complete a sum"

    M: int = 9

    def __post_init__(self) -> None:
        at_least(self, n=2, M=3)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.M, length=self.n + 1, answers=2, cut=self.n)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """q uniform; yes: x uniform with one pair put in; no: of v and -q-v always the same one.

        Hard: sums miss -q by one.  Half of the rows hold a token with 2x ≡ -q, where there is one: it may
        not serve twice.
        """
        y = balanced(rng, count)
        q = rng.integers(self.M, size=count)
        x = (near_misses if hard else draw)(rng, y, self.n, self.M, -q % self.M)
        return np.column_stack([x, q]), y

    def drawn(self, hard: bool = False) -> Distribution:
        if hard:
            return Distribution(
                "in which many sums x_j + x_k + q miss 0 by one, yes as often as no", exact=False
            )
        return Distribution(
            "drawn uniformly; for yes a pair is put in, for no only one of v and -q-v occurs, for each v, "
            "and each v that is -q-v in half of them"
        )

    def answer(self, tokens: Tokens) -> Answers:
        return exists(tokens[..., :-1], -tokens[..., -1:] % self.M, self.M)

    def queries(self, prefix: Tokens) -> Tokens:
        return np.arange(self.M)[:, None]

    def free(self, known: int = 0) -> int:
        """w = 2m-1, then any set of values below m ≤ (M+1)/3 but one that fills up: -(w+a) asks for a."""
        return max(min(self.n - 1 - known, (self.M + 1) // 3 - 1), 0)

    def rows(self, t: int) -> Count:
        """At least Σ_{s=1}^{min(t',m)} C(m,s), m = ⌊(M+1)/3⌋, t' = t if a token w is still to come, else t-1.

        Let w = 2m-1 and let the prefix be w and a set A of values below m (or A alone, w being to come).  The
        sums w + a lie in 2m-1 … 3m-2, those of A in 0 … 2m-2, and 3m-1 ≤ M: they do not meet.  So -(w+a)
        asks whether a is in A, also when more of w come, for 2w ≠ w+a.  At least M: the prefixes 0 … 0 y.
        """
        m, free = (self.M + 1) // 3, t - (t == self.n)
        if t == 0:
            return Count.of(1, "1")
        sets = subsets(m, free, "Σ_{s=1}^{min(t-[t=n],m)} C(m,s), m = ⌊(M+1)/3⌋")
        single = Count.of(self.M, "M", exact=False)
        return single if single.bits > sets.bits else replace(sets, exact=False)

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $n+1$ tokens $x_1,\dots,x_n,q$ in $\{0,\dots,M-1\}$; $f=1$ if $x_j+x_k+q\equiv "
            r"0\pmod M$ for some $j<k$, and $f=0$ otherwise."
        )
        if self.rows(t).formula == "M":
            return Paper(
                task,
                r"Take the $M$ prefixes $0\dots 0\,y$, and let all later tokens before $q$ be 0. The sums "
                r"of two tokens are $y$ and, where there are two zeros, $0$. Of two prefixes with $y\neq "
                r"y'$ let $y\neq 0$: then $q\equiv -y$ has the answer 1 after the first one and 0 after the "
                r"other.",
            )
        last = "stands before $A$" if t == self.n else "are all tokens between the prefix and $q$"
        return Paper(
            task,
            r"Let $w=2m-1$. Take for each non-empty set $A\subseteq\{0,\dots,m-1\}$ that fits one prefix "
            r"with exactly "
            rf"these values, some repeated; a token $w$, or several, {last}. Below $M\geq 3m-1$ the sums of "
            rf"two "
            r"values of $A$ lie in $0,\dots,2m-2$, and the sums $w+a$ in $2m-1,\dots,3m-2$; and $w+w\equiv "
            r"w+a$ would mean $w=a$. So with $q\equiv -(w+a)$ the answer is 1 if and only if $a\in A$, and "
            r"two different sets are told apart by an $a$ that is in one of them alone.",
        )

    @classmethod
    def examples(cls) -> tuple[ThreeSum, ...]:
        return cls(), cls(n=5, M=8), cls(n=2, M=3), cls(n=9, M=5)
