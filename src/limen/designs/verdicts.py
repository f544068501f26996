"""Verdicts for a task and a candidate: `decide` without the search for the size at which it flips."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

import limen.decisions.decide as decisions
from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Bound
from limen.core.construction import Construction, constructions_for
from limen.core.kernel import Accepted
from limen.core.task import Task
from limen.decisions.placement import Offer, offer
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
    for construction in _constructions(task, architecture):
        if isinstance(accepted := decisions.evidence_by(construction, architecture, steps=0), Accepted):
            return str(construction), accepted
    return None


def hoped(task: Task, architecture: Architecture) -> Standing:
    """The standing if no theorem rules it out; an upper bound that costs little."""
    if _constructions(task, architecture):
        return Standing.CAN
    return Standing.SHALLOW if shallow(task, architecture) else Standing.OPEN


def shallow(task: Task, architecture: Architecture) -> bool:
    """Whether the depth rule says that long enough texts are out of reach: κ < L, and each hop asks."""
    tables = chain(task)
    if tables is None or 1 in tables.n:  # a hop that no query decides can be looked up ahead
        return False
    return isinstance(levels_of(architecture, tables.length, tables.L, steps=0), Levels)


@cache
def _constructions(task: Task, architecture: Architecture) -> tuple[Construction, ...]:
    """The constructions whose layers a stack has."""
    fitting = []
    for name in constructions_for(task):
        try:
            construction = lookup("constructions", name, Construction).within(task, architecture)
            if isinstance(offer(construction, architecture, steps=0), Offer):
                fitting.append(construction)
        except BadInput:  # it does not exist at these sizes
            continue
        except ModuleNotFoundError as error:  # `decide.incomplete` says that it is left out
            package(error)
    return tuple(fitting)


def bound_of(evidence: Accepted) -> Bound:
    """The inequality of a verdict CANNOT."""
    assert isinstance(evidence.certificate, Bound)
    return evidence.certificate
