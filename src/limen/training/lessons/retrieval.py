"""`retrieval`: pairs of a key and its value in one token, then keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.model.embedding import Embedding
from limen.tasks.retrieval import Retrieval
from limen.training.lesson import Questions, Written, halves


@dataclass(frozen=True)
class Pairs(Questions):
    """A token has a key and a value; a question is a key."""

    lookups = None

    def embedding(self, width: int) -> Embedding:
        task = cast(Retrieval, self.task)
        pair = [Written("key.key", task.keys, div=task.V), Written("value.value", task.V)]
        return halves(width, [(task.n, pair), (self.queries, [Written("key.query", task.keys)])])

    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        """The input's own question, then keys of the text; with `absent` every second one is any key."""
        task, rows = cast(Retrieval, self.task), np.arange(len(tokens))[:, None]
        shape = (len(tokens), self.queries - 1)
        keys = tokens[rows, rng.integers(task.n, size=shape)] // task.V
        if task.absent:
            keys = np.where(rng.random(shape) < 0.5, keys, rng.integers(task.keys, size=shape))
        return np.hstack([tokens[:, -1:], task.keys * task.V + keys])[..., None]


LESSON = Pairs
