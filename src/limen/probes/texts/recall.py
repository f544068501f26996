"""n names, each with a word; every name is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import NAMES, NOUNS


@dataclass(frozen=True)
class WordRecall(TextTask):
    """`Alice: apple`, n lines."""

    n: int = 8

    def draw(self, rng: np.random.Generator) -> Passage:
        return pairs(some(rng, NAMES, self.n, f"recall of n = {self.n}"), rng)


def pairs(keys: list[str], rng: np.random.Generator) -> Passage:
    """Keys with words, a line each."""
    values = tuple(some(rng, NOUNS, len(keys), f"recall of n = {len(keys)}"))
    text = "\n".join(f"{key}: {value}" for key, value in zip(keys, values, strict=True))
    questions = (
        Question(f"{key}:", f"Which word belongs to {key}?", values, i) for i, key in enumerate(keys)
    )
    return Passage(text, tuple(questions))


TASK = WordRecall
