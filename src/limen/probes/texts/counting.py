"""A list with n different words, once, twice, … n times each; how often each occurs is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import NOUNS


@dataclass(frozen=True)
class WordCounts(TextTask):
    """n(n+1)/2 words in random order; the counts are a permutation of 1 … n."""

    n: int = 4

    ordered: ClassVar[bool] = False

    def draw(self, rng: np.random.Generator) -> Passage:
        kinds = some(rng, NOUNS, self.n, f"counting of n = {self.n}")
        words = [kind for i, kind in enumerate(kinds, 1) for _ in range(i)]
        listed = ", ".join(words[i] for i in rng.permutation(len(words)))
        counts = tuple(str(i) for i in range(1, self.n + 1))
        questions = (
            Question(
                f"The number of times that the list says {kind} is",
                f"How many times does the list say {kind}?",
                counts,
                i,
            )
            for i, kind in enumerate(kinds)
        )
        return Passage(f"List: {listed}.", tuple(questions))


TASK = WordCounts
