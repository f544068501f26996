"""Free questions, task by task, as texts: behind a cut, or before a last token that never changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from limen.core.arrays import NDArray
from limen.core.task import Task, Tokens
from limen.tasks.composition import Composition
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.eva import Eva
from limen.tasks.facts import Facts
from limen.tasks.index import Index
from limen.tasks.inner_product import InnerProduct
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.retrieval import Retrieval
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum import TwoSum
from limen.tasks.two_sum_any import TwoSumAny

Bits: TypeAlias = "NDArray[np.bool_]"


class FreeQuestions(NamedTuple):
    """v questions, each with one of two answers: every word of v bits has texts with these answers."""

    v: int
    texts: Callable[
        [Bits], Tokens
    ]  # (*batch, v) -> (*batch, v, length): each question, with what a word says
    answers: tuple[int, int] = (0, 1)  # of bit 0 and of bit 1


def after_a_cut(task: Task, v: int) -> FreeQuestions | None:
    """v questions behind a cut, at most `task.free(known)`; the last `known` tokens before it never change.

    None where none are known.
    """
    made = _AFTER.get(type(task))
    return None if made is None else made(task, v)


def before_a_token(task: Task, v: int) -> FreeQuestions | None:
    """v questions with the same last token, the tokens shared out in any way; None where none are known."""
    made = _BEFORE.get(type(task))
    return None if made is None else made(task, v)


def _cut(prefixes: Callable[[Bits], Tokens], suffixes: Tokens) -> FreeQuestions:
    """A word chooses the prefix, a question the suffix."""

    def texts(bits: Bits) -> Tokens:
        prefix = prefixes(bits)[..., None, :]
        shape = (*prefix.shape[:-2], len(suffixes))
        both = (np.broadcast_to(part, (*shape, part.shape[-1])) for part in (prefix, suffixes))
        return np.concatenate(list(both), axis=-1)

    return FreeQuestions(len(suffixes), texts)


def _symbols(task: Eva | Index, v: int) -> FreeQuestions:
    """Symbol i is 0 or 1; all behind them are 0."""
    return _cut(lambda bits: _padded(bits, task.n, 0), np.arange(v)[:, None])


def _values(task: Recall, v: int) -> FreeQuestions:
    """Key i has the value 0 or 1."""

    def prefixes(bits: Bits) -> Tokens:
        values = _padded(bits, task.n, 0)
        keys = np.broadcast_to(np.arange(task.n), values.shape)
        return np.stack([keys, values], axis=-1).reshape(*values.shape[:-1], task.cut)

    later = (np.arange(v)[:, None] + np.arange(task.q)) % task.n
    return _cut(prefixes, later)


def _pairs(task: Retrieval, v: int) -> FreeQuestions:
    """Key i has the value 0 or 1, in one token."""
    keys, V = np.arange(task.n), task.V
    queries = (task.keys * V + np.arange(v))[:, None]
    return _cut(lambda bits: keys * V + _padded(bits, task.n, 0), queries)


def _labels(task: NearestNeighbor, v: int) -> FreeQuestions:
    """Point i has the label 0 or 1; the points behind them share one more direction."""
    points = task.token(_directions(task, v + 1))

    def prefixes(bits: Bits) -> Tokens:
        labels = task.points + _padded(bits, task.n, 0)
        at = np.broadcast_to(points[np.minimum(np.arange(task.n), v)], labels.shape)
        return np.stack([at, labels], axis=-1).reshape(*labels.shape[:-1], task.cut)

    return _cut(prefixes, points[:v, None])


def _directions(task: NearestNeighbor, count: int) -> Tokens:
    """So many points of different directions."""
    ids = np.arange(task.points)
    points = task.vector(ids[ids != task.points // 2])
    return np.asarray(points[np.gcd.reduce(points, axis=-1) == 1][:count])


def _single(task: Disjointness, v: int) -> FreeQuestions:
    """b has a single 1, where a has 1 or 0: disjoint or not."""
    return _cut(lambda bits: 1 - _padded(bits, task.n, 1), np.eye(task.n, dtype=np.int64)[:v])


def _odd(task: InnerProduct, v: int) -> FreeQuestions:
    """b has a single 1, where a has 1 or 0: odd or not."""
    return _cut(lambda bits: _padded(bits, task.n, 0), np.eye(task.n, dtype=np.int64)[:v])


def _sets(task: TwoSum | Counting, v: int) -> FreeQuestions:
    """Value i is there or not; v is there always, and is not asked for."""
    values = np.arange(v)
    suffixes = (
        -values[:, None] % task.M if isinstance(task, TwoSum) else np.stack([values, values * 0 + 1], -1)
    )
    return _cut(lambda bits: _padded(np.where(bits, values, v), task.n, v), suffixes)


def _with_w(task: ThreeSum, v: int) -> FreeQuestions:
    """w = 2m-1 first, then a set of values below m: -(w+a) asks for a."""
    m, values = (task.M + 1) // 3, np.arange(v)
    w = 2 * m - 1

    def prefixes(bits: Bits) -> Tokens:
        rest = _padded(np.where(bits, values, v), task.n - 1, v)
        return np.concatenate([np.full((*rest.shape[:-1], 1), w), rest], axis=-1)

    return _cut(prefixes, (-(w + values) % task.M)[:, None])


def _halves(task: TwoSumAny, v: int) -> FreeQuestions:
    """Values 1 … v are there or not, v+1 is always; all tokens of the other half are -i."""
    values = np.arange(1, v + 1)
    suffixes = np.repeat((-values % task.M)[:, None], task.length - task.cut, axis=1)
    return _cut(lambda bits: _padded(np.where(bits, values, v + 1), task.cut, v + 1), suffixes)


def _averages(task: SparseAverage, v: int) -> FreeQuestions:
    """z_i is 0 or 1; the last q-1 places are 0 and always asked for."""
    always = np.arange(task.n - task.q + 1, task.n)
    suffixes = np.hstack([np.arange(v)[:, None], np.broadcast_to(always, (v, task.q - 1))])
    return _cut(lambda bits: _padded(bits, task.n, 0), suffixes)


def _entries(task: Composition, v: int) -> FreeQuestions:
    """Entries of z_L are 0 or 1; z_{L-1} and w send everything to entry e = w_{L-1}·N_{L-2} + i_{L-1}."""
    N, e = task.N(task.L - 1), np.arange(v)
    suffixes = np.zeros((v, task.length - N), dtype=np.int64)
    if task.L == 1:
        suffixes[:, -2] = e
    else:
        w, i = np.divmod(e, task.N(task.L - 2))
        table = task.table(task.L - 1)
        suffixes[:, table.start - N : table.stop - N] = i[:, None]
        suffixes[:, -1] = w
    return _cut(lambda bits: _padded(bits, N, 0), suffixes)


def _padded(tokens: NDArray[np.generic], t: int, fill: int) -> Tokens:
    """(*batch, v) -> (*batch, t): the tokens, and the same one behind them."""
    text = np.full((*tokens.shape[:-1], t), fill, dtype=np.int64)
    text[..., : tokens.shape[-1]] = tokens
    return text


_AFTER: dict[type[Task], Callable[..., FreeQuestions]] = {
    Eva: _symbols,
    Index: _symbols,
    Recall: _values,
    Retrieval: _pairs,
    NearestNeighbor: _labels,
    Disjointness: _single,
    InnerProduct: _odd,
    TwoSum: _sets,
    Counting: _sets,
    ThreeSum: _with_w,
    TwoSumAny: _halves,
    SparseAverage: _averages,
    Composition: _entries,
    Facts: lambda task, v: _entries(task.composition, v),  # the same tokens
}


def _shared(task: Task, places: Tokens, rest: Tokens, contents: Tokens | None = None) -> FreeQuestions:
    """A word stands at `places` (v,) as one of `contents` (v, 2); `rest` (v, length) has all other tokens."""

    def texts(bits: Bits) -> Tokens:
        text = np.broadcast_to(rest, (*bits.shape, task.length)).copy()
        held = bits if contents is None else np.where(bits, contents[:, 1], contents[:, 0])
        text[..., places] = held[..., None, :]
        return text

    return FreeQuestions(len(rest), texts)


def _values_apart(task: Recall, v: int) -> FreeQuestions:
    """Values are the word's; the keys stand so that key 0, which is asked for last, has value i."""
    keys = (np.arange(task.n) - np.arange(v)[:, None]) % task.n
    rest = np.zeros((v, task.length), dtype=np.int64)
    rest[:, : task.cut : 2] = keys
    rest[:, task.cut :] = np.arange(task.q)[::-1]
    return _shared(task, 2 * np.arange(v) + 1, rest)


def _labels_apart(task: NearestNeighbor, v: int) -> FreeQuestions:
    """Labels are the word's; point i is the query, all others are opposite."""
    axis = np.eye(task.D, dtype=np.int64)[0]
    near, far = (int(task.token(x)) for x in (axis, -axis))
    rest = np.full((v, task.length), task.points, dtype=np.int64)
    rest[:, : task.cut : 2] = far
    rest[np.arange(v), 2 * np.arange(v)] = rest[:, -1] = near
    return _shared(task, 2 * np.arange(v) + 1, rest, task.points + np.tile([0, 1], (v, 1)))


def _single_apart(task: Disjointness, v: int) -> FreeQuestions:
    """b has a single 1, and ends with 0; a has 0 there where the sets are disjoint."""
    rest = np.zeros((v, task.length), dtype=np.int64)
    rest[np.arange(v), task.n + np.arange(v)] = 1
    return _shared(task, np.arange(v), rest, np.tile([1, 0], (v, 1)))


def _counts_apart(task: Counting, v: int) -> FreeQuestions:
    """Symbol i is there or not, v always; the threshold 1 is last."""
    rest = np.full((v, task.length), v, dtype=np.int64)
    rest[:, -2], rest[:, -1] = np.arange(v), 1
    return _shared(task, np.arange(v), rest, np.stack([np.full(v, v), np.arange(v)], -1))


def _sums_apart(task: TwoSumAny | ThreeSum, v: int) -> FreeQuestions:
    """Values 1 … v are there or not, v+1 always; then -i, and 0 is last."""
    values = np.arange(1, v + 1)
    rest = np.full((v, task.length), v + 1, dtype=np.int64)
    rest[:, -2], rest[:, -1] = -values % task.M, 0
    return _shared(task, np.arange(v), rest, np.stack([np.full(v, v + 1), values], -1))


def _averages_apart(task: SparseAverage, v: int) -> FreeQuestions:
    """z_i is the word's; the q-2 places behind them and the last one are 0 and always asked for."""
    rest = np.zeros((v, task.length), dtype=np.int64)
    rest[:, task.n] = np.arange(v)
    rest[:, task.n + 1 :] = np.arange(task.n - task.q + 1, task.n)
    return _shared(task, np.arange(v), rest)


def _entries_apart(task: Composition, v: int) -> FreeQuestions:
    """Entries of z_L with w = 0 are the word's; z_{L-1}, or z_0, sends everything to entry i."""
    rest = np.zeros((v, task.length), dtype=np.int64)
    if task.L == 1:
        rest[:, -2] = np.arange(v)
    else:
        rest[:, list(task.table(task.L - 1))] = np.arange(v)[:, None]
    return _shared(task, np.arange(v), rest)


_BEFORE: dict[type[Task], Callable[..., FreeQuestions]] = {
    Recall: _values_apart,
    NearestNeighbor: _labels_apart,
    Disjointness: _single_apart,
    Counting: _counts_apart,
    TwoSumAny: _sums_apart,
    ThreeSum: _sums_apart,
    SparseAverage: _averages_apart,
    Composition: _entries_apart,
    Facts: lambda task, v: _entries_apart(task.composition, v),  # the same tokens
}
