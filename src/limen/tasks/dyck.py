r"""Bounded Dyck: do k kinds of brackets close in the right order, never more than D open [hewitt2020]?

    k = 2:   ( [ ] ) ( )   ->   1          ( [ ) ] ( )   ->   0

A recurrence keeps the open brackets: at most Σ k^h + 1 states, h = 0..D, however long the text.  One
softmax layer needs (n/2)·log₂k bits, for open_{a_1} close_{b_1} open_{a_2} close_{b_2} … asks whether
a = b, already at D = 1 [bhattamishra2024].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.bits import Count
from limen.core.distribution import Distribution
from limen.core.task import Answers, Paper, Tokens, WrittenSizes, balanced, filled
from limen.errors import BadInput, at_least
from limen.tasks._shape import InputShape, Shaped

_WRITTEN = 2**14  # bits of a number of rows that is written out


@dataclass(frozen=True)
class Dyck(Shaped):
    """n tokens, n even: 0..k-1 open a bracket of this kind, k..2k-1 close it.

    >>> Dyck(n=6, k=2, D=2).answer(np.array([[0, 1, 3, 2, 0, 2], [0, 1, 2, 3, 0, 2]])).tolist()
    [1, 0]
    """

    question: ClassVar[str] = "match {n} brackets, at most 4 of them open"
    posed: ClassVar[str] = "k=2,D=4"

    n: int = 8
    k: int = 2
    D: int = 2

    @classmethod
    def completed(cls, written: WrittenSizes) -> dict[str, int | bool | str]:
        """D = n/2: as deep as n brackets go."""
        return filled(written, "n", D=lambda n: max(n // 2, 1))

    def __post_init__(self) -> None:
        at_least(self, n=2, k=1, D=1)
        if self.n % 2:
            raise BadInput(f"dyck: n must be even, got {self.n}")

    @property
    def shape(self) -> InputShape:
        return InputShape(vocab=2 * self.k, length=self.n, answers=2, cut=self.n // 2)

    def sample(self, rng: Generator, count: int, hard: bool = False) -> tuple[Tokens, Answers]:
        """Yes: a random walk of depth at most D.  No: such a walk, with one fault, out of three.

        A closing bracket of another kind; an opening and a closing one swapped, so that the depth
        falls to -1 once; a depth of D+1 once.  Hard: two closing brackets of different kinds swapped, so
        that every bracket occurs as often as in a yes; for k = 1 the second fault.
        """
        kind, swap, deep = self.k > 1, not hard or self.k == 1, not hard and self.n > 2 * self.D
        yes = balanced(rng, count)
        fault = np.where(yes, -1, rng.choice(np.flatnonzero([kind, swap, deep]), count))
        depth = self._walk(rng, fault == 2)
        tokens = self._typed(rng, depth)
        if hard and kind and self.n > 2:
            tokens = self._of_two_kinds(rng, tokens)
            tokens[fault == 0] = self._exchanged(rng, tokens[fault == 0])
        else:
            tokens[fault == 0] = self._other_kind(rng, tokens[fault == 0])
        tokens[fault == 1] = self._swapped(rng, tokens[fault == 1], depth[fault == 1])
        return tokens, yes

    def drawn(self, hard: bool = False) -> Distribution:
        walk = "whose depth rises and falls by fair coins between 0 and D; for no"
        if not hard:
            return Distribution(f"{walk} one fault is made at a random place", support=self._faulty)
        fault = "two brackets change places"
        if self.k > 1:
            two, one = "two closing brackets of two kinds change places", "one bracket closes another kind"
            fault = two if self.n > 2 else one
        return Distribution(f"{walk} {fault}", support=self._nearly)

    def _faulty(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether a word is right, or has exactly one of the three faults."""
        depth = self._depth(tokens)
        closed = (depth.min(axis=-1) == 0) & (depth[..., -1] == 0)
        wrong = self._mistyped(tokens).sum(axis=-1)
        kind = closed & (depth.max(axis=-1) <= self.D) & (wrong <= 1)
        too_deep = np.maximum(depth - self.D, 0).sum(axis=-1)
        return np.asarray(kind | (closed & (wrong == 0) & (too_deep == 1)) | self._swapped_back(tokens))

    def _nearly(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether a word is right, or has the fault of the hard words."""
        right = self.answer(tokens) == 1
        if self.k == 1:
            return np.asarray(right | self._swapped_back(tokens))
        if self.n == 2:
            return np.asarray((tokens[..., 0] < self.k) & (tokens[..., 1] >= self.k))
        several = (tokens % self.k != tokens[..., :1] % self.k).any(axis=-1)
        return np.asarray(several & (right | self._exchanged_back(tokens)))

    def _depth(self, tokens: Tokens) -> Tokens:
        """(*batch, n): the depth after each token."""
        return np.where(tokens < self.k, 1, -1).cumsum(axis=-1)

    def _mistyped(self, tokens: Tokens) -> NDArray[np.bool_]:
        """(*batch, n/2): which pairs, in the order of `_paired`, are of two kinds."""
        at = self._paired(tokens)
        opening, closing = (np.take_along_axis(tokens, at[..., side], axis=-1) for side in (0, 1))
        return np.asarray(opening + self.k != closing)

    def _swapped_back(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether the depth falls to -1 once, and two brackets make the word right when they change places.

        One is of the closing ones in a row before that time, the other of the opening ones in a row after it.
        """
        t, depth, opens = np.arange(self.n), self._depth(tokens), tokens < self.k
        once = np.minimum(depth, 0).sum(axis=-1) == -1
        time = depth.argmin(axis=-1)[..., None]  # the last closing bracket before
        before = np.where(opens & (t < time), t, -1).max(axis=-1, keepdims=True)  # the closing ones follow it
        after = np.where(~opens & (t > time), t, self.n).min(axis=-1, keepdims=True)
        closed = np.zeros(tokens.shape[:-1], dtype=np.bool_)
        rows = (np.where(once, run[..., 0], 0).max(initial=0) for run in (time - before, after - time - 1))
        for back, on in np.ndindex(*(min(self.D, int(row)) for row in rows)):
            i, j = time - back, time + 1 + on
            there = once & ((i > before) & (j < after))[..., 0]
            closed |= there & (self.answer(_swap(tokens, i, j)) == 1)
        return closed

    def _exchanged_back(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Whether two closing brackets are wrong, and may change places in the word that is then right."""
        wrong, closing = self._mistyped(tokens), self._paired(tokens)[..., 1]
        ends = np.sort(np.where(wrong, closing, self.n), axis=-1)[..., :2].clip(max=self.n - 1)
        word = _swap(tokens, ends[..., :1], ends[..., 1:])
        chosen = np.take_along_axis(self._eligible(word), ends, axis=-1).all(axis=-1)
        return np.asarray((wrong.sum(axis=-1) == 2) & (self.answer(word) == 1) & chosen)

    def _walk(self, rng: Generator, deep: NDArray[np.bool_]) -> Tokens:
        """(count, n+1) depths from 0 to 0, at most D; D+1 at one random time where `deep`."""
        n, D = self.n, min(self.D, self.n)
        times = np.arange(n + 1)[:, None]
        peak = D + 1 + 2 * rng.integers(max(n // 2 - D, 1), size=len(deep))
        low = np.where(deep, np.maximum(D + 1 - np.abs(times - peak), 0), 0)  # (n+1, count)
        high = np.maximum(np.minimum(D, n - times), low)
        coin = rng.integers(2, size=(n, len(deep))) == 1
        depth = np.zeros_like(low)
        for t in range(n):
            rise = (coin[t] | (depth[t] <= low[t + 1])) & (depth[t] < high[t + 1])
            depth[t + 1] = depth[t] + np.where(rise, 1, -1)
        return depth.T

    def _typed(self, rng: Generator, depth: Tokens) -> Tokens:
        """Brackets of random kinds along the depths, each closed by its own kind."""
        count, rows = len(depth), np.arange(len(depth))
        opens = (depth[:, 1:] > depth[:, :-1]).T  # (n, count)
        level = np.maximum(depth[:, 1:], depth[:, :-1]).T
        tokens = rng.integers(self.k, size=(self.n, count))
        stack = np.zeros((count, min(self.D, self.n) + 2), dtype=np.int64)  # no deeper than the text is long
        for t in range(self.n):
            tokens[t] = np.where(opens[t], tokens[t], self.k + stack[rows, level[t]])
            stack[rows, level[t]] = tokens[t] % self.k
        return tokens.T

    def _other_kind(self, rng: Generator, tokens: Tokens) -> Tokens:
        """One closing bracket closes another kind; the depths stay."""
        rows, k = np.arange(len(tokens)), self.k
        at = np.where(tokens >= k, rng.random(tokens.shape), -1).argmax(axis=1)
        tokens[rows, at] = k + (tokens[rows, at] + rng.integers(1, k, size=len(rows))) % k
        return tokens

    def _of_two_kinds(self, rng: Generator, tokens: Tokens) -> Tokens:
        """The words with two kinds of brackets at least: in words of one kind a pair becomes of another."""
        alone = np.flatnonzero((tokens % self.k == tokens[:, :1] % self.k).all(axis=1))
        pairs = self._paired(tokens[alone])[np.arange(len(alone)), rng.integers(self.n // 2, size=len(alone))]
        kind = (tokens[alone, :1] + rng.integers(1, self.k, size=(len(alone), 1))) % self.k
        tokens[alone[:, None], pairs] = kind + np.array([0, self.k])
        return tokens

    def _paired(self, tokens: Tokens) -> Tokens:
        """(*batch, n) words -> (*batch, n/2, 2): where each bracket opens and where it is closed.

        Sorted by level, every opening bracket is followed by the one that closes it.
        """
        depth = self._depth(tokens)
        order = np.argsort(np.where(tokens < self.k, depth, depth + 1), axis=-1, kind="stable")
        return order.reshape(*tokens.shape[:-1], self.n // 2, 2)

    def _exchanged(self, rng: Generator, tokens: Tokens) -> Tokens:
        """Two closing brackets of different kinds change places; the depths stay, and both are wrong then."""
        rows, eligible = np.arange(len(tokens)), self._eligible(tokens)
        i = np.where(eligible, rng.random(tokens.shape), -1).argmax(axis=1)
        other = eligible & (tokens != tokens[rows, i][:, None])
        j = np.where(other, rng.random(tokens.shape), -1).argmax(axis=1)
        tokens[rows, i], tokens[rows, j] = tokens[rows, j], tokens[rows, i]
        return tokens

    def _eligible(self, tokens: Tokens) -> NDArray[np.bool_]:
        """Closing brackets that follow a closing one, where those are of two kinds; else all closing ones.

        An opening bracket beside a wrong closing one would show the fault at a glance.
        """
        closing = tokens >= self.k
        inner = closing.copy()
        inner[..., 1:] &= closing[..., :-1]
        inner[..., 0] = False
        kinds = [(inner & (tokens == self.k + kind)).any(axis=-1) for kind in range(self.k)]
        return np.where((np.sum(kinds, axis=0) > 1)[..., None], inner, closing)

    def _swapped(self, rng: Generator, tokens: Tokens, depth: Tokens) -> Tokens:
        """Around a time of depth 1 the nearest opening bracket before and closing one after change places."""
        rows, t = np.arange(len(tokens)), np.arange(self.n)
        time = np.where(depth == 1, rng.random(depth.shape), -1).argmax(axis=1)[:, None]
        i = np.where((tokens < self.k) & (t < time), t, -1).max(axis=1)
        j = np.where((tokens >= self.k) & (t >= time), t, self.n).min(axis=1)
        tokens[rows, i], tokens[rows, j] = tokens[rows, j], tokens[rows, i]
        return tokens

    def answer(self, tokens: Tokens) -> Answers:
        depth = self._depth(tokens)
        bounded = ((depth >= 0) & (depth <= self.D)).all(axis=-1) & (depth[..., -1] == 0)
        return np.asarray(bounded & ~self._mistyped(tokens).any(axis=-1), dtype=np.int64)

    def queries(self, prefix: Tokens) -> Tokens:
        """Endings that close what is open, then short pairs; and each with one closing bracket wrong.

        Wrong is another kind, or with one kind an opening bracket.  A prefix that is lost already
        gets the same, as if its closing brackets were right and those without an opening absent.
        """
        k, stack = self.k, list[int]()
        for token in prefix.tolist():
            if token < k:
                stack.append(token)
            elif stack:
                stack.pop()
        close = k + np.array(stack[::-1], dtype=np.int64)
        right = np.concatenate([close, np.resize([0, k], self.n)])[: self.n - self.cut]
        closing = np.flatnonzero(right >= k)
        ends = np.tile(right, (1 + len(closing), 1))
        ends[np.arange(1, len(ends)), closing] = k + (right[closing] + 1) % k if k > 1 else 0
        return ends

    def rows(self, t: int) -> Count:
        """The brackets that are open and can still be closed; and that all is lost.

        They are h ≤ H = min(t, n-t, D), of the parity of t.  What closes one of these, followed by
        short pairs, closes no other.
        """
        H = min(t, self.n - t, self.D)
        H -= (t - H) % 2
        lost = int(t > 0)
        formula = "Σ_{h≡t mod 2, h≤min(t,n-t,D)} k^h + [t > 0]"
        if self.k == 1:
            return Count.of(H // 2 + 1 + lost, formula)
        if H * self.k.bit_length() > _WRITTEN:
            return Count(((self.k, H),), formula, exact=False)
        # k^(H+2) - k^(H mod 2) is k²-1 times the sum of k^H, k^(H-2), …
        return Count.of((self.k ** (H + 2) - self.k ** (H % 2)) // (self.k**2 - 1) + lost, formula)

    def in_paper(self, t: int) -> Paper:
        return Paper(
            r"An input is a word of $n$ brackets of $k$ kinds, each opening or closing; $f=1$ if all are "
            r"closed by their own kind in the right order and never more than $D$ are open, and $f=0$ "
            r"otherwise.",
            r"Take for each $h\leq\min(t,n-t,D)$ of the parity of $t$ and each word $c_1\dots c_h$ of kinds "
            r"the prefix of $(t-h)/2$ pairs $(\,)$ of one kind and then opening brackets of the kinds "
            r"$c_1,\dots,c_h$. Continue with closing brackets of the kinds $c_h,\dots,c_1$ and $(n-t-h)/2$ "
            r"pairs: the answer is 1. After the prefix of another word it is 0: if that is not as long, the "
            r"numbers of opening and closing brackets differ, and if it is, some bracket is closed by "
            r"another kind. A prefix that begins with a closing bracket has the answer 0 always.",
        )

    @classmethod
    def examples(cls) -> tuple[Dyck, ...]:
        return cls(), cls(n=6, k=1, D=1), cls(n=10, k=3, D=4)


def _swap(tokens: Tokens, i: Tokens, j: Tokens) -> Tokens:
    """(*batch, n) with the tokens at two places, (*batch, 1) each, in the place of each other."""
    t = np.arange(tokens.shape[-1])
    at = np.where(t == i, j, np.where(t == j, i, t))
    return np.take_along_axis(tokens, at.clip(0, len(t) - 1), axis=-1)
