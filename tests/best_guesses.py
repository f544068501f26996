"""The best that anyone can do who is told too little: optima of what ceilings are about, by brute force.

Nothing of the theorems is used here.  All shares are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import combinations, islice, product
from math import comb, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limen.core.task import Tokens

Numbers = NDArray[np.int64]
MOST = 3e7  # scores that are compared for one optimum; `make truth` compares more
_AT_ONCE = 1 << 21


@cache
def right(n: int, A: int) -> Numbers:
    """At how many of n places two words over A symbols agree: (word, word), in the order of counting."""
    words = np.array(list(product(range(A), repeat=n)), dtype=np.int8).reshape(-1, n)
    return sum(np.equal.outer(column, column).astype(np.int64) for column in words.T)  # type: ignore[return-value]


def subsets(count: int, size: int) -> Iterator[Numbers]:
    """All subsets of 0..count-1 that hold 0, many at a time: (subsets, size)."""
    found = combinations(range(1, count), size - 1)
    while chunk := list(islice(found, max(1, _AT_ONCE // count))):
        rest = np.array(chunk, dtype=np.int64).reshape(len(chunk), size - 1)
        yield np.concatenate([np.zeros((len(chunk), 1), dtype=np.int64), rest], axis=1)


@cache
def told(n: int, A: int, messages: int, most: float = MOST) -> Fraction | None:
    """The best share of n uniform symbols of A that one of so many messages about them tells.

    Whoever reads a message says some word; so messages are words, and each word is told by the nearest.  All
    sets of words are compared, up to a shift of all by one word.  None if they are too many.
    """
    words = A**n
    if messages >= words:
        return Fraction(1)
    if comb(words - 1, messages - 1) * words > most:
        return None
    agree = right(n, A)
    best = max(int(agree[:, chosen].max(-1).sum(0).max()) for chosen in subsets(words, messages))
    return Fraction(best, n * words)


@cache
def beside(m: int, rows: int, A: int, replies: int, states: int) -> Fraction | None:
    """Of `rows` rows of m symbols: one of so many states about all, and one of so many replies for each row.

    The best share of symbols that who knows the state and the reply for the asked row tells; None if there
    are too many ways.
    """
    if states == 1 or rows == 1:
        return told(m, A, replies * states)
    if replies == 1:
        return told(rows * m, A, states)
    books = np.array(list(combinations(range(A**m), min(replies, A**m))))
    ways, tables = len(books) ** rows, A ** (m * rows)
    if comb(ways, states) * tables > MOST:
        return None
    gain = right(m, A)[:, books].max(-1)  # (row, book)
    word, way = (np.indices((size,) * rows).reshape(rows, -1) for size in gain.shape)
    score = sum(gain[np.ix_(word[i], way[i])] for i in range(rows))  # (table, way)
    chosen = np.array(list(combinations(range(ways), min(states, ways))))
    return Fraction(int(score[:, chosen].max(-1).sum(0).max()), m * rows * tables)


def hinted(n1: int, replies: int, states: int) -> Fraction:
    """Two hops over tables of two: g's 4 tables are told by a state, f's row by a reply to who knows it.

    The share of f(w,g(z_0)) that is told by who knows g, z_0, w and the reply; f's own state is not used.
    """
    A, tables = 2 * n1, list(product(range(2), repeat=2))
    words = np.array(list(product(range(A), repeat=2)))
    agree = np.equal(words[:, None], words[None]).astype(np.int64)  # (row of f, what is said, value of g)

    @cache
    def told_of(first: int, second: int) -> int:
        """The most rows right, where the first value is asked for so often and the second so often."""
        score = agree @ np.array([first, second])
        found = combinations(range(A * A), min(replies, A * A))
        return max(int(score[:, list(chosen)].max(-1).sum()) for chosen in found)

    best = 0
    for labels in product(range(states), repeat=4):
        total = 0
        for label, z in product(range(states), range(2)):
            asked = [g[z] for g, own in zip(tables, labels, strict=True) if own == label]
            total += told_of(asked.count(0), asked.count(1)) if asked else 0
        best = max(best, total)
    return Fraction(best, len(words) * 4 * 2)


def by_a_machine(inputs: Tokens, answers: Tokens, states: int) -> Fraction:
    """The best share of these inputs, each as likely, that a machine with so many states answers rightly.

    Its steps and answers may be anything and know the place.  All partitions of what was read are compared;
    a finer one is never worse, so each has as many parts as there may be.
    """
    length = inputs.shape[1]

    @cache
    def best(t: int, classes: frozenset[frozenset[int]]) -> int:
        cells: dict[tuple[frozenset[int], int], list[int]] = {}
        for members in classes:
            for i in members:
                cells.setdefault((members, int(inputs[i, t])), []).append(i)
        if t == length - 1:
            return sum(int(np.bincount(answers[cell]).max()) for cell in cells.values())
        found = list(map(frozenset, cells.values()))
        return max(best(t + 1, merged) for merged in partitions(found, min(states, len(found))))

    return Fraction(best(0, frozenset([frozenset(range(len(inputs)))])), len(inputs))


def partitions(items: list[frozenset[int]], parts: int) -> Iterator[frozenset[frozenset[int]]]:
    """All ways to join sets into exactly so many."""
    groups: list[frozenset[int]] = []

    def placed(i: int) -> Iterator[frozenset[frozenset[int]]]:
        if len(items) - i < parts - len(groups):
            return
        if i == len(items):
            yield frozenset(groups)
            return
        for j, group in enumerate(groups):
            groups[j] = group | items[i]
            yield from placed(i + 1)
            groups[j] = group
        if len(groups) < parts:
            groups.append(items[i])
            yield from placed(i + 1)
            groups.pop()

    return placed(0)


class Planted:
    """n tokens, each a block: of which one is opened, or none, and of each a class of its value is told.

    Yes: v stands at a uniform place, all others are uniform among the other values of M.  No: all are.
    `sizes[…, j]` is how many values the class of v has in block j.
    """

    def __init__(self, sizes: Any, M: int, opened: int) -> None:
        self.sizes, self.M, self.opened = np.asarray(sizes), M, opened
        self.n = self.sizes.shape[-1]

    def _masses(self) -> Iterator[tuple[Any, list[Any]]]:
        """For each set of blocks whose classes fit: how often for no, and for yes by place; of n(M-1)^n."""
        for fitting in product((False, True), repeat=self.n):
            here = [
                self.sizes[..., j] - 1 if fit else self.M - self.sizes[..., j]
                for j, fit in enumerate(fitting)
            ]
            rest = [prod(here[:j] + here[j + 1 :]) * (self.M - 1) for j, fit in enumerate(fitting) if fit]
            yield prod(here) * self.n, rest

    def right(self) -> Any:
        """Right answers, of 2n(M-1)^n for each value: the place that is opened is looked at, then a guess."""
        total = 0
        for no, yes in self._masses():
            seen = yes if self.opened and yes else [0]
            total = total + np.max([found + np.maximum(sum(yes) - found, no) for found in seen], axis=0)
        return total

    def sure(self) -> tuple[Any, Any]:
        """Nothing opened: yes found where no is never called yes; no called yes where no yes is missed."""
        assert self.opened == 0
        found = sum(np.where(no == 0, sum(yes), 0) for no, yes in self._masses())
        invented = sum(np.where(np.asarray(sum(yes)) > 0, no, 0) for no, yes in self._masses())
        return found, invented


def classes_of_two(M: int, n: int) -> Iterator[tuple[Numbers, Numbers]]:
    """All ways to tell one bit of a value in each of n blocks: the values of each n bits, and sizes."""
    cells = np.array(list(product((0, 1), repeat=n)))
    bars = np.array(list(combinations(range(M + len(cells) - 1), len(cells) - 1)))
    ends = np.concatenate([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), M + len(cells) - 1)], 1)
    counts = np.diff(ends, axis=1) - 1
    for cell in range(len(cells)):
        same = cells == cells[cell]  # (cell, block)
        yield counts[:, cell], counts @ same
