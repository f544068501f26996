"""One softmax layer that decides 3-Sum must pass on the set of all tokens but one."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.three_sum import ThreeSum
from limen.theorems._case import Case
from limen.theorems._one_layer import Family, family, silent_of_one_layer
from limen.theorems._stated import stated
from limen_check.cannot.bound import one_layer


class ThreeSumOneLayer(Theorem):
    """Alice holds all tokens but one."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_three_one_layer",
            "softmax heads alone, words instead of all sets: concrete verdicts",
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """H(d+2)p ≥ log₂ #rows of the 2-Sum that is left once q = 0."""
        sets = query_zero(case.task)
        if isinstance(sets, NoStatement):
            return sets
        return silent_of_one_layer(case, sets) or stated("three_sum_one_layer", one_layer, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        sets = query_zero(task)
        if isinstance(sets, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({sets.cases})", sets.bits),)


def query_zero(task: Task) -> Family | NoStatement:
    """3-Sum with q = 0: Alice holds all tokens but one."""
    if not isinstance(task, ThreeSum):
        return NoStatement(f"it is about three_sum, not of {identifier(task)}")
    return family("three_sum_one_layer/", task, "1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-1")
