"""The pigeonhole argument, run: prefixes with the same state, and an ending where their answers differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from limen.core.arrays import np
from limen.core.certificate import Collision
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.model import exhaustive
from limen.model.files import digest
from limen.model.model import Model
from limen.model.target import Target, rows_of
from limen.witness.collision import check_collision, own_arithmetic, streams

_ALL = 2**14  # inputs up to which all are looked at
_DRAWN = 32  # otherwise so many plain and so many hard ones,
_CHANGED = 8  # each with so many others that differ in one token
_TOKENS = 2**16  # that are looked at together, about; so of long texts fewer
_LONG = 2**12  # tokens of a text from which on only one continuation is looked at


@dataclass(frozen=True)
class Collisions(Strategy):
    """Searches two prefixes of t ≤ cut tokens with the same view that the model cannot tell apart.

    The view of a prefix is the model's state after it, bit by bit, unless a theorem gives another one.
    """

    t: int | None = None  # the task's own cut
    views: Callable[[Tokens], list[bytes]] | None = None

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if target.limen is None:
            return "this strategy reads the states of a Limen model, which this is not"
        return None if self.views or streams(target.limen) else "some layer of the model keeps every token"

    def search(self, target: Target) -> Searched[Collision]:
        task, model = target.task, target.limen
        if model is None or self.refuses(target) is not None:
            return Searched(None)
        t = task.cut if self.t is None else self.t
        inputs = _inputs(task, t, np.random.default_rng(0))
        seen = states(model, inputs[:, :t]) if self.views is None else self.views(inputs[:, :t])
        groups: dict[bytes, list[int]] = {}
        for i, view in enumerate(seen):
            groups.setdefault(view, []).append(i)
        pairs = (pair for group in groups.values() for pair in _pairs(group))
        return Searched(next(filter(None, (_pair_of(task, model, inputs, t, *pair) for pair in pairs)), None))


def _pair_of(task: Task, model: Model, inputs: Tokens, t: int, i: int, j: int) -> Collision | None:
    """The certificate for inputs i and j, if some ending separates their answers and the checker accepts."""
    parts = _told_apart(task, inputs[i], inputs[j], t)
    certificate = None if parts is None else collided(task, model, *parts)
    return certificate if certificate is not None and check_collision(certificate, model) is None else None


def collided(task: Task, model: Model, left: Tokens, right: Tokens, suffix: Tokens) -> Collision:
    """The certificate of two prefixes and a suffix, in the arithmetic of the model's own weights."""
    a, b, end = (tuple(map(int, x)) for x in (left, right, suffix))
    how = own_arithmetic(model)
    return Collision(task=str(task), left=a, right=b, suffix=end, arithmetic=how, weights=digest(model))


def states(model: Model, prefixes: Tokens, known: Callable[[Any], Any] = lambda state: state) -> list[bytes]:
    """The bytes of the model's state after each prefix."""
    tokens = torch.as_tensor(np.ascontiguousarray(prefixes))
    with torch.no_grad():
        state = model.start((len(prefixes),))
        for token in tokens.unbind(-1):
            state, _ = model.step(state, token)
        return rows_of(known(state), len(prefixes))


def _inputs(task: Task, t: int, rng: np.random.Generator) -> Tokens:
    """(count, length): one for each prefix where these are few, else random ones with their neighbours."""
    if task.length <= _ALL.bit_length() and exhaustive.count(task) <= _ALL:
        inputs = np.concatenate(list(exhaustive.batches(task, _ALL)))
        _, first = np.unique(inputs[:, :t], axis=0, return_index=True)
        return np.asarray(inputs[first])
    count = max(1, min(_DRAWN, _TOKENS // task.length))
    drawn = np.concatenate([task.sample(rng, count, hard)[0] for hard in (False, True)])
    inputs = drawn.repeat(1 + _CHANGED, axis=0)
    ends = [(ids.start, ids.stop) for ids, times in task.alphabets() for _ in range(times)]
    low, stop = np.array(ends[:t]).T
    for changed in range(1, 1 + _CHANGED):
        rows, at = np.arange(changed, len(inputs), 1 + _CHANGED), rng.integers(t, size=len(drawn))
        near = (inputs[rows, at] + rng.choice([-1, 1], len(rows))).clip(low[at], stop[at] - 1)
        inputs[rows, at] = np.where(rng.integers(2, size=len(rows)), near, rng.integers(low[at], stop[at]))
    return np.asarray(inputs[np.asarray(task.promised(inputs))])


def _pairs(group: list[int]) -> Iterator[tuple[int, int]]:
    """Pairs of a group: each member with the next, often its neighbour, and each with the first."""
    yield from pairwise(group)
    yield from ((group[0], other) for other in group[2:])


def _told_apart(task: Task, left: Tokens, right: Tokens, t: int) -> tuple[Tokens, Tokens, Tokens] | None:
    """Both prefixes and a continuation after which their answers differ, if one is found."""
    suffixes = np.concatenate([_continuations(task, x, t) for x in (left, right)])
    inputs = np.stack([np.hstack([np.tile(x[:t], (len(suffixes), 1)), suffixes]) for x in (left, right)])
    due = min(task.asks, task.length - t)
    answers = task.answer(inputs).reshape(2, len(suffixes), task.asks)[..., task.asks - due :]
    differ = (answers[0] != answers[1]).any(axis=-1) & np.asarray(task.promised(inputs)).all(axis=0)
    if not differ.any():
        return None
    return left[:t], right[:t], suffixes[differ.argmax()]


def _continuations(task: Task, x: Tokens, t: int) -> Tokens:
    """The rest of x itself, and the questions worth asking after its prefix (a sample if they are many)."""
    if task.length > _LONG:
        return x[None, t:]
    queries = task.queries(x[: task.cut])
    some = queries[:: 1 + len(queries) * task.length // _TOKENS]
    return np.vstack([x[t:], np.hstack([np.tile(x[t : task.cut], (len(some), 1)), some])])
