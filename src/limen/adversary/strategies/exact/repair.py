"""Training against the exact search: the inputs it finds are added until the model is proved right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.adversary.strategies.exact.least import Worst, uncovered, worst
from limen.core.arrays import np
from limen.core.task import Task, Tokens
from limen.errors import BadInput
from limen.model.model import Model

Trains = Callable[
    [Model, Tokens], Model
]  # some steps on inputs of its own and on these -> the model after them
_KEPT = 20_000  # inputs, the latest ones


@dataclass(frozen=True)
class Repaired:
    """The model after so many rounds, its least margin, and the inputs that it was trained against."""

    model: Model
    worst: Worst
    rounds: int
    pool: Tokens

    @property
    def proved(self) -> bool:
        return self.worst.verdict == "right"


def repair(model: Model, task: Task, train: Trains, *, rounds: int, seconds: float) -> Repaired:
    """The model after rounds of search and training, up to the first round that proves it right.

    `seconds` bounds each search.  Every input that the search met with a margin below 1 is added.
    """
    pool, done = np.zeros((0, task.length), dtype=np.int64), 0
    while True:
        least = worst(model, task, seconds=seconds)
        if least is None:
            raise BadInput(f"repair needs an exact worst case, and there is none: {uncovered(model, task)}")
        if least.verdict == "right" or done == rounds:
            return Repaired(model, least, done, pool)
        news = least.met if least.tokens is None else np.concatenate([least.met, least.tokens[None]])
        pool = np.unique(np.concatenate([pool, news]), axis=0)[-_KEPT:]
        model, done = train(model, pool), done + 1
