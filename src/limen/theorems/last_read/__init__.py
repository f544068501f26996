"""The last state of a stack of recurrences is worth its keys alone, if only an affine map reads it."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.theorems._exact import stated_exactly
from limen_check.cannot.exact import last_read


@dataclass(frozen=True)
class LastRead(ExactTheorem):
    """One inequality, v ≤ S + log₂ R(k, v), no free sizes."""

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("last_read", last_read, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task asks {many(bound.needs)} free questions; the states below the last layer, p bits per "
            f"number, and the last one, whatever numbers it holds, answer at most {many(bound.has)}"
        )
