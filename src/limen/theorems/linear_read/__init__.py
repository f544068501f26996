"""A state that only an affine map reads answers as many free questions as it has keys, at any precision."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound, ExactCeiling
from limen.core.proof import Formal
from limen.core.quantities import many
from limen.core.task import Task
from limen.core.theorem import ExactTheorem, Need, NoStatement
from limen.tasks.inner_product import InnerProduct
from limen.theorems._exact import averaged_exactly, stated_exactly
from limen_check.cannot.exact import linear_read, linear_read_average


class LinearRead(ExactTheorem):
    """One inequality, v ≤ Σ d_k, no free sizes; it counts questions and numbers, not bits."""

    formal = (
        Formal("linear_read.v", "linear_read", "the theorem, for any numbers that an affine map reads"),
        Formal("linear_read.v", "linear_layer", "one recurrent layer: any gates, any way to fill the state"),
        Formal("linear_read.v", "cannot_look_up", "eva and index: concrete verdicts, answers by argmax"),
        Formal("linear_read.v", "cannot_look_up_near", "the same with windows and short convolutions"),
    )

    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        return stated_exactly("linear_read", linear_read, task, architecture)

    def exact_ceiling(self, task: Task, architecture: Architecture) -> ExactCeiling | None:
        return averaged_exactly("linear_read", linear_read_average, task, architecture)

    def says(self, bound: ExactBound) -> str:
        return (
            f"the task asks {many(bound.needs)} free questions; a state that an affine map reads answers "
            f"at most {many(bound.has)}, whatever numbers it holds{_by_rank(bound)}"
        )

    def needs(self, task: Task) -> tuple[Need, ...]:
        v = task.free()
        if v is None:
            return ()
        layers = "linear (normalise=false), gated_linear, delta, gated_delta or kda (c=1)"
        supposed = f"one layer of {layers} and an affine readout, in exact arithmetic"
        least = Need(supposed, f"Σ d_k, the size of φ(k), ≥ {v:,}, whatever the precision", None)
        if not isinstance(task, InnerProduct):
            return (least,)
        signs = "Σ d_k + 1 ≥ 2^(n/2), the rank of its signs, whatever the precision: argued, not checked"
        return least, Need(supposed, signs, None)


def _by_rank(bound: ExactBound) -> str:
    """(Σ d_k + 1)² < 2^n, the square of the least rank of the signs: known of inner products, in prose."""
    task = Task.parse(bound.task)
    if bound.excludes or not isinstance(task, InnerProduct) or ((bound.has + 1) ** 2).bit_length() > task.n:
        return ""
    return (
        f"; argued, not checked: Σ d_k + 1 ≥ 2^(n/2), the rank of its signs [forster2002], and "
        f"Σ d_k + 1 = {many(bound.has + 1)}, so that no weights do it in exact arithmetic"
    )
