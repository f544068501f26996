"""n numbers of four digits, each with a word; every number is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.arrays import np
from limen.probes.passage import Passage, TextTask, some
from limen.probes.texts.recall import pairs


@dataclass(frozen=True)
class NumberRecall(TextTask):
    """`4721: apple`, n lines."""

    n: int = 8

    def draw(self, rng: np.random.Generator) -> Passage:
        keys = some(rng, range(1000, 10000), self.n, f"numbers of n = {self.n}")
        return pairs([str(key) for key in keys], rng)


TASK = NumberRecall
