r"""c-gram retrieval: which symbol followed these c-1 symbols, which occur once in the text [wen2025]?

    c = 3:   a b b c a c | b c   ->   a

c-1 heads that look back by 1 … c-1 tokens and one more layer do it.  A recurrence must carry
⌊n/c⌋·log₂V bits, and one softmax layer as much, for the key and the value are different tokens.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, WrittenSizes, filled, uniform
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped


@dataclass(frozen=True)
class Cgram(Shaped):
    """n symbols of V, then c-1 of them that stand in the n exactly once, and not at the end.

    >>> int(Cgram(n=6, c=3, V=3).answer(np.array([0, 1, 1, 2, 0, 2, 1, 2])))
    0
    """

    question: ClassVar[str] = "continue a phrase that stood once among {n} symbols"
    posed: ClassVar[str] = "c=3"

    n: int = 8
    c: int = 3
    V: int = 4

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """V a power of two with V^(c-1) > n: contexts enough that one may occur once."""
        c = written.get("c", cls.c)
        if type(c) is not int or c < 2:
            return dict(written)
        return filled(written, "n", V=lambda n: 2 ** -(-n.bit_length() // (c - 1)))

    def __post_init__(self) -> None:
        at_least(self, n=2, c=2, V=2)
        if self.n < self.c:
            raise BadInput(f"cgram: n must be at least c = {self.c}, got {self.n}")

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=self.V, length=self.n + self.c - 1, answers=self.V, cut=self.n)

    def promised(self, tokens: Tokens) -> NDArray[np.bool_]:
        x, gram = tokens[..., : self.n], tokens[..., self.n :]
        occurs = (_windows(x, self.c - 1) == gram[..., None, :]).all(axis=-1)
        return np.asarray((occurs.sum(axis=-1) == 1) & ~occurs[..., -1])

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Text and gram uniform, the gram planted; hard: the text is made of grams with one symbol wrong."""
        n, c, V = self.n, self.c, self.V
        tokens = uniform(rng, V, (count, self.length))
        x, gram = tokens[:, :n], tokens[:, n:]
        at = rng.integers(n - c + 1, size=count)[:, None]
        if hard:
            x[:] = self._near_misses(rng, x, gram, at)
        np.put_along_axis(x, at + np.arange(c - 1), gram, axis=1)
        self._once(rng, x, gram, at)
        return tokens, np.take_along_axis(x, at + c - 1, axis=1)[:, 0]

    def _near_misses(self, rng: Generator, x: Tokens, gram: Tokens, at: Tokens) -> Tokens:
        """Blocks of c symbols to both sides of `at`: the gram with one symbol wrong, then any symbol."""
        n, c, V = self.n, self.c, self.V
        block, place = np.divmod(np.arange(n) - at, c)  # (count, n)
        wrong = uniform(rng, c - 1, x.shape)
        fault = place == np.take_along_axis(wrong, block % n, axis=1)
        near = np.take_along_axis(gram, np.minimum(place, c - 2), axis=1)
        near += fault * (1 + uniform(rng, V - 1, x.shape))
        near -= V * (near >= V)
        return np.where(place < c - 1, near, x)

    def _once(self, rng: Generator, x: Tokens, gram: Tokens, at: Tokens) -> None:
        """Changes, in every occurrence of the gram but the one at `at`, the symbol furthest from there.

        That completes no occurrence as near as the nearest one broken, so the rounds move outwards and end.
        """
        starts = self.n - self.c + 2
        row, start = np.nonzero(x[:, :starts] == gram[:, :1])
        while len(row):
            for d in range(1, self.c - 1):
                alike = x[row, start + d] == gram[row, d]
                row, start = row[alike], start[alike]
            again = start != at[row, 0]
            row, start = row[again], start[again]
            furthest = start + np.where(start > at[row, 0], self.c - 2, 0)
            x[row, furthest] = (x[row, furthest] + rng.integers(1, self.V, size=len(row))) % self.V
            rows = np.unique(row)
            row, start = np.nonzero(x[rows, :starts] == gram[rows, :1])
            row = rows[row]

    def drawn(self, hard: bool = False) -> Distribution:
        broken = "the gram is put in at a random place, and a symbol of every other copy is changed"
        if not hard:
            return Distribution(f"drawn uniformly, then {broken}")
        return Distribution(f"made of copies of the gram with one symbol wrong; {broken}", exact=False)

    def answer(self, tokens: Tokens) -> Answers:
        x, gram = tokens[..., : self.n], tokens[..., self.n :]
        windows = np.lib.stride_tricks.sliding_window_view(
            x[..., :-1], self.c - 1, axis=-1
        )  # (*batch, n-c+1, c-1)
        at = (windows == gram[..., None, :]).all(axis=-1).argmax(axis=-1, keepdims=True)
        return np.take_along_axis(x, at + self.c - 1, axis=-1)[..., 0]

    def queries(self, prefix: Tokens) -> Tokens:
        """Every gram that stands in the text once, and not at its end; a text may have none."""
        windows = _windows(prefix, self.c - 1)
        grams, first, times = np.unique(windows, axis=0, return_index=True, return_counts=True)
        once: Tokens = grams[(times == 1) & (first <= self.n - self.c)]
        return once

    def rows(self, t: int) -> Count:
        """At least V^K, K = min(⌊t/c⌋, (V-1)^(c-2)) while t ≤ n; for c = 2 (V-K)^K.

        A symbol # starts K groups: #, one of (V-1)^(c-2) words of c-2 others, then a value; then only #
        follows.  A value may be # too: behind it stands #, so # and a word occur once.  As the gram is read,
        fewer words remain.  For c = 2 the grams are K symbols, the values are among the V-K others.
        """
        V, c, groups = self.V, self.c, min(t, self.n) // self.c
        if c == 2:
            # two symbols: the answer is the other one; more: V-K = V/⌈log₂V⌉ is nearly the best
            K = min(groups, V - -(-V // V.bit_length()))
            return Count(((V - K, K),), f"(V-K)^K, K = {K}", exact=V == 2)
        free = c - 1 - max(1, t - self.n)
        K = groups if V > 2 and free > groups.bit_length() else min(groups, (V - 1) ** free)
        if K == 0:
            return Count.of(1, "1", exact=False)
        formula = "V^K, K = min(⌊min(t,n)/c⌋, (V-1)^min(c-2,n+c-1-t))"
        return Count(((V, K),), formula, exact=False)

    def in_paper(self, t: int) -> Paper:
        task = (
            r"An input is a word $x_1\dots x_n$ over $\{0,\dots,V-1\}$ and then a word of $c-1$ symbols "
            r"that stands in $x$ exactly once, and not at its end; $f$ is the symbol that follows it there."
        )
        if self.c == 2:
            return Paper(
                task,
                r"Take the prefixes that begin with $0\,v_1\,1\,v_2\dots(K-1)\,v_K$ for all values "
                r"$v_i\in\{K,\dots,V-1\}$, and let all later symbols of $x$ be $V-1$. Then each of "
                r"$0,\dots,K-1$ stands in $x$ once, and not at its end. Two of the prefixes differ in some "
                r"$v_i$, and the symbol $i-1$ asks for it.",
            )
        j = t - self.n  # symbols of the question that were read
        begin = rf", which begin with $1^{{{j - 1}}}$" if j > 1 else ""
        known = rf"0\,1^{{{j - 1}}}" if j > 1 else "0"
        read = rf" Of the question ${known}$ was read." if j > 0 else ""
        return Paper(
            task,
            rf"Choose $K$ different words $w_1,\dots,w_K$ of $c-2$ symbols from $1,\dots,V-1${begin}. "
            r"Take the prefixes in which $x$ begins with $0\,w_1v_1\,0\,w_2v_2\dots 0\,w_Kv_K$, where "
            r"$v_1,\dots,v_K$ are any symbols, and let all other symbols of $x$ be 0. Behind each $v_i$ "
            r"stands a 0, so a 0 with $c-2$ symbols behind it that are not 0 stands only before "
            r"$w_1,\dots,w_K$, and "
            r"each $0\,w_i$ "
            rf"stands there once, and $v_i$ follows.{read} Two of the prefixes differ in some $v_i$, "
            r"and $0\,w_i$ asks for it.",
        )

    @classmethod
    def examples(cls) -> tuple[Cgram, ...]:
        return cls(), cls(n=2, c=2, V=2), cls(n=9, c=4, V=2)


def _windows(x: Tokens, c: int) -> Tokens:
    """(*batch, n) -> (*batch, n-c+1, c)."""
    return np.lib.stride_tricks.sliding_window_view(x, c, axis=-1)
