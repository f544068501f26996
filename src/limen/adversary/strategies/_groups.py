"""The groups of tokens of `hidden_tokens`, task by task: where they stand and what they may hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from limen.core.arrays import NDArray
from limen.core.task import Task, Tokens
from limen.tasks.composition import Composition
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.facts import Facts
from limen.tasks.is_tree import IsTree
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum_any import TwoSumAny


class Groups(NamedTuple):
    """m groups of g places; c contents each, the first ones neutral, of which the first and the last decide.

    `rest(text, i)` writes all tokens outside of the groups so that group i alone decides.  The last token of
    the text does not depend on i, nor on what the groups hold.
    """

    places: NDArray[np.int64]  # (m, g)
    contents: NDArray[np.int64]  # (m, c, g)
    neutral: int
    rest: Callable[[Tokens, int], None]


def groups_of(task: Task) -> Groups | None:
    """None where no groups are known."""
    made = _GROUPS.get(type(task))
    return None if made is None else made(task)


def _pairs(task: Equality | Disjointness) -> Groups:
    """{a_i, b_i}: equal, or not both 1."""
    n, equal = task.n, isinstance(task, Equality)
    contents = [[0, 0], [1, 1], [0, 1]] if equal else [[0, 0], [0, 1], [1, 0], [1, 1]]

    def rest(text: Tokens, i: int) -> None:
        text[n - 1] = text[2 * n - 1] = int(equal)

    return _alike(np.arange(n - 1)[:, None] + np.array([0, n]), contents, 2 if equal else 3, rest)


def _brackets(task: Dyck) -> Groups | None:
    """An opening bracket and the closing one behind it, of kinds 0 and 1."""
    if task.k < 2:
        return None

    def rest(text: Tokens, i: int) -> None:
        text[-2:] = 0, task.k

    places = 2 * np.arange(task.n // 2 - 1)[:, None] + np.arange(2)
    return _alike(places, [[0, task.k], [1, task.k + 1], [0, task.k + 1]], 2, rest)


def _bits(task: SparseAverage) -> Groups | None:
    """{z_i}; the positions are i, others, and n - 1."""
    n, q = task.n, task.q
    if q < 2:
        return None

    def rest(text: Tokens, i: int) -> None:
        first = min(i, n - q)  # q - 1 positions in a row with i among them, if i is not the last
        text[n:] = [*range(first, first + q - 1), n - 1]

    return _alike(np.arange(n)[:, None], [[0], [1]], 2, rest)


def _values(task: Recall) -> Groups:
    """{the i-th value}; its key is 0, which is asked for last."""

    def rest(text: Tokens, i: int) -> None:
        keys = np.roll(np.arange(task.n), i)
        text[: task.cut : 2] = keys
        text[task.cut :] = np.arange(task.q)[::-1]

    return _alike(2 * np.arange(task.n)[:, None] + 1, [[0], [1]], 2, rest)


def _labels(task: NearestNeighbor) -> Groups:
    """{the i-th label}; its point is the query, all others are opposite."""
    axis = np.eye(task.D, dtype=np.int64)[0]
    near, far = (int(task.token(v)) for v in (axis, -axis))

    def rest(text: Tokens, i: int) -> None:
        text[: task.cut : 2] = far
        text[2 * i] = text[-1] = near

    return _alike(2 * np.arange(task.n)[:, None] + 1, [[task.points], [task.points + 1]], 2, rest)


def _entries(task: Composition) -> Groups | None:
    """{an entry of z_L with w = 0}; the table before it sends everything there."""
    L, many = task.L, task.N(max(task.L - 2, 0))
    if task.answers < 2:
        return None

    def rest(text: Tokens, i: int) -> None:
        text[many:] = 0
        if L == 1:
            text[-2] = i
        else:
            text[list(task.table(L - 1))] = i

    return _alike(np.arange(many)[:, None], [[0], [1]], 2, rest)


def _signed(task: ThreeSum | TwoSumAny) -> Groups:
    """{x, y}: both i or both -i; what is left over repeats another group's token."""
    free, M = task.length - 1, task.M
    m = min(free // 2, (M - 1) // 2)
    i = np.arange(1, m + 1)[:, None]
    contents = np.stack([np.hstack([i, i]), np.hstack([M - i, M - i]), np.hstack([i, M - i])], axis=1)

    def rest(text: Tokens, group: int) -> None:
        text[2 * m : free] = text[0 if group else 2 * m - 1]
        text[-1] = 0

    return Groups(2 * np.arange(m)[:, None] + np.arange(2), contents, 2, rest)


def _gadgets(task: IsTree) -> Groups:
    """{r-u or u-v, r-v or u-w} beside v-w; what is left over hangs on r = 0."""
    n, m = task.n, (task.n - 1) // 3
    u = 3 * np.arange(m) + 1
    v, w = u + 1, u + 2
    ru, uv, rv, uw = u, u * n + v, v, u * n + w  # tokens of the edges
    contents = np.stack([np.stack(c, -1) for c in ((ru, rv), (ru, uw), (uv, rv), (uv, uw))], axis=1)

    def rest(text: Tokens, i: int) -> None:
        text[2 * m :] = [*range(3 * m + 1, n), *(v * n + w).tolist()]

    return Groups(2 * np.arange(m)[:, None] + np.arange(2), contents, 3, rest)


def _alike(
    places: NDArray[np.int64], contents: list[list[int]], neutral: int, rest: Callable[[Tokens, int], None]
) -> Groups:
    """Groups with the same contents."""
    each = np.asarray(contents, dtype=np.int64)
    return Groups(places, np.broadcast_to(each, (len(places), *each.shape)), neutral, rest)


_GROUPS: dict[type[Task], Callable[..., Groups | None]] = {
    Equality: _pairs,
    Disjointness: _pairs,
    Dyck: _brackets,
    SparseAverage: _bits,
    Recall: _values,
    NearestNeighbor: _labels,
    Composition: _entries,
    Facts: lambda task: _entries(task.composition),  # the same tokens
    ThreeSum: _signed,
    TwoSumAny: _signed,
    IsTree: _gadgets,
}
