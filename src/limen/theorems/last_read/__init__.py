"""The last state of a stack of recurrences is worth its keys alone, if only an affine map reads it."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.proof import Formal
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.theorems._exact import stated_exactly
from limen_check.cannot.exact import answered, last_read


class LastRead(ExactTheorem):
    """One inequality, v ≤ S + log₂ R(k, v), no free sizes."""

    formal = (
        Formal("last_read.v", "last_read", "the theorem, for any k free questions of each state below"),
        Formal(
            "last_read.v", "cannot_look_up_in_stack", "eva and index, R(k, n) ≤ (n+1)^k: concrete verdicts"
        ),
    )

    supposed = "with an exact last layer"

    @staticmethod
    def kept(bound: ExactBound, keys: int) -> int:
        """S, the bits below the matrices of the last layer, of which an affine map reads so many numbers."""
        return bound.has - (answered(keys, bound.needs).bit_length() - 1)

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("last_read", last_read, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task asks {many(bound.needs)} free questions; the states below the last layer, p bits per "
            f"number, and the last one, whatever numbers it holds, answer at most {many(bound.has)}"
        )
