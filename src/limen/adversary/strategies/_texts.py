"""Texts of low entropy, for any task: a few values, or a constant with one exception, in whole tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import Generator, NDArray, np
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.model.model import Model
from limen.model.target import Target
from limen.witness.certified import first_wrong

Drawn = Callable[[range, int], "NDArray[np.int64]"]
Texts = Callable[[Target, int, "Generator | None"], Tokens]
_BATCH = 16  # so that an easy model costs no more
_STRIDES = 2  # every place of a table, or every second one: keys and values may alternate


def segments(task: Task) -> list[tuple[range, range]]:
    """The stretches of a text with one alphabet each: their places, their ids."""
    parts, at = [], 0
    for ids, times in task.alphabets():
        places = range(min(at, task.cut), min(at + times, task.cut))
        if len(places):
            parts.append((places, ids))
        at += times
    return parts


def few_valued(target: Target, count: int, rng: Generator | None = None) -> Tokens:
    """(count, cut): plain texts in which some stretches hold two or three values, one of them dominant."""
    rng = target.rng if rng is None else rng

    def drawn(ids: range, n: int) -> NDArray[np.int64]:
        values = rng.integers(ids.start, ids.stop, size=rng.integers(2, 4))
        which = rng.integers(len(values), size=n)
        which[rng.random(n) < rng.random()] = 0
        return np.asarray(values[which])

    return _patterned(target, count, rng, drawn)


def needles(target: Target, count: int, rng: Generator | None = None) -> Tokens:
    """(count, cut): plain texts in which some stretches hold one value everywhere except at one position."""
    rng = target.rng if rng is None else rng

    def drawn(ids: range, n: int) -> NDArray[np.int64]:
        common, rare = rng.integers(ids.start, ids.stop, size=2)
        values = np.full(n, common)
        values[rng.integers(n)] = rare
        return values

    return _patterned(target, count, rng, drawn)


def _patterned(target: Target, count: int, rng: Generator, drawn: Drawn) -> Tokens:
    """Plain texts in which each stretch, or a random non-empty part of them, is written over by `drawn`."""
    texts = target.drawn(count, rng)[:, : target.task.cut].copy()
    stretches = segments(target.task)
    for text in texts:
        chosen = rng.random(len(stretches)) < 0.5
        chosen[rng.integers(len(stretches))] = True
        stride = rng.integers(1, 1 + _STRIDES)
        for places, ids in (pair for pair, written in zip(stretches, chosen, strict=True) if written):
            at = np.arange(places.start, places.stop)[rng.integers(stride) :: stride]
            if len(at):
                text[at] = drawn(ids, len(at))
    return texts


@dataclass(frozen=True)
class RandomPatterns(Strategy):
    """Tries random texts of one pattern."""

    forwards: int = 512

    needs: ClassVar[Access] = Access.ANSWERS

    @abstractmethod
    def texts(self, target: Target, count: int) -> Tokens:
        """(count, cut)."""

    def search(self, target: Target) -> Searched[WrongAnswer]:
        end = target.forwards + self.forwards
        while target.forwards < end and not target.over:
            answers = target.ask(self.texts(target, _BATCH))
            if (failure := first_wrong(target, answers)) is not None:
                return Searched(failure)
        return Searched(None)


def proposed(texts: Texts, model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """Inputs to train on: such texts with their worst questions, the lowest margin first."""
    target = Target(task, model)
    answers = target.ask(texts(target, count, rng))
    order, at = answers.margin.min(1).argsort(kind="stable"), answers.margin.argmin(1)
    order = order[np.isfinite(answers.margin.min(1)[order])]  # what the task promises
    return np.asarray(answers.inputs[order, at[order]])
