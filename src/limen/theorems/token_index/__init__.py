"""A token index finds a value only if its keys distinguish nearly all values:
2-Sum costs log₂M bits per token.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.top_k import TopK
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._two_sum import OTHER, alone
from limen_check.cannot.bound import token_index


class TokenIndex(Theorem):
    """One inequality, no free sizes."""

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """2^κ ≥ min(M, (1 - k/n)M + 1) for index keys of κ = d_i·p bits."""
        if not isinstance(case.task, TwoSum) or case.steps or case.sizes or case.route:
            return OTHER
        layers = case.architecture.layers
        part = alone(layers[0], TopK) if len(layers) == 1 else None
        if part is None or not isinstance(part.mixer, TopK):
            return NoStatement("it is about one layer of top_k or dsa alone, with its sizes given")
        if case.task.n <= part.mixer.k:
            return NoStatement(f"the query reads all {case.task.n} tokens")
        return stated("token_index", token_index, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if not isinstance(task, TwoSum):
            return ()
        return (Need("top_k or dsa", "2^{d_i·p} ≥ min(M, (1-k/n)M + 1): one layer, n > k", None),)
