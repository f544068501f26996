r"""Two programs of a Turing machine: is the word a palindrome; what is the first digit of a number plus one?

    palindrome, n = 4:   ⊔ 0 1 1 0   ->   1        ⊔ 0 1 1 1   ->   0
    increment,  n = 4:   ⊔ 0 1 1 1   ->   1        ⊔ 0 1 0 1   ->   0        0111 + 1 = 1000, 0101 + 1 = 0110

The answer is the symbol under the head when the machine halts.  The increment takes a recurrence two bits,
the first digit and whether all others were 1; of a palindrome it must remember half, ⌊n/2⌋ bits, and no chain
of thought helps.  Log n bits and one attention layer run any machine, a token a step [wen2025].
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, Literal

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import BY_ANSWER, Distribution
from limen.core.task import Answers, Paper, Tokens, balanced, uniform
from limen.errors import at_least
from limen.tasks._counts import power_and
from limen.tasks._orders import in_order, nearly_equal
from limen.tasks._shape import InputShape, Shaped

BLANK = 2


@dataclass(frozen=True)
class Turing(Shaped):
    """n+1 tokens: the blank 2, then n digits 0 or 1, the highest first; the sum is taken modulo 2^n.

    >>> Turing(n=4).answer(np.array([[2, 0, 1, 1, 0], [2, 0, 1, 1, 1]])).tolist()
    [1, 0]
    >>> Turing(n=4, program="increment").answer(np.array([[2, 0, 1, 1, 1], [2, 0, 1, 0, 1]])).tolist()
    [1, 0]
    """

    question: ClassVar[str] = "tell whether {n} digits are a palindrome"

    n: int = 6
    _: KW_ONLY
    program: Literal["palindrome", "increment"] = "palindrome"

    def __post_init__(self) -> None:
        at_least(self, n=2)

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=3, length=self.n + 1, answers=2, cut=1 + self.n // 2)

    def alphabets(self) -> list[tuple[range, int]]:
        return [(range(BLANK, BLANK + 1), 1), (range(2), self.n)]

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Palindromes, and words with any of their pairs broken; numbers with either first digit.

        Hard words: two neighbours in other order than in the mirror image, so that both halves have as many
        of each digit.  Hard numbers: all digits after the first are 1, or all but one are.
        """
        yes, half = balanced(rng, count), self.n // 2
        word = rng.integers(2, size=(count, self.n))
        if self.program == "palindrome":
            left, other = word[:, :half], uniform(rng, 2, (count, half))
            while len(same := np.flatnonzero((left == other).all(axis=1))):
                other[same] = uniform(rng, 2, (len(same), half))
            if hard:
                left[:], other = nearly_equal(rng, count, half)
            word[:, self.n - half :] = np.where(yes[:, None], left, other)[:, ::-1]
        else:
            if hard:
                chosen = np.arange(self.n - 1) == rng.integers(self.n - 1, size=(count, 1))  # one in each row
                word[:, 1:] = ~chosen | (rng.integers(2, size=(count, 1)) == 1)
            word[:, 0] = yes ^ word[:, 1:].all(axis=1)
        return np.column_stack([np.full(count, BLANK), word]), yes

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return BY_ANSWER
        if self.program == "increment":
            says = "whose digits after the first are all 1, or all but one"
        else:
            says = "with s t s s or s s t s in the first half, t ≠ s, if it fits; for no the other mirrors it"
        return Distribution(says, support=self._near)

    def _near(self, tokens: Tokens) -> NDArray[np.bool_]:
        word, half = tokens[..., 1:], self.n // 2
        if self.program == "increment":
            return np.asarray((word[..., 1:] == 0).sum(axis=-1) <= 1)
        return in_order(word[..., :half], word[..., : self.n - half - 1 : -1])

    def answer(self, tokens: Tokens) -> Answers:
        word = tokens[..., 1:]
        if self.program == "palindrome":
            return np.asarray((word == word[..., ::-1]).all(axis=-1), dtype=np.int64)
        return np.asarray(word[..., 0] ^ word[..., 1:].all(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """What answers the prefix, its mirror image or all 1, and the same with each digit wrong in turn."""
        ends = self.length - self.cut
        right = np.ones(ends, dtype=np.int64)
        if self.program == "palindrome":
            right[ends - self.n // 2 :] = prefix[:0:-1]
        return np.vstack([right, right ^ np.eye(ends, dtype=np.int64)])

    def rows(self, t: int) -> Count:
        """For palindromes: the s digits that have not met their mirror image, and whether some did not fit.

        For numbers: the first digit, and whether all others were 1.
        """
        s = max(t - 1, 0)
        if self.program == "increment":
            return Count.of((1, 2)[s] if s < 2 else 4, "min(4,2^s), s = t-1")
        met = int(2 * s >= self.n + 2)
        return power_and(2, min(s, self.n - s), met, "2^min(s,n-s) + [2s ≥ n+2], s = t-1")

    def in_paper(self, t: int) -> Paper:
        if self.program == "increment":
            return Paper(
                r"An input is a blank and then $n$ binary digits $d_1\dots d_n$, the highest first; $f$ is "
                r"the highest digit of that number plus one, modulo $2^n$. So $f\neq d_1$ if "
                r"$d_2=\dots=d_n=1$, and $f=d_1$ otherwise.",
                r"If $s=1$, take both digits $d_1$; all later digits are 0, and $f=d_1$. If $s\geq 2$, take "
                r"$d_1\in\{0,1\}$ followed by $1^{s-1}$ or by $0^{s-1}$. With later digits 0 the answer is "
                r"$d_1$. With later digits 1 it is $1-d_1$ after $d_1\,1^{s-1}$ and $d_1$ after "
                r"$d_1\,0^{s-1}$. So each two of the four prefixes are told apart.",
            )
        return Paper(
            r"An input is a blank and then $n$ binary digits $d_1\dots d_n$; $f=1$ if $d_i=d_{n+1-i}$ for "
            r"all $i$, and $f=0$ otherwise.",
            r"Let $r=\min(s,n-s)$. Take for all digits $d_1,\dots,d_r$ the prefix of these and then zeros, "
            r"up to $s$ digits. Continue with zeros, if any are due, and with $d_r\dots d_1$ at the end: "
            r"the answer is 1, and after any other of these prefixes it is 0. If $2s\geq n+2$, the digits "
            r"from place $n-s+1$ to place $s$, two at least, are mirror images of each other; one more "
            r"prefix has $1\,0\dots 0$ there, and the answer after it is 0 always.",
        )

    @classmethod
    def examples(cls) -> tuple[Turing, ...]:
        return cls(), cls(n=5), cls(n=2), cls(n=5, program="increment"), cls(n=2, program="increment")
