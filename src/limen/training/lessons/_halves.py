"""Two halves that are compared place by place: `equality` and `disjointness`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from limen.core.task import Tokens
from limen.model.embedding import Embedding
from limen.training.lesson import Batch, Lesson, Written, halves


@dataclass(frozen=True)
class TwoHalves(Lesson, ABC):
    """a_i has its position as key and its bit as value; b_i asks for it, and the answer so far is due."""

    so_far = True
    lookups = 1  # the second layer looks for a place that differs, not for an address

    def embedding(self, width: int) -> Embedding:
        n = self.task.cut
        a = [Written("place.key", n, "place"), Written("a.value", 2)]
        b = [Written("place.query", n, "place"), Written("b.key", 2)]
        return halves(width, [(n, a), (n, b)])

    @abstractmethod
    def refuted(self, a: Tokens, b: Tokens) -> NDArray[np.bool_]:
        """(rows, n): whether place i alone makes the answer no."""

    def batch(self, rng: Generator, count: int, hard: bool) -> Batch:
        tokens, _ = self.sample(rng, count, hard)
        n = self.task.cut
        so_far = 1 - np.logical_or.accumulate(self.refuted(tokens[:, :n], tokens[:, n:]), axis=1)
        first = 0 if self.dense else n - 1
        return Batch(tokens, np.arange(n + first, 2 * n), so_far[:, first:].astype(np.int64))
