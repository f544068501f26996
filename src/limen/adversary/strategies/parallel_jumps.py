"""Linearised jumps from many starts in one batch, half structured and half plain: for harder models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._leaps import Leaps
from limen.core.arrays import Generator, np
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task, Tokens
from limen.model.model import Model
from limen.model.target import Target

_JUMPS = 3  # of a proposal


@dataclass(frozen=True)
class ParallelJumps(Strategy):
    """Jumps with `parallel` inputs at a time, each starting as the best of four texts."""

    forwards: int = 2**20
    parallel: int = 64

    needs: ClassVar[Access] = Access.GRADIENTS

    def search(self, target: Target) -> Searched[WrongAnswer]:
        return Searched(Leaps(target, self.parallel, 4 * self.parallel).search(self.forwards))


def propose(model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """Inputs to train on: those that parallel searches reach after a few jumps."""
    target = Target(task, model, seed=int(rng.integers(2**31)))
    leaps = Leaps(target, count, 4 * count)
    inputs, margins, _ = leaps.start(count)
    for _ in range(_JUMPS):
        inputs, margins, _ = leaps.step(inputs, margins)
    return inputs[np.isfinite(margins)]
