"""Constructions run: every input of a small size, drawn inputs of a larger one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from limen.core.certificate import Run
from limen.core.construction import Construction, construct, constructions_for
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.decisions.decide import ruled_out
from limen.errors import BadInput
from limen.model.model import Model
from limen.solutions import Solution, certificate, solve
from limen.tables.cell import EvidenceError
from limen.witness.run import check_run

_PRECISION = "float32"
_SEED = 0


@dataclass(frozen=True)
class Ran:
    """Weights, what their run showed, and the certificate that the checker accepted."""

    solution: Solution
    certificate: Run
    model: Model


@cache
def right(construction: Construction, count: int | None, encoder: bool) -> tuple[Solution, Model]:
    """The solution run on all inputs, or on `count` plain and `count` hard ones; raises if one is wrong."""
    precision = Precision.parse(_PRECISION)
    solution, model = solve(construction, precision, count, every=count is None, seed=_SEED, encoder=encoder)
    if solution.wrong:
        raise EvidenceError(
            f"{construction.task} by {construction} in {_PRECISION}: {solution.wrong} of {solution.tried} "
            "answers are wrong"
        )
    if solution.certified is not None and solution.margin < solution.certified:
        raise EvidenceError(
            f"{construction.task} by {construction}: a margin of {solution.certified:.3g} is certified, "
            f"{solution.margin:.3g} was seen"
        )
    return solution, model


@cache
def ran(construction: Construction, count: int | None, encoder: bool) -> Ran:
    """A run with its certificate, which the checker accepted."""
    solution, model = right(construction, count, encoder)
    run = certificate(solution, model, _SEED)
    if (reason := check_run(run, model)) is not None:
        raise EvidenceError(f"{run.task} by {construction}: {reason}")
    return Ran(solution, run, model)


def ways(task: Task, more: tuple[str, ...] = ()) -> list[Construction]:
    """The constructions of a task that exist at its size, and some by their text."""
    fitting = []
    for by in (*constructions_for(task), *more):
        try:
            way = construct(task, by)
            way.frame()
        except BadInput:
            continue
        fitting.append(way)
    return fitting


def agrees_with_the_theorems(construction: Construction) -> None:
    """Raises if a theorem excludes the construction's own architecture: bounds may meet but never cross."""
    bound = ruled_out(construction.task, construction.frame().architecture, construction.steps)
    if bound is not None:
        raise EvidenceError(
            f"{construction} does {construction.task}, as a run of every input shows, but {bound.says}"
        )
