"""One softmax layer that decides 3-Sum must pass on the set of all tokens but one."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.three_sum_one_layer.inequality import query_zero


@dataclass(frozen=True)
class ThreeSumOneLayer(Theorem):
    """Alice holds all tokens but one."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_three_one_layer",
            "softmax heads alone, words instead of all sets: concrete verdicts",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("three_sum_one_layer", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        sets = query_zero(task)
        if isinstance(sets, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({sets.cases})", sets.bits),)
