"""`two_sum`: residues, then several more; each asks for its partner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.core.weights import Array
from limen.model.embedding import Embedding
from limen.tasks.two_sum import TwoSum
from limen.training.lesson import Questions, Written, halves


@dataclass(frozen=True)
class PartnersAsked(Questions):
    """A residue is its own key; its value says that it is there; a question looks for its negative."""

    lookups = None

    def embedding(self, width: int) -> Embedding:
        task = cast(TwoSum, self.task)
        text = [Written("residue.key", task.M), Written("residue.value", task.M)]
        return halves(width, [(task.n, text), (self.queries, [Written("partner.query", task.M)])])

    def known(self, tables: dict[str, Array], lookup: bool) -> dict[str, Array]:
        """Known tables for the start `lookup`: q is written as the key of -q."""
        M = cast(TwoSum, self.task).M
        return {"partner.query": tables["residue.key"][-np.arange(M) % M]} if lookup else {}

    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        """The input's own question, then negatives of tokens or their neighbours, as often as any residue."""
        task, shape = cast(TwoSum, self.task), (len(tokens), self.queries - 1)
        x = np.take_along_axis(tokens[:, :-1], rng.integers(task.n, size=shape), axis=1)
        other = x + rng.choice([-1, 1], shape) if hard else rng.integers(task.M, size=shape)
        others = -np.where(rng.random(shape) < 0.5, x, other) % task.M
        return np.hstack([tokens[:, -1:], others])[..., None]


LESSON = PartnersAsked
