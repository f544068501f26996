"""One softmax layer that averages over q positions given by q tokens must pass on all n numbers."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.sparse_average import SparseAverage
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.sparse_average_width.inequality import averages


@dataclass(frozen=True)
class SparseAverageWidth(Theorem):
    """Alice holds the numbers."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_average_one_layer",
            "q ≥ 2 by softmax heads alone, n + 1 - q of the numbers: concrete verdicts",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("sparse_average_width", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if isinstance(task, SparseAverage) and task.q == 1:  # a trade of two sizes
            return (Need("one layer of softmax", "H(d+2)p ≥ ⌈n/2^(H·d_k·p)⌉", None),)
        numbers = averages(task, None)
        if isinstance(numbers, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({numbers.cases})", numbers.bits),)
