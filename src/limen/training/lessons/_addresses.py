"""A table that is asked at its places: `index` and `eva`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens, distinct
from limen.model.embedding import Embedding
from limen.training.lesson import Questions, Written, halves, zipf


@dataclass(frozen=True)
class Addresses(Questions):
    """A token's key is its position, its value its symbol; a question names a position."""

    lookups = None

    def embedding(self, width: int) -> Embedding:
        n, symbols = self.task.cut, self.task.answers
        text = [Written("place.key", n, "place"), Written("symbol.value", symbols)]
        return halves(width, [(n, text), (self.queries, [Written("place.query", n)])])

    def questions(self, rng: Generator, tokens: Tokens, hard: bool) -> Tokens:
        others = rng.integers(self.task.cut, size=(len(tokens), self.queries - 1))
        return np.hstack([tokens[:, -1:], others])[..., None]

    def shifted(self, rng: Generator, count: int) -> dict[str, Tokens]:
        """Non-uniform tables with random questions; for a needle, the question is its position."""
        n, S = self.task.cut, self.task.answers
        a, b = rng.integers(S, size=(2, count, 1))
        p, b = rng.integers(n, size=(count, 1)), (a + 1 + b % (S - 1)) % S
        tables = {
            "permutation": distinct(rng, count, n, max(n, S)) % S,
            "two symbols": np.where(rng.random((count, n)) < 0.5, a, b),
            "sorted": np.sort(rng.integers(S, size=(count, n)), axis=1),
            "needle": np.where(np.arange(n) == p, b, a),
        }
        tables["Zipf"] = zipf(rng, S, (count, n))
        places = {name: p if name == "needle" else rng.integers(n, size=(count, 1)) for name in tables}
        inputs = {name: np.hstack([s, places[name]]) for name, s in tables.items()}
        return inputs | super().shifted(rng, count)
