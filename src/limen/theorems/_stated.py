"""A theorem's inequality at given sizes, as a certificate: the kernel's function evaluates both sides."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from limen.core.certificate import Bound
from limen.core.theorem import NoStatement
from limen.errors import BadInput
from limen.theorems._case import Accuracy, Case, Sides, question
from limen.theorems._lowest import lowest
from limen_check import Refused
from limen_check.cannot import depth

Inequality = Callable[[depth.Case], Sides | depth.Ceiling]


def evaluated(theorem: str, inequality: Inequality, case: Case) -> Sides | Accuracy | NoStatement:
    """Both sides, or the lowest ceiling that is found; or why the theorem says nothing here."""
    try:
        sides = inequality(question(theorem, case))
    except (Refused, BadInput) as reason:  # BadInput: a mixer of one's own does not reach so far
        return NoStatement(str(reason))
    return sides if isinstance(sides, Sides) else Accuracy(lowest(sides.average), sides.distribution)


def stated(theorem: str, inequality: Inequality, case: Case) -> Bound | NoStatement:
    """The theorem's inequality at these sizes, as a certificate; it need not say cannot."""
    sides = evaluated(theorem, inequality, case)
    return sides if isinstance(sides, NoStatement) else as_certificate(theorem, case, sides)


def as_certificate(theorem: str, case: Case, sides: Sides | Accuracy) -> Bound:
    """Both sides, or the ceiling, as a certificate says them of a case."""
    return Bound(
        task=case.task.spelled,
        architecture=case.architecture.spelled,
        theorem=theorem,
        steps=case.steps,
        route=case.route,
        sizes=dict(case.sizes),
        **_sides(sides),
        ceiling=str(Fraction(sides.ceiling)) if isinstance(sides, Accuracy) else None,
        distribution=sides.distribution if isinstance(sides, Accuracy) else None,
    )


def _sides(sides: Sides | Accuracy) -> dict[str, Any]:
    """The fields of a certificate that say both sides."""
    if isinstance(sides, Accuracy):
        return {}
    if sides.unit == "bits":
        return {"needs_bits": sides.needs, "has_bits": sides.has}
    return {"unit": sides.unit, "needs": sides.needs, "has": sides.has}
