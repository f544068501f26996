"""Verdicts for a task and a candidate: `decide` without the search for the size at which it flips."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import NamedTuple

import limen.decisions.decide as decisions
from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Bound, Solves
from limen.core.construction import Construction, constructions_for
from limen.core.kernel import Accepted
from limen.core.task import Task
from limen.decisions.placement import Offer, bare, offer, solves
from limen.designs.candidates import DEEPEST, Candidate
from limen.errors import BadInput
from limen.files.missing import absent, package
from limen.tasks.facts import chain
from limen.theorems.composition_depth.levels import Levels, levels_of

_OURS = "limen.constructions."


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


def promised(task: Task, candidate: Candidate, alike: Architecture) -> Standing:
    """The standing if no theorem rules it out: weights that the kernel derives, whatever stack holds them.

    `alike` is a stack with the same `Candidate.rows`: it is asked instead, where these are all that counts.
    """
    return _promised(task, alike if _by_rows(task, alike) else candidate.architecture)


def _by_rows(task: Task, architecture: Architecture) -> bool:
    """Whether offers are the same in all stacks with the same `Candidate.rows`.

    So it is for constructions of at most DEEPEST layers whose sizes follow the layers in the order in which
    their kinds first come: all of the catalogue but those of chains, by a law in tests/test_design.py.
    """
    if chain(task) is not None or absent():  # what is left out depends on theorems, too
        return False
    ours = all(kind.__module__.startswith(_OURS) for kind in _kinds(task))
    return ours and _looked_at(task, architecture).deepest <= DEEPEST


@cache
def _promised(task: Task, architecture: Architecture) -> Standing:
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


class LookedAt(NamedTuple):
    """The constructions whose layers a stack has, placed in it; the layers of the deepest, placed or not."""

    offers: tuple[Offer, ...]
    deepest: int


def _offers(task: Task, architecture: Architecture) -> tuple[Offer, ...]:
    return _looked_at(task, architecture).offers


@cache
def _looked_at(task: Task, architecture: Architecture) -> LookedAt:
    fitting, deepest = [], 0
    for kind in _kinds(task):
        try:
            construction = kind.within(task, architecture)
            if construction.steps:
                continue
            deepest = max(deepest, len(bare(construction).architecture.layers))
            offered = offer(construction, architecture, steps=0)
            if isinstance(offered, Offer):
                fitting.append(offered)
        except BadInput:  # it does not exist at these sizes
            continue
        except ModuleNotFoundError as error:  # `decide.incomplete` says that it is left out
            package(error)
    return LookedAt(tuple(fitting), deepest)


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
