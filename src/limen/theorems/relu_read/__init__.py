"""A state behind one layer of ReLUs answers in few ways, at any precision."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.theorems._exact import stated_exactly
from limen_check.cannot.exact import relu_read


class ReluRead(ExactTheorem):
    """One inequality, k^v ≤ R(K, v·u)·R(K, v·C(k,2)), no free sizes; both sides as logarithms."""

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("relu_read", relu_read, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task needs {many(bound.needs)} bits; a state behind one layer of ReLUs answers in "
            f"fewer than 2^{many(bound.has + 1)} ways, whatever numbers it holds"
        )
