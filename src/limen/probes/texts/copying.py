"""A list of n different words, said three times: at each place of the third the next word is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import CITIES, NAMES, NOUNS


@dataclass(frozen=True)
class Copying(TextTask):
    """n words; the first word of the third copy cannot be known, so n-1 questions."""

    n: int = 64

    fixed: ClassVar[bool] = True

    def draw(self, rng: np.random.Generator) -> Passage:
        words = tuple(some(rng, (*NAMES, *NOUNS, *CITIES), self.n, f"copying of n = {self.n}"))
        stems = [" ".join(words[:i]) for i in range(1, self.n)]
        questions = (Question(stem, "", words, i) for i, stem in enumerate(stems, 1))
        return Passage(" ".join(words * 2), tuple(questions), joint=" ")


TASK = Copying
