"""The inequality of a theorem at given sizes; the kernel has its own, and its word counts.

It is the function `inequality` of `theorems/<id>/inequality.py`, found by the id.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from importlib import import_module

from limen.core.catalogue import module_of
from limen.core.certificate import Bound
from limen.core.theorem import NoStatement
from limen.theorems._case import Accuracy, Case, Sides

Inequality = Callable[[Case], Sides | Accuracy | NoStatement]


@cache
def inequality_of(theorem: str) -> Inequality:
    """The function in the folder of a theorem."""
    found: Inequality = import_module(f"{module_of('theorems', theorem)}.inequality").inequality
    return found


def stated(theorem: str, case: Case) -> Bound | NoStatement:
    """The theorem's inequality at these sizes, as a certificate; it need not say cannot."""
    sides = inequality_of(theorem)(case)
    if isinstance(sides, NoStatement):
        return sides
    return Bound(
        task=case.task.spelled,
        architecture=case.architecture.spelled,
        theorem=theorem,
        steps=case.steps,
        route=case.route,
        sizes=dict(case.sizes),
        needs_bits=sides.needs if isinstance(sides, Sides) else None,
        has_bits=sides.has if isinstance(sides, Sides) else None,
        ceiling=str(Fraction(sides.ceiling)) if isinstance(sides, Accuracy) else None,
        distribution=sides.distribution if isinstance(sides, Accuracy) else None,
    )
