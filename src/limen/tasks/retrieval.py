r"""Retrieval: given pairs (a_1,b_1) … (a_n,b_n) and a, the answer is the b_i whose key a_i is a [chen2025].

    n = 3, D = 2, V = 2:   (2,1) (0,0) (3,1) | 0   ->   a_2 = 0, so b_2 = 0

Key and value stand in one token, so one softmax layer is enough: a key is a word of D bits, and the
right one scores at least 1 above every other.  A recurrence must carry all n values past
the cut, n·log₂V bits; with `absent=true` the set of keys as well: #rows = C(2^D,n)·V^n.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from itertools import combinations
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import UNIFORM, Distribution, Given
from limen.core.task import (
    Answers,
    Paper,
    Tokens,
    WrittenSizes,
    balanced,
    different,
    distinct,
    filled,
    shuffled,
    uniform,
)
from limen.errors import BadInput, at_least
from limen.tasks._counts import binomial
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Retrieval(Shaped):
    """n+1 tokens: the pairs as a·V + b, a in 0..2^D-1 and b in 0..V-1, then the query as 2^D·V + a.

    With `absent=true` every second query is no key of the row and its answer is V.

    >>> int(Retrieval(n=3, D=2, V=2).answer(np.array([5, 0, 7, 8 + 0])))
    0
    >>> int(Retrieval(n=3, D=2, V=2, absent=True).answer(np.array([5, 0, 7, 8 + 1])))
    2
    """

    question: ClassVar[str] = "retrieve the pair with a given key among {n}"

    n: int = 4
    D: int = 3
    V: int = 2
    _: KW_ONLY
    absent: bool = False

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """D = ⌈log₂n⌉ + 1: twice as many keys as there are pairs."""
        return filled(written, "n", D=lambda n: (n - 1).bit_length() + 1)

    def __post_init__(self) -> None:
        at_least(self, n=1, D=1, V=1)
        if self.D + self.V.bit_length() > 62:
            raise BadInput(f"retrieval: 2^D·(V+1) token ids must fit in 62 bits, got D={self.D}, V={self.V}")
        if self.n + self.absent > self.keys:
            most = self.keys - self.absent
            raise BadInput(f"retrieval: n must be at most {most} for D={self.D}, got {self.n}")

    @property
    def keys(self) -> int:
        """How many keys there are to choose from."""
        return 1 << self.D

    @property
    def shape(self) -> InputShape:
        return InputShape(
            vocab=self.keys * (self.V + 1), length=self.n + 1, answers=self.V + self.absent, cut=self.n
        )

    def alphabets(self) -> list[tuple[range, int]]:
        pairs = self.keys * self.V
        return [(range(pairs), self.n), (range(pairs, self.vocab), 1)]

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        a = tokens[..., :-1] // self.V
        present = (a == tokens[..., -1:] - self.keys * self.V).any(axis=-1)
        return np.asarray(different(a) & (present | self.absent))

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Keys and values uniform; hard: the keys nearest to the query in Hamming distance."""
        n, V, rows = self.n, self.V, np.arange(count)
        if hard:
            a = uniform(rng, self.keys, (count, 1)) ^ _fewest_ones(rng, count, n + self.absent, self.D)
        else:
            a = distinct(rng, count, n + self.absent, self.keys)
        key = a[:, 0].copy()
        present = balanced(rng, count) if self.absent else np.ones(count, dtype=np.int64)
        if self.absent:
            a = np.where(present[:, None], a[:, :n], a[:, 1:])
        if hard:
            a[:, 1:] = shuffled(rng, a[:, 1:])
        at = uniform(rng, n, count)  # where the first key goes; the others stand in random order
        a[rows, 0], a[rows, at] = a[rows, at], a[rows, 0]
        b = uniform(rng, V, (count, n))
        return np.column_stack([a * V + b, self.keys * V + key]), np.where(present, b[rows, at], V)

    def drawn(self, hard: bool = False) -> Distribution:
        whether = " given whether the key asked for is in the text, as often as not" if self.absent else ""
        if not hard and not self.absent:
            return UNIFORM
        given: Given = "other" if self.absent and self.V > 1 else "answer" if self.absent else "uniform"
        if not hard:
            return Distribution(f"drawn uniformly{whether}", given)
        says = f"drawn uniformly{whether}, with the keys nearest to the query in Hamming distance"
        return Distribution(says, given, self._nearest)

    def _nearest(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether the keys have the least distances from the query that so many keys can have."""
        far = tokens[..., :-1] // self.V ^ tokens[..., -1:] - self.keys * self.V
        distances = np.sort(np.bitwise_count(far))
        rng = np.random.default_rng(0)  # whichever words are taken, they have as many ones
        least = np.bitwise_count(_fewest_ones(rng, 1, self.n + self.absent, self.D)[0])
        starts = (0, 1) if self.absent else (0,)
        return np.asarray(np.any([(distances == least[s : s + self.n]).all(axis=-1) for s in starts], axis=0))

    def answer(self, tokens: Tokens) -> Answers:
        a, b = np.divmod(tokens[..., :-1], self.V)
        match = a == tokens[..., -1:] - self.keys * self.V
        return np.where(match.any(axis=-1), (b * match).sum(axis=-1), self.V)

    def queries(self, prefix: Tokens) -> Tokens:
        a = np.arange(self.keys) if self.absent else prefix // self.V
        return (self.keys * self.V + a)[:, None]

    def free(self, known: int = 0) -> int:
        """Any value, while there are two; the keys are the same in all prefixes."""
        return max(self.n - known, 0) if self.V > 1 else 0

    def rows(self, t: int) -> Count:
        """V^t, for every choice of values under fixed keys; with `absent` as many for each set of keys.

        After two sets with u keys in all, a key of one of them can be asked if 2^D - u ≥ n - t others are
        left to come; if not for all sets, then for those of the first 2^D - (n-t) keys.
        """
        n, V, keys = self.n, self.V, self.keys
        if not self.absent:
            return Count(((V, t),), "V^t", exact=False)
        if t == n or n + t <= keys:
            return binomial(keys, t, "C(2^D,t)·V^t", (V, t))
        return replace(binomial(keys - n + t, t, "C(2^D-n+t,t)·V^t", (V, t)), exact=False)

    def in_paper(self, t: int) -> Paper:
        other = ", and $f=V$ if there is none" if self.absent else r"; one of the keys $a_i$ is $a$"
        task = (
            r"An input has $n$ tokens, the pairs $(a_1,b_1),\dots,(a_n,b_n)$ of keys "
            r"$a_i\in\{0,\dots,2^D-1\}$, no two of them equal, and values $b_i\in\{0,\dots,V-1\}$, and then "
            r"a query $a\in\{0,\dots,2^D-1\}$. "
            rf"The answer $f$ is the $b_i$ with $a_i=a${other}."
        )
        if not self.absent:
            return Paper(
                task,
                r"Fix $n$ different keys $a_1,\dots,a_n$ and take the prefixes $(a_1,b_1)\dots(a_t,b_t)$ "
                r"for all values. Two of them differ in some $b_i$ with $i\leq t$. Continue with any values "
                r"of the other keys and with the query $a=a_i$: the answers are the two values $b_i$.",
            )
        if t == self.n or self.n + t <= self.keys:
            keys = r"of the $2^D$ keys"
            room = r"Two sets leave at least $2^D-2t\geq n-t$ keys that are in neither"
            room = r"No pairs are to come" if t == self.n else rf"{room}; let such keys come, with any values"
        else:
            keys = r"of the first $2^D-n+t$ keys"
            room = "The last $n-t$ keys are in no set; let these come, with any values"
        return Paper(
            task,
            rf"Take for each set of $t$ {keys} and for all values of them one prefix with these pairs. "
            rf"{room}. Two prefixes differ at some key $a$: it "
            r"has two values, or it is in one of them alone. The query $a$ has two answers then, for the "
            r"answer to an absent key, $V$, is no value.",
        )

    @classmethod
    def examples(cls) -> tuple[Retrieval, ...]:
        return cls(), cls(n=4, D=2, V=3), cls(n=3, D=2, V=2, absent=True), cls(n=1, D=1, V=1, absent=True)


def _fewest_ones(rng: Generator, count: int, n: int, D: int) -> Tokens:
    """(count, n): 0, then in random order all words of D bits with one 1, with two, …, until there are n."""
    shells: list[Tokens] = []
    missing = n
    while missing:
        ones = combinations([1 << bit for bit in range(D)], len(shells))
        shell = np.array([sum(word) for word in ones], dtype=np.int64)
        taken = min(missing, len(shell))
        shells.append(shell[distinct(rng, count, taken, len(shell))])
        missing -= taken
    return np.hstack(shells)
