"""Two inputs with the same ending whose beginnings send identical messages, in integers of a few bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from limen.conversation.converse import Utterance, converse
from limen.conversation.transcript import arithmetic
from limen.core.arrays import np
from limen.core.certificate import Collision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.model import exhaustive
from limen.model.files import digest
from limen.model.model import Model
from limen.model.target import Target

ARITHMETIC = "integers(f=1,top=2,window=2)"  # numbers of 4 bits: multiples of 1/2 below 4
_ALL = 2**13  # inputs up to which all are run
_DRAWN = 48  # beginnings otherwise, and so many ends for each


@dataclass(frozen=True)
class ToldAlike(Strategy):
    """Searches two inputs with the same ending and the same messages, but different right answers."""

    needs: ClassVar[Access] = Access.WEIGHTS

    def search(self, target: Target) -> Searched[Collision]:
        task, model = target.task, target.limen
        if model is None:
            return Searched(None)
        batches = _inputs(task, np.random.default_rng(0))
        return Searched(next(filter(None, (_pair(task, model, inputs) for inputs in batches)), None))


def _pair(task: Task, model: Model, inputs: Tokens) -> Collision | None:
    t, rule = task.cut, arithmetic(ARITHMETIC)
    talk = converse(model, torch.as_tensor(inputs), [range(t), range(t, task.length)], rule)
    heard = _bytes(talk.utterances, len(inputs))
    answers = np.asarray(task.answer(inputs)).reshape(len(inputs), -1)
    groups: dict[bytes, list[int]] = {}
    for i, row in enumerate(inputs):
        groups.setdefault(row[t:].tobytes() + heard[i], []).append(i)
    pairs = (pair for group in groups.values() for pair in pairwise(group))
    apart = next(((i, j) for i, j in pairs if (answers[i] != answers[j]).any()), None)
    if apart is None:
        return None
    left, right = (tuple(map(int, inputs[k][:t])) for k in apart)
    suffix = tuple(map(int, inputs[apart[0]][t:]))
    return Collision(
        task=str(task), left=left, right=right, suffix=suffix, arithmetic=ARITHMETIC, weights=digest(model)
    )


def _bytes(messages: list[Utterance], count: int) -> list[bytes]:
    """All messages of each conversation, as bytes."""
    parts = [np.ascontiguousarray(np.asarray(x)).reshape(count, -1) for s in messages for x in s.content]
    return [b"".join(part[i].tobytes() for part in parts) for i in range(count)]


def _inputs(task: Task, rng: np.random.Generator) -> Iterator[Tokens]:
    """Batches of all inputs where they are few; else of random prefixes with the questions worth asking."""
    if task.length <= _ALL.bit_length() and exhaustive.count(task) <= _ALL:
        yield np.concatenate(list(exhaustive.batches(task, _ALL)))
        return
    for hard in (True, False):
        drawn = task.sample(rng, _DRAWN, hard)[0]
        ends = np.unique(np.concatenate([task.queries(x[: task.cut]) for x in drawn[:4]]), axis=0)[:_DRAWN]
        inputs = np.hstack([np.repeat(drawn[:, : task.cut], len(ends), 0), np.tile(ends, (len(drawn), 1))])
        yield np.asarray(inputs[np.asarray(task.promised(inputs))])
