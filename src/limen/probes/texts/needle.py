"""n keys that differ from one number in one digit each, with a word: a needle among near-misses."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.arrays import np
from limen.probes.passage import Passage, Question, TextTask, some
from limen.probes.words import NOUNS


@dataclass(frozen=True)
class NearKeys(TextTask):
    """`Box 4721 holds the apple.`, n sentences; a number of five digits has 45 such neighbours."""

    n: int = 8

    def draw(self, rng: np.random.Generator) -> Passage:
        middle = [int(digit) for digit in rng.integers(1, 10, 5)]
        near = [
            "".join(str(digit if i == place else other) for i, other in enumerate(middle))
            for place in range(5)
            for digit in range(0 if place else 1, 10)
            if digit != middle[place]
        ]
        keys = some(rng, near, self.n, f"needle of n = {self.n}")
        words = tuple(some(rng, NOUNS, self.n, f"needle of n = {self.n}"))
        text = "\n".join(f"Box {key} holds the {word}." for key, word in zip(keys, words, strict=True))
        questions = (
            Question(f"Box {key} holds the", f"What does box {key} hold?", words, i)
            for i, key in enumerate(keys)
        )
        return Passage(text, tuple(questions))


TASK = NearKeys
