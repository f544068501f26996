r"""2-Sum over all pairs: given x_1 … x_n, are there i ≠ j with x_i + x_j ≡ 0 modulo M [ye2026]?

    n = 4, M = 7:   1 2 | 6 4   ->   1 + 6 = 7, so 1

Nobody says which token to compare.  With the partner among the last n/2 tokens it is set disjointness,
so one softmax layer that reads its answer at a fixed token needs Ω(n) bits; two layers, or one layer
and a one-bit recurrence (has any token met its partner?), need O(log n).  A recurrence must carry
the set of the values past the cut.  0 and M/2 are their own negatives: they pair with a second copy only.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

from limen.core.arrays import Generator, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, balanced
from limen.errors import at_least
from limen.tasks._counts import log_of_sum, signed_subsets
from limen.tasks._modular import ModularSums
from limen.tasks._pairs import draw, exists, near_misses
from limen.tasks._shape import InputShape


@dataclass(frozen=True)
class TwoSumAny(ModularSums):
    """n tokens in 0..M-1; the answer is 1 or 0.

    >>> int(TwoSumAny(n=4, M=7).answer(np.array([1, 2, 6, 4])))
    1
    """

    question: ClassVar[str] = "find any pair of {n} numbers that adds up to 0"

    def __post_init__(self) -> None:
        at_least(self, n=2, M=3)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.M, length=self.n, answers=2, cut=self.n // 2)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Yes: uniform, a pair put in; no: of v and -v always the same one; hard: sums miss 0 by one."""
        y = balanced(rng, count)
        return (near_misses if hard else draw)(rng, y, self.n, self.M, np.zeros(count, dtype=np.int64)), y

    def drawn(self, hard: bool = False) -> Distribution:
        if hard:
            return Distribution("in which many sums x_i + x_j miss 0 by one, yes as often as no", exact=False)
        return Distribution(
            "drawn uniformly; for yes a pair is put in, for no only one of v and -v occurs, for each v, "
            "and each v that is its own negative in half of them"
        )

    def answer(self, tokens: Tokens) -> Answers:
        return exists(tokens, np.zeros_like(tokens[..., :1]), self.M)

    def queries(self, prefix: Tokens) -> Tokens:
        """A token that meets a value of the prefix or misses it by one, then harmless ones.

        Harmless is a value whose negative is neither in the prefix nor the asking token: then the prefix
        alone decides.  Where there is none the asking token is repeated, unless it is 0 or M/2: then the
        prefix holds a pair and 1 does no harm.
        """
        M = self.M
        values = np.unique(prefix)
        asking = np.unique((np.array([[-1], [0], [1]]) - values) % M)
        fill = np.where(asking == -asking % M, 1, asking)
        for lone in np.setdiff1d(values, -values % M)[:2]:
            fill = np.where(asking == -lone % M, fill, lone)
        return np.column_stack([asking] + [fill] * (self.length - self.cut - 1))

    def free(self, known: int = 0) -> int:
        """Any set of values below M/2 but one that fills up; all later tokens are -v."""
        return max(min(self.cut - known, (self.M - 1) // 2 - 1), 0)

    def rows(self, t: int) -> Count:
        """Every set of values without a pair that t tokens can have; from two tokens on, that there is one.

        s of the h = ⌊(M-1)/2⌋ couples {v, -v}, with a side each, and z of the e values that are their own
        negatives, which come once: s + z ≤ t, where the s values may be repeated, or z = t alone.
        Two such sets are told apart by -v for a v in one of them, then repetitions of a harmless value.
        """
        h, e = (self.M - 1) // 2, 2 - self.M % 2
        sets = "Σ_{z<t} Σ_{s=1}^{t-z} C(e,z)·C(h,s)·2^s"
        formula = f"{sets} + C(e,t) + [t ≥ 2], h = ⌊(M-1)/2⌋, e = {e}"
        total = comb(e, t) + (t >= 2)
        for z in range(min(e, t - 1) + 1):
            couples = signed_subsets(h, t - z, signs=2)
            if couples is None:  # any of the e, or none, with t - e or t others
                bits = max(e + log_of_sum(h, t - e, signs=2), log_of_sum(h, t, signs=2))
                return Count(((2, bits),), formula, exact=False)
            total += comb(e, z) * couples
        return Count.of(total, formula)

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input has $n$ tokens $x_1,\dots,x_n$ in $\{0,\dots,M-1\}$; $f=1$ if $x_i+x_j\equiv 0\pmod "
            r"M$ for some $i<j$, and $f=0$ otherwise.",
            r"The values fall into $h$ couples $\{v,-v\}$ and $e$ values that are their own negatives. Take "
            r"the sets $A$ of $s$ values from different couples ($2^s\binom hs$ choices) and $z$ of the $e$ "
            r"values ($\binom ez$ choices) that have a prefix of $t$ tokens in which the $z$ values come "
            r"once: $s\geq 1$ and $s+z\leq t$, where one of the $s$ values is repeated, or $s=0$ and $z=t$. "
            r"No two tokens of such a prefix sum to 0. Call $y\not\equiv -y$ with $-y\notin A$ harmless for "
            r"$A$: such is any of the $s$ values, or $y=1$ if $s=0$; copies of it make no sum with $A$ or "
            r"each other. Of two different sets one, say $A$, has a value $v$ that the other, $B$, lacks; "
            r"let the next token be $-v$, and all after it $-v$ again, or, if $v$ is its own negative, a "
            r"value that is harmless for $B$. The answer is 1 after $A$ and 0 after $B$. If $t\geq 2$, a "
            r"prefix that holds a pair with sum 0 has the answer 1 always, and each other prefix the answer "
            r"0 before harmless tokens.",
        )

    @classmethod
    def examples(cls) -> tuple[TwoSumAny, ...]:
        return cls(), cls(n=5, M=8), cls(n=2, M=3), cls(n=9, M=6)
