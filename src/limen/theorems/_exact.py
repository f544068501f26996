"""An inequality about exact arithmetic and an affine readout, as a certificate of its own kind."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from limen.core.architecture import Architecture
from limen.core.certificate import ExactBound, ExactCeiling
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.theorems._case import Case, Sides, question, read_task
from limen.theorems._lowest import lowest
from limen_check import Refused
from limen_check.cannot import depth
from limen_check.cannot.exact import arithmetic, ending


def stated_exactly(
    theorem: str, inequality: Callable[[depth.Case], Sides], task: Task, architecture: Architecture
) -> ExactBound | NoStatement:
    """The theorem's inequality at these sizes; it need not say cannot."""
    if architecture.end is None:
        return NoStatement("it is about a stack that ends with affine", elsewhere=True)
    try:
        sides = inequality(question(theorem, Case(task, architecture)))
    except (Refused, BadInput) as reason:  # BadInput: a mixer of one's own does not reach so far
        return NoStatement(str(reason))
    return ExactBound(
        task=task.spelled,
        architecture=architecture.spelled,
        theorem=theorem,
        arithmetic=arithmetic(theorem),  # type: ignore[arg-type]
        unit=sides.unit,  # type: ignore[arg-type]
        needs=sides.needs,
        has=sides.has,
    )


def averaged_exactly(
    theorem: str, average: Callable[[depth.Case], depth.Ceiling], task: Task, architecture: Architecture
) -> ExactCeiling | None:
    """The theorem's ceiling at these sizes; None where it says nothing, or none is below 1."""
    if architecture.end is None:
        return None
    try:
        mean = average(question(theorem, Case(task, architecture, route="average")))
    except (Refused, BadInput):  # BadInput: a mixer of one's own does not reach so far
        return None
    ceiling = lowest(mean.average)
    return (
        None
        if ceiling >= 1
        else ExactCeiling(
            task=task.spelled,
            architecture=architecture.spelled,
            theorem=theorem,
            ceiling=str(Fraction(ceiling)),
            distribution=mean.distribution,
        )
    )


def ending_questions(task: Task) -> int:
    """The free questions whose last token never changes; 0 where none are known."""
    try:
        return max(ending(read_task(task)), 0)
    except Refused:
        return 0
