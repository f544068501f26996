"""Constructions run: every input of a small size, drawn inputs of a larger one, and as an encoder."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from limen.check.solves import check_solves
from limen.core.architecture import Architecture, Layer
from limen.core.certificate import Solves
from limen.core.construction import Construction, construct, constructions_for
from limen.core.errors import BadInput
from limen.core.files import digest
from limen.core.model import Model
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import tensors
from limen.decide import decide
from limen.mixers.softmax import Softmax
from limen.solve import Solution, certificate, solve
from limen.table.cell import EvidenceError

_PRECISION = "float32"
_SEED = 0


@dataclass(frozen=True)
class Run:
    """Weights, what their run showed, and the certificate that the checker accepted."""

    solution: Solution
    certificate: Solves
    model: Model


@cache
def every_input(construction: Construction) -> Run:
    """All inputs of the task, right; anything else is an error, for these weights are claimed to be right."""
    return _checked(construction, None, every=True)


@cache
def drawn_inputs(construction: Construction, count: int) -> Run:
    """So many plain and as many hard inputs, right."""
    return _checked(construction, count, every=False)


def _checked(construction: Construction, count: int | None, every: bool) -> Run:
    precision = Precision.parse(_PRECISION)
    solution, model = solve(construction, precision, count, every=every, seed=_SEED)
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
    return Run(solution, _accepted(certificate(solution, model, _SEED), model), model)


def _accepted(found: Solves, model: Model) -> Solves:
    if (reason := check_solves(found, model)) is not None:
        raise EvidenceError(f"{found.task} by {found.construction}: {reason}")
    return found


def ways(task: Task, more: tuple[str, ...] = ()) -> list[Construction]:
    """The constructions of a task that exist at its size, and some by their text."""
    found = []
    for by in (*constructions_for(task), *more):
        try:
            way = construct(task, by)
            way.frame()
        except BadInput:
            continue
        found.append(way)
    return found


def agrees_with_the_theorems(construction: Construction) -> None:
    """No theorem excludes the construction's own architecture: bounds may meet but never cross."""
    try:
        verdict = decide(construction.task, construction.frame().architecture, construction.steps)
    except AssertionError as error:
        raise EvidenceError(str(error)) from error
    if verdict.answer == "cannot":
        raise EvidenceError(
            f"{construction} does {construction.task}, as a run of every input shows, but {verdict.reason}"
        )


@cache
def as_encoder(construction: Construction) -> Run | None:
    """The same weights where tokens also see later ones, if every input comes out right there, too."""
    frame = construction.frame()
    mixers = [part.mixer for layer in frame.architecture.layers for part in layer.parts]
    if construction.steps or not all(isinstance(mixer, Softmax) for mixer in mixers):
        return None
    seeing = replace(frame, architecture=bidirectional(frame.architecture))
    model = Model(seeing, tensors(construction.weights()))
    run = every_input(construction)
    claim = Solves(
        task=str(construction.task),
        construction=f"{construction} as an encoder",
        weights=digest(model),
        precision=_PRECISION,
        steps=0,
        exhaustive=True,
        seed=_SEED,
        tried=run.solution.tried,
        margin=0.0,
        certified=None,
    )
    if check_solves(claim, model) is not None:
        return None
    return Run(replace(run.solution, construction=claim.construction, certified=None), claim, model)


def bidirectional(architecture: Architecture) -> Architecture:
    """Every softmax layer sees later tokens as well."""
    layers = []
    for layer in architecture.layers:
        mixers = [replace(part.mixer, bidirectional=True) for part in layer.parts]  # type: ignore[call-arg]
        layers.append(Layer(tuple(replace(p, mixer=m) for p, m in zip(layer.parts, mixers, strict=True))))
    return Architecture(tuple(layers))
