"""A list of n words; each is asked for by its number in the list."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import NOUNS


@dataclass(frozen=True)
class WordNumber(TextTask):
    """`List: apple, chair, …`, n words."""

    n: int = 8

    def draw(self, rng: np.random.Generator) -> Passage:
        words = tuple(some(rng, NOUNS, self.n, f"index of n = {self.n}"))
        questions = (
            Question(
                f"Word number {i} of the list is", f"Which word is number {i} of the list?", words, i - 1
            )
            for i in range(1, self.n + 1)
        )
        return Passage(f"List: {', '.join(words)}.", tuple(questions))


TASK = WordNumber
