"""A state behind a norm and a bias answers in few ways, at any precision."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.theorems._exact import stated_exactly
from limen_check.cannot.exact import biased_read


class BiasedRead(ExactTheorem):
    """One inequality, k^v ≤ 2·3^(K-1)·R(K, v·C(k,2)), no free sizes; both sides as logarithms."""

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("biased_read", biased_read, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task needs {many(bound.needs)} bits; a state behind a norm and a bias answers in "
            f"fewer than 2^{many(bound.has + 1)} ways, whatever numbers it holds"
        )
