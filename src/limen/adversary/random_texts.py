"""Random texts with all their questions: the baseline. Where the state is too small, one must fail.

A state of s bits answers all questions rightly for at most 2^s texts, each of which it tells from the others
by its answers.  So for uniform tables of n·log₂V bits a random text exposes a failure with probability at
least 1 - 2^-(n·log₂V - s): one bit that is missing shows itself in every second text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.checks.certified import first_wrong
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target

_BATCH = 256


@dataclass(frozen=True)
class Sampled(Searched[WrongAnswer]):
    """How many texts were drawn, and after how many of them some answer was wrong."""

    tried: int
    failed: int


@dataclass(frozen=True)
class RandomTexts(Strategy):
    """So many texts as the task draws them; it stops after the first batch in which one fails."""

    forwards: int = 4096

    needs: ClassVar[Access] = Access.ANSWERS

    def search(self, target: Target) -> Sampled:
        tried = failed = 0
        while tried < self.forwards and not (tried and target.over):
            texts = target.task.sample(target.rng, min(_BATCH, self.forwards - tried))[0]
            asked = target.ask(texts[:, : target.task.cut])
            tried, failed = tried + len(texts), failed + int(asked.wrong.any(-1).sum())
            if (found := first_wrong(target, asked)) is not None:
                return Sampled(found, tried, failed)
        return Sampled(None, tried, failed)
