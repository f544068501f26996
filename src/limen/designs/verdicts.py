"""Verdicts for a task and a candidate: `decide` without the search for the size at which it flips."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import limen.decisions.decide as decisions
from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Bound, Solves
from limen.core.construction import Construction, constructions_for
from limen.core.kernel import Accepted
from limen.core.task import Task
from limen.decisions.placement import Offer, offer, solves
from limen.errors import BadInput
from limen.files.missing import package
from limen.tasks.facts import chain
from limen.theorems.composition_depth.levels import Levels, levels_of


class Standing(IntEnum):
    """The verdict of a task in a stack as a number; more is better."""

    RULED_OUT = 0
    SHALLOW = 1  # open, but of fewer hops than the task has: not in long texts, certified for none as short
    OPEN = 2
    INCOMPLETE = 3  # neither, but a package is missing that might tell
    CAN = 4


@cache
def ruled_out(task: Task, architecture: Architecture) -> Accepted | None:
    """The evidence of CANNOT."""
    return decisions.ruled_out(task, architecture)


def built(task: Task, architecture: Architecture) -> tuple[str, Accepted] | None:
    """A construction, and the evidence that it does the task there."""
    for offered in _offers(task, architecture):
        construction = offered.construction
        if isinstance(accepted := decisions.evidence_by(construction, architecture, steps=0), Accepted):
            return str(construction), accepted
    return None


def hoped(task: Task, architecture: Architecture) -> Standing:
    """The standing if no theorem rules it out and the kernel accepts all weights."""
    if _offers(task, architecture):
        return Standing.CAN
    return Standing.SHALLOW if shallow(task, architecture) else Standing.OPEN


@cache
def promised(task: Task, architecture: Architecture) -> Standing:
    """The standing if no theorem rules it out: weights that the kernel derives, whatever stack holds them."""
    if any(map(_derived, _offers(task, architecture))):
        return Standing.CAN
    if decisions.incomplete(task, architecture):
        return Standing.INCOMPLETE
    return Standing.SHALLOW if shallow(task, architecture) else Standing.OPEN


def _derived(offered: Offer) -> bool:
    """Whether the kernel derives that these weights are right on every input."""
    try:
        return isinstance(solves(offered), Solves)
    except ModuleNotFoundError as error:  # `decide.incomplete` says that it is left out
        package(error)
        return False


def shallow(task: Task, architecture: Architecture) -> bool:
    """Whether the depth rule says that long enough texts are out of reach: κ < L, and each hop asks."""
    tables = chain(task)
    if tables is None or 1 in tables.n:  # a hop that no query decides can be looked up ahead
        return False
    return isinstance(levels_of(architecture, tables.length, tables.L, steps=0), Levels)


@cache
def _offers(task: Task, architecture: Architecture) -> tuple[Offer, ...]:
    """The constructions whose layers a stack has, placed in it."""
    fitting = []
    for kind in _kinds(task):
        try:
            offered = offer(kind.within(task, architecture), architecture, steps=0)
            if isinstance(offered, Offer):
                fitting.append(offered)
        except BadInput:  # it does not exist at these sizes
            continue
        except ModuleNotFoundError as error:  # `decide.incomplete` says that it is left out
            package(error)
    return tuple(fitting)


@cache
def _kinds(task: Task) -> tuple[type[Construction], ...]:
    """The constructions of a task, at any sizes."""
    kinds = []
    for name in constructions_for(task):
        try:
            kinds.append(lookup("constructions", name, Construction))
        except ModuleNotFoundError as error:
            package(error)
    return tuple(kinds)


def bound_of(evidence: Accepted) -> Bound:
    """The inequality of a verdict CANNOT."""
    assert isinstance(evidence.certificate, Bound)
    return evidence.certificate
