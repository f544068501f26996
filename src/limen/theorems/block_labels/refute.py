"""Two labellings of the same points that tell the last token the same: a near point scores as a far one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader
import numpy as np

from limen.adversary.strategies.told_alike import ARITHMETIC
from limen.conversation.transcript import arithmetic
from limen.core.certificate import Collision
from limen.core.heads import split
from limen.core.task import Task, Tokens
from limen.model.arithmetic import computing_in
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.theorems.block_cut.refute import collision, message_bytes, only_layer, told
from limen.witness.collision import check_collision

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_PAIRS = 8  # whose labels all vary
_TRIES = 32  # pairs of labellings that are run: messages are rounded sums, so not every one is confused


class Straddled(NamedTuple):
    """A point nearer than the threshold and a farther one with the same scores at a place."""

    near: int
    far: int


def refute(task: Task, model: Predictor) -> Collision | None:
    """Two ways to label points that tell the last token the same."""
    return confused(task, model) if isinstance(model, Model) else None


def confused(task: Task, model: Model) -> Collision | None:
    """Two inputs whose points are the same, but whose nearest one has another label."""
    mixer, rule = only_layer(model), arithmetic(ARITHMETIC)
    if mixer is None or not isinstance(task, NearestNeighbor) or task.n > _PAIRS:
        return None
    rounded, points = model.to(rule.precision), _by_closeness(task)
    query = int(points[0])
    with torch.no_grad(), computing_in(rule.precision):
        places = [_straddling(rounded, task, place, points, query) for place in range(task.n)]
        good = max(places[0], key=lambda τ: sum(τ in pairs for pairs in places), default=None)
        if good is None:
            return None
        here = {j: pairs[good] for j, pairs in enumerate(places) if good in pairs}
        tokens = _labelled(
            task, [here[j].far if j in here else int(points[-1]) for j in range(task.n)], query
        )
        everything = torch.ones((task.length - 1) // mixer.B + 1, dtype=torch.bool)
        x = rounded.embedded(torch.as_tensor(tokens))
        messages = message_bytes(told(mixer, rounded.parts["0.0"], x, everything, rule), everything)
    tried = (_switched(task, model, tokens, here, pair) for pair in _alike(messages))
    collisions = (c for _, pairs in zip(range(_TRIES), tried, strict=False) for c in pairs)
    return next((c for c in collisions if check_collision(c, model) is None), None)


def _by_closeness(task: NearestNeighbor) -> Tokens:
    """A point for each cosine with the first axis, the nearest first."""
    ids = np.delete(np.arange(task.points), task.points // 2)
    v = task.vector(ids).astype(float)
    cosine = np.round(v[:, 0] / np.sqrt((v * v).sum(-1)), 9)
    _, first = np.unique(-cosine, return_index=True)
    return np.asarray(ids[first])


def _straddling(
    model: Model, task: NearestNeighbor, place: int, points: Tokens, query: int
) -> dict[int, Straddled]:
    """For each threshold that is good at this place: who scores alike."""
    w, mixer = model.parts["0.0"], only_layer(model)
    assert mixer is not None
    q = model.embedded(torch.tensor([[query]]), 2 * task.n) @ w["Q"]
    k = model.embedded(torch.as_tensor(points)[:, None], 2 * place) @ w["K"]  # (points, 1, h·d_k)
    scores = (split(k, mixer.h) * split(q, mixer.h)).sum(-1).reshape(len(points), -1)
    last: dict[bytes, int] = {}
    straddled: dict[int, Straddled] = {}
    for u in reversed(range(len(points))):
        far = last.setdefault(scores[u].numpy().tobytes(), u)
        for τ in range(u + 1, far + 1):
            straddled.setdefault(τ, Straddled(int(points[u]), int(points[far])))
    return straddled


def _labelled(task: NearestNeighbor, points: list[int], query: int) -> Tokens:
    """All labellings of these points: (2^n, 2n + 1)."""
    labels = np.array(list(product((0, 1), repeat=task.n))) + task.points
    tokens = np.empty((len(labels), task.length), dtype=np.int64)
    tokens[:, :-1:2], tokens[:, 1::2], tokens[:, -1] = points, labels, query
    return tokens


def _alike(messages: list[bytes]) -> Iterator[tuple[int, int]]:
    groups: dict[bytes, list[int]] = {}
    for i, message in enumerate(messages):
        groups.setdefault(message, []).append(i)
    return (pair for group in groups.values() for pair in combinations(group, 2))


def _switched(
    task: NearestNeighbor, model: Model, tokens: Tokens, here: dict[int, Straddled], pair: tuple[int, int]
) -> Iterator[Collision]:
    """The two labellings with the near point at a good place where they differ."""
    for j, points in here.items():
        left, right = (tokens[i].copy() for i in pair)
        left[2 * j] = right[2 * j] = points.near
        if left[2 * j + 1] != right[2 * j + 1]:
            yield collision(task, model, left, right)
