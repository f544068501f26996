"""The least margin of a one-layer model over ALL inputs of a task: a proof, a counterexample, or an interval.

    worst(model, task, seconds=10)  ->  low ≤ least margin ≤ high, an input that has `high`, and the verdict

The margin is right logit - best wrong one.  "right" is said only where the kernel accepted a certificate,
that is where the margin is above all that the model's own arithmetic may move it by; "wrong" where the model
itself, run on the tokens, answers wrongly.  Everything else is "undecided", with the interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.exact.least import Worst, answered, uncovered, worst
from limen.core.certificate import Counterexample
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Task
from limen.model.files import digest
from limen.model.model import Model
from limen.model.predictor import Predictor

__all__ = ["ExactWorst", "Worst", "uncovered", "worst"]

SECONDS = 10.0  # of a search that nobody limits


@dataclass(frozen=True)
class ExactWorst(Strategy):
    """Looks at all inputs at once, where the model is of a kind whose worst one can be computed."""

    seconds: float = SECONDS

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, task: Task, model: Predictor) -> str | None:
        return uncovered(model, task)

    def search(self, task: Task, model: Predictor) -> Searched[Counterexample]:
        found = worst(model, task, seconds=self.seconds)
        if found is None or found.verdict != "wrong" or found.tokens is None or not isinstance(model, Model):
            return Searched(None)
        precision = str(next(iter(model.weights.values())).dtype).removeprefix("torch.")
        return Searched(
            Counterexample(
                task=str(task),
                tokens=tuple(map(int, found.tokens)),
                answer=int(task.answer(found.tokens)),
                given=answered(model, found.tokens),
                precision=precision,
                steps=0,
                weights=digest(model),
            )
        )
