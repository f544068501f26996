"""The free questions of `linear_read`, task by task: the prefixes, the questions and the two answers."""

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
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.retrieval import Retrieval
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum import TwoSum
from limen.tasks.two_sum_any import TwoSumAny

Bits: TypeAlias = "NDArray[np.bool_]"


class FreeQuestions(NamedTuple):
    """v questions, each with one of two answers: every word of v bits has a prefix with these answers."""

    prefixes: Callable[[Bits], Tokens]  # (*batch, v) -> (*batch, t)
    suffixes: Tokens  # (v, length - t)
    answers: tuple[int, int]  # of bit 0 and of bit 1

    def texts(self, bits: Bits) -> Tokens:
        """(*batch, v) -> (*batch, v, length): every question after the prefix of a word."""
        prefix = self.prefixes(bits)[..., None, :]
        v = len(self.suffixes)
        shape = (*prefix.shape[:-2], v)
        return np.concatenate(
            [
                np.broadcast_to(prefix, (*shape, prefix.shape[-1])),
                np.broadcast_to(self.suffixes, (*shape, self.suffixes.shape[-1])),
            ],
            axis=-1,
        )


def questions_of(task: Task, v: int) -> FreeQuestions | None:
    """v free questions of a task, at most `task.free(known)`; the last `known` tokens are the same for all.

    None where no free questions are known.
    """
    made = _QUESTIONS.get(type(task))
    return None if made is None else made(task, v)


def _symbols(task: Eva | Index, v: int) -> FreeQuestions:
    """Symbol i is 0 or 1; all behind them are 0."""
    return FreeQuestions(lambda bits: _padded(bits, task.n, 0), np.arange(v)[:, None], (0, 1))


def _values(task: Recall, v: int) -> FreeQuestions:
    """Key i has the value 0 or 1."""

    def prefixes(bits: Bits) -> Tokens:
        values = _padded(bits, task.n, 0)
        keys = np.broadcast_to(np.arange(task.n), values.shape)
        return np.stack([keys, values], axis=-1).reshape(*values.shape[:-1], task.cut)

    later = (np.arange(v)[:, None] + np.arange(task.q)) % task.n
    return FreeQuestions(prefixes, later, (0, 1))


def _pairs(task: Retrieval, v: int) -> FreeQuestions:
    """Key i has the value 0 or 1, in one token."""
    keys, V = np.arange(task.n), task.V
    queries = (task.keys * V + np.arange(v))[:, None]
    return FreeQuestions(lambda bits: keys * V + _padded(bits, task.n, 0), queries, (0, 1))


def _labels(task: NearestNeighbor, v: int) -> FreeQuestions:
    """Point i has the label 0 or 1; the points behind them share one more direction."""
    points = task.token(_directions(task, v + 1))

    def prefixes(bits: Bits) -> Tokens:
        labels = task.points + _padded(bits, task.n, 0)
        at = np.broadcast_to(points[np.minimum(np.arange(task.n), v)], labels.shape)
        return np.stack([at, labels], axis=-1).reshape(*labels.shape[:-1], task.cut)

    return FreeQuestions(prefixes, points[:v, None], (0, 1))


def _directions(task: NearestNeighbor, count: int) -> Tokens:
    """So many points of different directions."""
    ids = np.arange(task.points)
    points = task.vector(ids[ids != task.points // 2])
    return np.asarray(points[np.gcd.reduce(points, axis=-1) == 1][:count])


def _single(task: Disjointness, v: int) -> FreeQuestions:
    """b has a single 1, where a has 1 or 0: disjoint or not."""
    return FreeQuestions(
        lambda bits: 1 - _padded(bits, task.n, 1), np.eye(task.n, dtype=np.int64)[:v], (0, 1)
    )


def _sets(task: TwoSum | Counting, v: int) -> FreeQuestions:
    """Value i is there or not; v is there always, and is not asked for."""
    values = np.arange(v)
    suffixes = (
        -values[:, None] % task.M if isinstance(task, TwoSum) else np.stack([values, values * 0 + 1], -1)
    )
    return FreeQuestions(lambda bits: _padded(np.where(bits, values, v), task.n, v), suffixes, (0, 1))


def _with_w(task: ThreeSum, v: int) -> FreeQuestions:
    """w = 2m-1 first, then a set of values below m: -(w+a) asks for a."""
    m, values = (task.M + 1) // 3, np.arange(v)
    w = 2 * m - 1

    def prefixes(bits: Bits) -> Tokens:
        rest = _padded(np.where(bits, values, v), task.n - 1, v)
        return np.concatenate([np.full((*rest.shape[:-1], 1), w), rest], axis=-1)

    return FreeQuestions(prefixes, (-(w + values) % task.M)[:, None], (0, 1))


def _halves(task: TwoSumAny, v: int) -> FreeQuestions:
    """Values 1 … v are there or not, v+1 is always; all tokens of the other half are -i."""
    values = np.arange(1, v + 1)
    suffixes = np.repeat((-values % task.M)[:, None], task.length - task.cut, axis=1)
    return FreeQuestions(
        lambda bits: _padded(np.where(bits, values, v + 1), task.cut, v + 1), suffixes, (0, 1)
    )


def _averages(task: SparseAverage, v: int) -> FreeQuestions:
    """z_i is 0 or 1; the last q-1 places are 0 and always asked for."""
    always = np.arange(task.n - task.q + 1, task.n)
    suffixes = np.hstack([np.arange(v)[:, None], np.broadcast_to(always, (v, task.q - 1))])
    return FreeQuestions(lambda bits: _padded(bits, task.n, 0), suffixes, (0, 1))


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
    return FreeQuestions(lambda bits: _padded(bits, N, 0), suffixes, (0, 1))


def _padded(tokens: NDArray[np.generic], t: int, fill: int) -> Tokens:
    """(*batch, v) -> (*batch, t): the tokens, and the same one behind them."""
    text = np.full((*tokens.shape[:-1], t), fill, dtype=np.int64)
    text[..., : tokens.shape[-1]] = tokens
    return text


_QUESTIONS: dict[type[Task], Callable[..., FreeQuestions]] = {
    Eva: _symbols,
    Index: _symbols,
    Recall: _values,
    Retrieval: _pairs,
    NearestNeighbor: _labels,
    Disjointness: _single,
    TwoSum: _sets,
    Counting: _sets,
    ThreeSum: _with_w,
    TwoSumAny: _halves,
    SparseAverage: _averages,
    Composition: _entries,
    Facts: lambda task, v: _entries(task.composition, v),  # the same tokens
}
