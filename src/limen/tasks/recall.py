r"""Associative recall: after pairs of keys and values, which values belong to these keys [arora2024zoology]?

    n = 3, V = 8:   2 5 0 7 3 5 | 0   ->   the key 0 stands before 7

MQAR of [arora2024zoology].  A recurrence must carry every value past the cut, n·log₂V bits [wen2025].
Key and value stand in different tokens, so one softmax layer does no better.  Two small ones are enough: the
first copies each key into the token after it, its value; the second finds the key there and reads the value.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import UNIFORM, Distribution
from limen.core.task import (
    Answers,
    Paper,
    Tokens,
    WrittenSizes,
    different,
    distinct,
    filled,
    shuffled,
    uniform,
)
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Recall(Shaped):
    """2n+q tokens in 0..V-1: n different keys, each followed by its value, then q different ones of the keys.

    >>> Recall(n=3, V=8, q=2).answer(np.array([2, 5, 0, 7, 3, 5, 0, 2]))
    array([7, 5])
    """

    question: ClassVar[str] = "recall the value of one of {n} keys"

    n: int = 4
    V: int = 16
    _: KW_ONLY
    q: int = 1

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """V = 2n, the least: a key and a value for each pair."""
        return filled(written, "n", V=lambda n: 2 * n)

    def __post_init__(self) -> None:
        at_least(self, n=1, V=2, q=1)
        if 2 * self.n > self.V:
            raise BadInput(f"recall: V must be at least 2n = {2 * self.n}, got {self.V}")
        if self.q > self.n:
            raise BadInput(f"recall: q must be at most n = {self.n}, got {self.q}")

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.V, length=2 * self.n + self.q, answers=self.V, cut=2 * self.n)

    @property
    def asks(self) -> int:
        return self.q

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        k, queries = tokens[..., : self.cut : 2], tokens[..., self.cut :]
        present = (queries[..., :, None] == k[..., None, :]).any(axis=-1).all(axis=-1)
        return np.asarray(different(k) & different(queries) & present)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Keys, values and questions uniform.  Hard: the values are the same keys in some order.

        Then whoever looks for the key among the values finds it too, with the next key behind it.
        """
        k = distinct(rng, count, self.n, self.V)
        v = shuffled(rng, k) if hard else uniform(rng, self.V, (count, self.n))
        return self._with_queries(rng, k, v)

    def drawn(self, hard: bool = False) -> Distribution:
        if not hard:
            return UNIFORM
        return Distribution(
            "drawn uniformly from those whose values are the keys in some order",
            "uniform",
            lambda tokens: (np.sort(self._keys(tokens)) == np.sort(self._values(tokens))).all(axis=-1),
        )

    def halves(self, rng: Generator, count: int) -> tuple[Tokens, Answers]:
        """Keys from the lower half of the symbols, values from the upper, as in MQAR [arora2024zoology]."""
        half = self.V // 2
        k = distinct(rng, count, self.n, half)
        return self._with_queries(rng, k, half + uniform(rng, self.V - half, (count, self.n)))

    def drawn_in_halves(self) -> Distribution:
        """The distribution that `halves` draws from."""
        half = self.V // 2
        return Distribution(
            "drawn with keys from the lower half of the symbols and values from the upper [arora2024zoology]",
            "uniform",
            lambda tokens: (
                (self._keys(tokens) < half).all(axis=-1) & (self._values(tokens) >= half).all(axis=-1)
            ),
        )

    def _with_queries(self, rng: Generator, k: Tokens, v: Tokens) -> tuple[Tokens, Answers]:
        """The pairs, then q different ones of the keys, all such choices as likely."""
        chosen = distinct(rng, len(k), self.q, self.n)
        answers = np.take_along_axis(v, chosen, axis=1)
        tokens = np.empty((len(k), self.length), dtype=np.int64)
        tokens[:, : self.cut : 2], tokens[:, 1 : self.cut : 2] = k, v
        tokens[:, self.cut :] = np.take_along_axis(k, chosen, axis=1)
        return tokens, answers[:, 0] if self.q == 1 else answers

    def _keys(self, tokens: Tokens) -> Tokens:
        return tokens[..., : self.cut : 2]

    def _values(self, tokens: Tokens) -> Tokens:
        return tokens[..., 1 : self.cut : 2]

    def answer(self, tokens: Tokens) -> Answers:
        pairs, queries = tokens[..., : self.cut], tokens[..., self.cut :]
        k, v = pairs[..., 0::2], pairs[..., 1::2]
        i = (queries[..., :, None] == k[..., None, :]).argmax(axis=-1)  # (*batch, q)
        answers = np.take_along_axis(v, i, axis=-1)
        return answers[..., 0] if self.q == 1 else answers

    def queries(self, prefix: Tokens) -> Tokens:
        """Every q keys in a row, around the end."""
        n = self.n
        window = (np.arange(n)[:, None] + np.arange(self.q)) % n  # (n, q)
        return np.take(prefix[0::2], window)

    def free(self, known: int = 0) -> int:
        """Any value; a key and its value are two tokens."""
        return max(self.n - -(-known // 2), 0)

    def rows(self, t: int) -> Count:
        """V for each value read, the keys being fixed; after the cut, for each that was not asked for."""
        return Count(((self.V, min(t // 2, 3 * self.n - t)),), "V^min(⌊t/2⌋, 3n-t)", exact=False)

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input has $2n+q$ tokens in $\{0,\dots,V-1\}$: $n$ different keys, each followed by its "
            r"value, $k_1v_1\dots k_nv_n$, and then $q$ different ones of the keys. For each of these $q$ "
            r"tokens, in their order, $f$ answers with the value of that key."
        )
        if t <= self.cut:
            return Paper(
                task,
                r"Fix the keys $k_1,\dots,k_n$, and let $v_1,\dots,v_{\lfloor t/2\rfloor}$ be any values. "
                r"Two such prefixes differ in some $v_i$. Continue with any values of the other keys, and "
                r"ask for $k_i$ first: the answers are the two values $v_i$.",
            )
        return Paper(
            task,
            r"Let $j=t-2n$ be the number of keys that have been asked for. Fix the keys $k_1,\dots,k_n$, "
            r"let $v_1=\dots=v_j=0$ and let $k_1,\dots,k_j$ be these keys; $v_{j+1},\dots,v_n$ are any "
            r"$n-j=3n-t$ values. Two such prefixes differ in some $v_i$ with $i>j$, and the next token may "
            r"ask for $k_i$.",
        )

    @classmethod
    def examples(cls) -> tuple[Recall, ...]:
        return cls(), cls(n=3, V=7, q=2), cls(n=1, V=3)
