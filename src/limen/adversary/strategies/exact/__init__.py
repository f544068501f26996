"""The exact worst case over ALL inputs, for models of one layer: a counterexample, a proof, or an interval.

    worst(model, task, seconds=10)  ->  low ≤ least margin ≤ high, an input that has `high`, and the verdict

The margin is right logit - best wrong one.  The verdict is "right" only if the kernel accepted a certificate,
that is if the margin exceeds every rounding error of the model's own arithmetic; "wrong" if the model itself,
run on the tokens, answers wrongly.  Everything else is "undecided", with the interval.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

from limen.adversary.strategies.exact.least import Worst, uncovered, worst
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target
from limen.witness.certified import wrong_answer

__all__ = ["ExactSearch", "ExactWorst", "Worst", "uncovered", "worst"]


@dataclass(frozen=True)
class ExactSearch(Searched[WrongAnswer]):
    """The interval of the least margin over all inputs; None where such models are not covered.

    `proof` is the certificate that the model is right on every input, if it was proved.
    """

    low: float | None = None
    high: float | None = None
    verdict: str = "undecided"
    proof: dict[str, Any] | None = None


@dataclass(frozen=True)
class ExactWorst(Strategy):
    """The exact search as a strategy, with a limit in seconds; it starts from the lowest margin seen."""

    seconds: float = 20.0

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if target.limen is None or target.precision is not None:
            return "this strategy needs the stored weights of a Limen model"
        return uncovered(target.limen, target.task)

    def search(self, target: Target) -> ExactSearch:
        seconds = min(self.seconds, max(0.1, target.deadline - time.perf_counter()))
        model = target.limen
        if model is None:
            return ExactSearch(None)
        least = worst(model, target.task, seconds=seconds, incumbent=target.lowest_at)
        if least is None:
            return ExactSearch(None)
        witness = None
        if least.verdict == "wrong" and least.tokens is not None:
            witness = wrong_answer(target, least.tokens)
        return ExactSearch(witness, least.low, least.high, least.verdict, least.certificate)
