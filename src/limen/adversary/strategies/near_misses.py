"""The task's own near-misses, which its author thought hard, with all questions; answers are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.core.arrays import np
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target
from limen.witness.certified import first_wrong

_BATCH = 32


@dataclass(frozen=True)
class NearMisses(Strategy):
    """Tries the task's hard inputs, each with its own question and all others."""

    forwards: int = 512

    needs: ClassVar[Access] = Access.ANSWERS

    def search(self, target: Target) -> Searched[WrongAnswer]:
        end, cut = target.forwards + self.forwards, target.task.cut
        while target.forwards < end and not target.over:
            drawn = target.task.sample(target.rng, _BATCH, hard=True)[0]
            texts = drawn[:, :cut]
            answers = target.ask(texts, np.concatenate([drawn[:, None, cut:], target.questions(texts)], 1))
            if (failure := first_wrong(target, answers)) is not None:
                return Searched(failure)
        return Searched(None)
