"""The inputs of a task as products of sets: one case for each question and each right answer to it.

A case says which tokens may stand where so that the last token asks this and the answer is that.  All inputs
of the promise lie in exactly one case.  Where keys must differ, a token has a class at its position (its
key), and no two positions may hold tokens of one class; a product of sets knows nothing of that, so a case
holds more inputs than the promise, and `narrowed` takes out what follows from keys that are already fixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from limen.core.arrays import NDArray, np
from limen.core.task import Task
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.tasks.recall import Recall
from limen.tasks.retrieval import Retrieval

_NUMBERS = 2**26  # of all cases' tables


@dataclass(frozen=True)
class QuestionCase:
    """The token that asks, the right answer, and which tokens may stand at which position."""

    question: int
    answer: int
    allowed: NDArray[np.bool_]  # (length, vocab)


@dataclass(frozen=True)
class Cases:
    """All cases of a task, in an order that the kernel knows, and each token's class at each position."""

    cases: tuple[QuestionCase, ...]
    classes: NDArray[np.int64]  # (length, vocab); -1: free of the promise

    def narrowed(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """`allowed` without tokens whose class another position must have; all false if nothing is left."""
        if (self.classes < 0).all():
            return allowed
        allowed = allowed.copy()
        done: set[int] = set()
        while True:
            fixed = {
                i: int(here[0])
                for i in range(len(allowed))
                if i not in done
                and (here := np.unique(self.classes[i][allowed[i]])).size == 1
                and here[0] >= 0
            }
            if not fixed:
                return allowed
            i, key = next(iter(fixed.items()))
            done.add(i)
            others = np.arange(len(allowed)) != i
            allowed &= ~((self.classes == key) & others[:, None])
            if not allowed.any(axis=1).all():
                return np.zeros_like(allowed)


def cases(task: Task) -> Cases | str:
    """The cases of a task, or the reason why its inputs are not products of sets."""
    known = _KNOWN.get(type(task))
    if known is None or task.asks != 1:
        return f"the inputs of {task} cannot be split into products of sets that share one answer"
    many, made = known
    if many(task) * task.length * task.vocab > _NUMBERS:
        return f"{task} has too many questions to try each one"
    classes = np.full((task.length, task.vocab), -1)
    return Cases(tuple(made(task, classes)), classes)


def _table(task: Any, classes: NDArray[np.int64]) -> Iterator[QuestionCase]:
    """The cases of f(0) … f(n-1), x: f(x) = a, and the other values are free."""
    for x in range(task.n):
        for a in range(task.answers):
            allowed = np.zeros((task.length, task.vocab), dtype=np.bool_)
            allowed[: task.n, : task.answers] = True
            allowed[x], allowed[x, a], allowed[task.n, x] = False, True, True
            yield QuestionCase(x, a, allowed)


def _retrieval(task: Retrieval, classes: NDArray[np.int64]) -> Iterator[QuestionCase]:
    """The cases of retrieval: the key a stands at position p with the value b, or nowhere."""
    pairs = np.arange(task.keys * task.V)
    classes[: task.n, : len(pairs)] = pairs // task.V
    for a in range(task.keys):
        for p in range(task.n):
            for b in range(task.V):
                yield _retrieval_case(task, a, p, b)
        if task.absent:
            yield _retrieval_case(task, a, None, task.V)


def _retrieval_case(task: Retrieval, a: int, p: int | None, b: int) -> QuestionCase:
    allowed = np.zeros((task.length, task.vocab), dtype=np.bool_)
    allowed[: task.n, : task.keys * task.V] = np.arange(task.keys * task.V) // task.V != a
    if p is not None:
        allowed[p] = np.arange(task.vocab) == a * task.V + b
    allowed[task.n, task.keys * task.V + a] = True
    return QuestionCase(task.keys * task.V + a, b, allowed)


def _recall(task: Recall, classes: NDArray[np.int64]) -> Iterator[QuestionCase]:
    """The cases of recall: the key k is that of pair p, whose value is v."""
    classes[: 2 * task.n : 2] = np.arange(task.V)
    for k in range(task.V):
        for p in range(task.n):
            for v in range(task.V):
                allowed = np.ones((task.length, task.vocab), dtype=np.bool_)
                allowed[: 2 * task.n : 2, k] = False
                for place, token in ((2 * p, k), (2 * p + 1, v), (2 * task.n, k)):
                    allowed[place] = np.arange(task.V) == token
                yield QuestionCase(k, v, allowed)


_KNOWN: dict[
    type[Task], tuple[Callable[[Any], int], Callable[..., Iterator[QuestionCase]]]
] = {  # how many, and which
    Eva: (lambda task: task.n**2, _table),
    Index: (lambda task: task.n * task.S, _table),
    Retrieval: (lambda task: task.keys * (task.n * task.V + task.absent), _retrieval),
    Recall: (lambda task: task.V * task.n * task.V, _recall),
}
