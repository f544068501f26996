"""A token index finds a value only if its keys distinguish nearly all values:
2-Sum costs log₂M bits per token.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case
from limen.theorems._stated import stated


@dataclass(frozen=True)
class TokenIndex(Theorem):
    """One inequality, no free sizes."""

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("token_index", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if not isinstance(task, TwoSum):
            return ()
        return (Need("top_k", "2^{d_i·p} ≥ min(M, (1-k/n)M + 1): one layer, n > k", None),)
