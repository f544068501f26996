"""Softmax heads that only an affine map reads answer few free questions that end with one token."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound
from limen.core.proof import Formal
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, Need, NoStatement
from limen.theorems._exact import ending_questions, stated_exactly
from limen_check.cannot.exact import softmax_read


class SoftmaxRead(ExactTheorem):
    """v ≤ 2^{H+1} - 3, and from six heads on fewer, by counting the signs of polynomials; no free sizes."""

    formal = (
        Formal("softmax_read.v", "softmax_read", "v ≤ 2^{H+1} - 3, for any numbers of H heads"),
        Formal("softmax_read.v", "cannot_recall_by_heads", "recall of one key: concrete verdicts"),
    )

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("softmax_read", softmax_read, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task asks {many(bound.needs)} free questions that end with one token; so many heads that "
            f"an affine map reads answer at most {many(bound.has)}, whatever their numbers and their size"
        )

    def needs(self, task: Task) -> tuple[Need, ...]:
        v = ending_questions(task)
        if not v:
            return ()
        layer = "one softmax layer and an affine readout, in exact arithmetic"
        return (Need(layer, f"2^(h+1) - 3 ≥ {v:,}, whatever the precision and d", None),)
