"""`nearest_neighbor`: labelled points, then several points; ids of points begin as their directions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.core.weights import Array
from limen.model.embedding import Embedding, Table
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.training.lesson import NOT_DUE, Batch, Questions

_MARGIN = 0.05  # of cosines, in training: below it no answer is asked for
_TRIED = 3  # points that are drawn for one that is clearly nearest to another


@dataclass(frozen=True)
class Neighbours(Questions):
    """The same table for all ids; a point and its label share the vector of their place at the start."""

    def embedding(self, width: int) -> Embedding:
        return Table(self.task.vocab, self.task.cut + self.queries)

    def known(self, tables: dict[str, Array], lookup: bool) -> dict[str, Array]:
        """Known tables: a point is its direction times a matrix; questions have no position."""
        task, E, P = cast(NearestNeighbor, self.task), tables["E"].copy(), tables["P"].copy()
        E[: task.points] = _directions(task, np.arange(task.points)) @ E[: task.D] * np.sqrt(task.D)
        P[1 : task.cut : 2], P[task.cut :] = P[: task.cut : 2], P[task.cut]
        return {"E": E, "P": P}

    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        """The input's own question, then drawn points that have a clear nearest one."""
        task, rows = cast(NearestNeighbor, self.task), len(tokens)
        drawn = task.uniform(rng, rows * self.queries * _TRIED).reshape(rows, -1)
        order = np.argsort(self._margins(tokens, drawn) < _MARGIN, axis=1, kind="stable")
        chosen = np.take_along_axis(drawn, order, axis=1)[:, : self.queries - 1]
        return np.hstack([tokens[:, -1:], chosen])[..., None]

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        batch, cut = super().batch(rng, count, hard), self.task.cut
        unclear = self._margins(batch.tokens, batch.tokens[:, cut:]) < _MARGIN
        return batch._replace(labels=np.where(unclear & (not hard), NOT_DUE, batch.labels))

    def _margins(self, tokens: Tokens, queries: Tokens) -> Array:
        """(rows, Q): by how much the nearest point's cosine exceeds all others."""
        task = cast(NearestNeighbor, self.task)
        x, q = (_directions(task, ids) for ids in (tokens[:, : task.cut : 2], queries))
        cosines = np.sort(q @ x.transpose(0, 2, 1), axis=-1)
        return np.asarray(cosines[..., -1] - cosines[..., -2] if task.n > 1 else np.ones(queries.shape))


def _directions(task: NearestNeighbor, ids: Tokens) -> Array:
    v = task.vector(ids).astype(np.float64)
    return np.asarray(v / np.sqrt((v**2).sum(axis=-1, keepdims=True)).clip(min=1))


LESSON = Neighbours
