"""If keys and values are in different tokens, one softmax layer must pass on all values at once."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.separate_tokens.inequality import separate_values


@dataclass(frozen=True)
class SeparateTokens(Theorem):
    """Alice holds the values."""

    formal = (
        Formal(
            "one_layer_numbers.v",
            "cannot_recall_one_layer",
            "recall of one key, nearest_neighbor: concrete verdicts",
        ),
        Formal(
            "separate_tokens.v", "separate_tokens", "n values in tokens of their own, any of them asked for"
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("separate_tokens", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        values = separate_values(task)
        if isinstance(values, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({values.cases})", values.bits),)
