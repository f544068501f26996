"""Random texts with all their questions: the baseline. Where the state is too small, one must fail.

Inputs of an owner's sampler are run as they are drawn: it need not ask the task's other questions.

A state of s bits answers all questions rightly for at most 2^s texts, each of which it tells from the others
by its answers.  So for uniform tables of n·log₂V bits a random text exposes a failure with probability at
least 1 - 2^-(n·log₂V - s): one bit that is missing shows itself in every second text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target
from limen.witness.certified import first_wrong

_BATCH = 256


@dataclass(frozen=True)
class Sampled(Searched[WrongAnswer]):
    """The number of texts drawn, and of those after which some answer was wrong."""

    tried: int
    failed: int


@dataclass(frozen=True)
class RandomTexts(Strategy):
    """Tries texts as they are drawn and stops after the first batch in which one fails."""

    forwards: int = 4096

    needs: ClassVar[Access] = Access.ANSWERS

    def search(self, target: Target) -> Sampled:
        tried = failed = 0
        while tried < self.forwards and not (tried and target.over):
            inputs = target.drawn(min(_BATCH, self.forwards - tried))
            own = target.sampler is not None
            answers = target.run(inputs) if own else target.ask(inputs[:, : target.task.cut])
            tried, failed = tried + len(inputs), failed + int(answers.wrong.any(-1).sum())
            if (failure := first_wrong(target, answers)) is not None:
                return Sampled(failure, tried, failed)
        return Sampled(None, tried, failed)
