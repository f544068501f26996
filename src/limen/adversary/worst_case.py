"""The exact worst case over ALL inputs, for models of one layer: a counterexample, or a proof that none is.

The search itself stands in `exact/`; here it is one strategy among others.  It says of a model that it is
right everywhere only with a certificate that the kernel replays.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from limen.checks.certified import wrong_answer
from limen.core.certificate import WrongAnswer
from limen.core.strategy import Access, Searched, Strategy
from limen.model.target import Target

_EXACT = "limen.adversary.exact"


@dataclass(frozen=True)
class Bounded(Searched[WrongAnswer]):
    """Between which numbers the least margin over all inputs lies; None where such models are not covered.

    `proof` is the certificate that the model is right on every input, if it was proved.
    """

    low: float | None = None
    high: float | None = None
    verdict: str = "undecided"
    proof: dict[str, Any] | None = None


@dataclass(frozen=True)
class WorstOfAll(Strategy):
    """For at most so many seconds; the lowest margin seen so far is where it begins."""

    seconds: float = 20.0

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if target.limen is None or target.precision is not None:
            return "it reads the stored weights of a limen model"
        return None if find_spec(_EXACT) is not None else "the exact search is not part of this installation"

    def search(self, target: Target) -> Bounded:
        seconds = min(self.seconds, max(0.1, target.deadline - time.perf_counter()))
        worst = import_module(_EXACT).worst
        found = worst(target.model, target.task, seconds=seconds, incumbent=target.lowest_at)
        if found is None:
            return Bounded(None)
        witness = None
        if found.verdict == "wrong" and found.tokens is not None:
            witness = wrong_answer(target, found.tokens)
        return Bounded(witness, found.low, found.high, found.verdict, found.certificate)
