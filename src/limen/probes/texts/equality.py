"""Four names, each with two lists of n words: two pairs are equal, in two one word differs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import NAMES, NOUNS

_ROWS = 4
_CHOICES = "equal", "different"


@dataclass(frozen=True)
class EqualLists(TextTask):
    """`Alice: cat sun tree / cat sun tree`; who always says the same word is right on half of them."""

    n: int = 3

    ordered: ClassVar[bool] = False

    def draw(self, rng: np.random.Generator) -> Passage:
        names = some(rng, NAMES, _ROWS, "equality")
        differs = [bool(i % 2) for i in rng.permutation(_ROWS)]
        lines, questions = [], []
        for name, other in zip(names, differs, strict=True):
            *words, spare = some(rng, NOUNS, self.n + 1, f"equality of n = {self.n}")
            again = list(words)
            if other:
                again[int(rng.integers(self.n))] = spare
            lines.append(f"{name}: {' '.join(words)} / {' '.join(again)}")
            ask = f"Are the two lists of {name} equal or different?"
            questions.append(Question(f"The two lists of {name} are", ask, _CHOICES, int(other)))
        return Passage("\n".join(lines), tuple(questions))


TASK = EqualLists
