"""Needles: one value everywhere except at one position, so that interference adds up; answers are enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._texts import needles
from limen.core.arrays import Generator, np
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.model.model import Model
from limen.model.target import Target
from limen.witness.certified import first_wrong

_BATCH = 16  # so that an easy model costs no more


@dataclass(frozen=True)
class Needle(Strategy):
    """Tries random needles."""

    forwards: int = 512

    needs: ClassVar[Access] = Access.ANSWERS

    def search(self, target: Target) -> Searched[WrongAnswer]:
        end = target.forwards + self.forwards
        while target.forwards < end and not target.over:
            answers = target.ask(needles(target, _BATCH))
            if (failure := first_wrong(target, answers)) is not None:
                return Searched(failure)
        return Searched(None)


def propose(model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """Inputs to train on: needles with their worst questions, the lowest margin first."""
    target = Target(task, model)
    answers = target.ask(needles(target, count, rng))
    order, at = answers.margin.min(1).argsort(kind="stable"), answers.margin.argmin(1)
    order = order[np.isfinite(answers.margin.min(1)[order])]  # what the task promises
    return np.asarray(answers.inputs[order, at[order]])
