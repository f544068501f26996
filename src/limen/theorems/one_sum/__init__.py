"""One sum over the tokens, read by an affine map, cannot decide what crosses: equality, recall, brackets."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, NoStatement
from limen.theorems._exact import stated_exactly
from limen_check.cannot.exact import one_sum


class OneSum(ExactTheorem):
    """No inequality between sizes: four texts that cross are too many for one sum."""

    formal = (
        Formal("one_sum.v", "cannot_be_equal_summed", "equality: concrete verdicts"),
        Formal(
            "one_sum.v", "one_sum", "no sum of two parts' numbers decides what crosses, over any ordered ring"
        ),
    )

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("one_sum", one_sum, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            "the layer gives one sum over the tokens, and the readout a threshold; four texts with the same "
            "last token cross, and no such sum tells them apart, whatever its numbers"
        )
