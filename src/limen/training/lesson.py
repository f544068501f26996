r"""How a task is taught: how its tokens are written into vectors, and where which answers are due.

By default a token is a row of a table, a place another, and one answer is due at the end, as the task has it.
A file in `lessons/`, named after the task, says more: several questions after one text, answers "so far",
hops, and how vectors can be written so that attention may begin as a lookup:

    first half of the stream     the key by which a token is found
    second half                  its query and its value

Tables are named stem.role.  Under the start `lookup` tables of one stem begin equal, so that a query begins
equal to the key that it asks for; after that every table is trained by itself.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.random import Generator

from limen.core.catalogue import identifier
from limen.core.distribution import Distribution
from limen.core.task import Answers, Task, Tokens
from limen.core.weights import Array
from limen.errors import BadInput
from limen.model.embedding import Code, Codes, Embedding, Segment, Table
from limen.training import lessons
from limen.training.spec import Spec

NOT_DUE = -1  # a label where nothing is due


class Batch(NamedTuple):
    """Sequences with the answers that are due in them, at the same places in each."""

    tokens: Tokens  # (rows, n)
    due: Tokens  # (asked,) positions, or (rows, asked)
    labels: Answers  # (rows, asked), NOT_DUE where nothing is
    hops: Answers | None = None  # (rows, asked, L): i_1 … i_L of each answer


@dataclass(frozen=True)
class Lesson:
    """The plain lesson: the task's own inputs, one at a time."""

    task: Task
    queries: int = 1
    dense: bool = True
    thought: bool = False  # whether a chain of thought follows an input
    mixed: bool = False  # whether smaller sizes of the task are taught as well
    distribution: str | None = None  # one of `named`; None: as the task draws

    lookups: ClassVar[int | None] = 0  # layers that may begin as a lookup; None: all
    sizes: ClassVar[bool] = False  # whether it can be taught in several sizes at once
    so_far: ClassVar[bool] = False  # whether answers "so far" are defined, which `dense` asks for
    named: ClassVar[tuple[str, ...]] = ()  # distributions of plain inputs beside the task's own

    @property
    def players(self) -> tuple[int, ...]:
        """How many tokens each player holds: what crosses their borders is what theorems count."""
        return tuple(len(player.tokens) for player in self.task.players())

    @property
    def answers(self) -> int:
        """How many answers there are to choose from."""
        return self.task.answers

    def embedding(self, width: int) -> Embedding:
        """The embedding of tokens and positions."""
        return Table(self.task.vocab, self.task.length)

    def known(self, tables: dict[str, Array], lookup: bool) -> dict[str, Array]:
        """Those tables of the embedding that start with known values, given the tables as drawn."""
        return {}

    def sample(self, rng: Generator, count: int, hard: bool) -> tuple[Tokens, Answers]:
        """Inputs for training and judging, with their answers."""
        return self.task.sample(rng, count, hard)

    def drawn(self, hard: bool) -> Distribution:
        """The distribution that `sample` draws from."""
        return self.task.drawn(hard)

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        tokens, answers = self.sample(rng, count, hard)
        due = np.arange(self.task.length - self.task.asks, self.task.length)
        return Batch(tokens, due, answers.reshape(count, -1))

    def thoughts(self, tokens: Tokens) -> Tokens:
        """(rows, length) -> (rows, steps): the chain of thought after each input."""
        raise BadInput(f"{identifier(self.task)} is not taught with a chain of thought")

    def thinking(self, rng: Generator, count: int, hard: bool) -> Batch:
        """Inputs with their thoughts; due is each thought, and the answer at the end."""
        tokens, answers = self.sample(rng, count, hard)
        thoughts = self.thoughts(tokens)
        n, steps = tokens.shape[1], thoughts.shape[1]
        labels = np.column_stack([thoughts, answers])
        return Batch(np.hstack([tokens, thoughts]), np.arange(n - 1, n + steps), labels)

    def read_as(self, tokens: Tokens) -> Task:
        """The task whose inputs these are; of several sizes each has its own length."""
        return self.task

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """Inputs of other distributions, by name; by default the near-misses."""
        return {"hard": self.task.sample(rng, count, hard=True)[0]}


@cache
def _taught() -> frozenset[str]:
    """The tasks that have a lesson of their own."""
    return frozenset(module.name for module in iter_modules(lessons.__path__))


def lesson_for(
    task: Task,
    queries: int = 1,
    dense: bool = True,
    thought: bool = False,
    mixed: bool = False,
    distribution: str | None = None,
) -> Lesson:
    """The lesson of the file that is named after the task, or the plain one."""
    name = identifier(task)  # of a task of one's own a path, which names no lesson
    kind: type[Lesson] = import_module(f"{lessons.__name__}.{name}").LESSON if name in _taught() else Lesson
    if mixed and not kind.sizes:
        raise BadInput(f"{identifier(task)} is not taught in several sizes at once")
    if distribution is not None and distribution not in kind.named:
        known = ", ".join(kind.named) or "none"
        raise BadInput(f"{name}: no distribution {distribution!r} beside the task's own; named are: {known}")
    return kind(task, 1 if thought or kind is Lesson else queries, dense, thought, mixed, distribution)


def lesson_of(spec: Spec) -> Lesson:
    """The lesson of a spec."""
    if spec.hard and spec.distribution is not None:
        raise BadInput(f"{spec.distribution} is a distribution of plain inputs, so leave out hard")
    if spec.words:
        from limen.training.words import words_of  # it is a lesson itself

        return words_of(spec)
    task = Task.parse(spec.task)
    return lesson_for(task, spec.queries, spec.dense, spec.thought, spec.mixed, spec.distribution)


class Written(NamedTuple):
    """One code of a token: a table `stem.role`, read at the id or the place, divided."""

    table: str
    rows: int
    of: str = "token"
    div: int = 1


def halves(width: int, segments: list[tuple[int, list[Written]]]) -> Codes:
    """An embedding with keys in the first half of the columns, queries and values in the second."""
    rows: dict[str, int] = {}
    for _, codes in segments:
        for code in codes:
            rows[code.table] = max(rows.get(code.table, 0), code.rows)
    laid = [Segment(count, tuple(_code(code, width) for code in codes)) for count, codes in segments]
    return Codes(width, tuple((name, size, width // 2) for name, size in rows.items()), tuple(laid))


def _code(code: Written, width: int) -> Code:
    column = 0 if code.table.endswith(".key") else width // 2
    return Code("place" if code.of == "place" else "token", code.div, code.table, column)


def zipf(rng: Generator, symbols: int, shape: tuple[int, ...]) -> Tokens:
    """Symbols as often as words: s with a probability that falls as 1/(s + 1)."""
    weights = 1 / np.arange(1, symbols + 1)
    return rng.choice(symbols, shape, p=weights / weights.sum())


def with_questions(tokens: Tokens, questions: Tokens) -> Tokens:
    """(rows, cut) and (rows, Q, s) -> (rows, Q, cut + s): each question as an input of its own."""
    rows, Q, _ = questions.shape
    texts = np.broadcast_to(tokens[:, None], (rows, Q, tokens.shape[1]))
    return np.concatenate([texts, questions], axis=-1)


@dataclass(frozen=True)
class Questions(Lesson, ABC):
    """Several questions after one text: the prefix before the cut, then `queries` endings, each answered."""

    @abstractmethod
    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        """(rows, length) inputs -> (rows, queries, length - cut): their own ending, then others."""

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        tokens, _ = self.sample(rng, count, hard)
        cut, s = self.task.cut, self.task.length - self.task.cut
        questions = self.questions(rng, tokens, hard)
        labels = self.task.answer(with_questions(tokens[:, :cut], questions)).reshape(count, -1)
        due = cut + s * np.arange(self.queries)[:, None] + np.arange(s - self.task.asks, s)
        return Batch(np.hstack([tokens[:, :cut], questions.reshape(count, -1)]), due.ravel(), labels)
