"""Builds explicit weights for a task, runs them, and says what that shows: `limen solve`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from limen.core.catalogue import identifier
from limen.core.certificate import Run, Solves
from limen.core.construction import Construction
from limen.core.errors import BadInput, unknown
from limen.core.numbers import Precision, Significand
from limen.core.weights import tensors
from limen.model import exhaustive
from limen.model.files import digest
from limen.model.last import reads_only_the_embedding
from limen.model.model import Model
from limen.model.run import batch_size, inputs, payable, run
from limen.placement import Offer, frame_of, solves

if TYPE_CHECKING:
    from limen.core.task import Task

_FEW = 2**16  # inputs that are all run through without being asked
_TOKENS = 2**21  # tokens worth drawing when nobody says how many inputs


@dataclass(frozen=True)
class Solution:
    """What a construction is and what its run showed."""

    task: str
    construction: str
    precision: str
    tried: int
    wrong: int
    exhaustive: bool
    margin: float
    certified: float | None  # on every input, derived by the kernel from the weights
    predicted: float | None  # on every input, by the construction's own proof: argued, not checked
    layers: int
    heads: int
    width: int
    head_dim: int
    steps: int
    seconds: float

    @property
    def correct(self) -> bool:
        return self.wrong == 0

    @property
    def standing(self) -> str:
        """What is known: right on every input, by the kernel; each was run; a sample was; wrong."""
        if not self.correct:
            return "wrong"
        if self.certified is not None:
            return "can"
        return "every input run" if self.exhaustive else "built, sampled"


def solve(
    construction: Construction,
    precision: Precision,
    how: int | None = None,
    *,
    every: bool = False,
    seed: int = 0,
    encoder: bool = False,
    progress: Callable[[int, int], None] = lambda more, total: None,
) -> tuple[Solution, Model]:
    """Runs all inputs (`every`, or where they are few), or `how` plain and as many hard ones.

    `progress` is told how many inputs were just run, and how many there are to run.  In an encoder tokens see
    later ones.
    """
    task, start = construction.task, time.perf_counter()
    task.drawable()
    frame = frame_of(Offer(construction, encoder, str(precision)))
    frame.affordable()
    model = Model(frame, tensors(construction.weights()))
    every = every or (how is None and exhaustive.count(task) <= _FEW)
    if not every and how is None:
        how = _worth_drawing(task, model)
    total = exhaustive.count(task) if every or how is None else 2 * how
    payable(model, task, construction.steps, total)
    drawn = inputs(task, None if every else how, seed, batch_size(model, task, construction.steps))
    seen = run(model, task, precision, drawn, construction.steps, lambda more: progress(more, total))
    proof = proved(construction, str(precision), encoder)
    mixers = [part.mixer for layer in model.frame.architecture.layers for part in layer.parts]
    solution = Solution(
        task=str(task),
        construction=str(construction),
        precision=str(precision),
        tried=seen.tried,
        wrong=seen.wrong,
        exhaustive=every,
        margin=seen.margin,
        certified=float(Fraction(proof.margin)) if proof is not None else None,
        predicted=construction.margin(precision),
        layers=len(model.frame.architecture.layers),
        heads=max(getattr(m, "h", 1) for m in mixers),
        width=model.frame.width,
        head_dim=max(max(getattr(m, "d", 0), getattr(m, "d_k", None) or 0) for m in mixers),
        steps=construction.steps,
        seconds=time.perf_counter() - start,
    )
    return solution, model


def _worth_drawing(task: Task, model: Model) -> int:
    """As many inputs as take some seconds: the work grows with n, or with n² where all positions are run."""
    n = task.length
    work = n if reads_only_the_embedding(model) else n * max(1, n // 64)
    return max(2, min(128, _TOKENS // work))


def proved(construction: Construction, precision: str, encoder: bool = False) -> Solves | None:
    """The certificate that the kernel accepts: right on every input."""
    proof = solves(Offer(construction, encoder, precision))
    return proof if isinstance(proof, Solves) else None


def certificate(solution: Solution, model: Model, seed: int) -> Run:
    """What the run showed; where there is one answer only, its margin has no end."""
    return Run(
        task=solution.task,
        weights=digest(model),
        precision=solution.precision,
        steps=solution.steps,
        exhaustive=solution.exhaustive,
        seed=seed,
        tried=solution.tried,
        margin=min(solution.margin, sys.float_info.max).hex(),
    )


@dataclass(frozen=True)
class Least:
    """The least precision or width that still works at one size."""

    task: str
    works: int | None  # every tried input is right from here on
    predicted: int | None  # and here on every input there is, by the construction's own proof


Knob = Callable[[Construction, int], tuple[Construction, Precision]]  # what to run at one setting


def smallest_precision(
    construction: Construction, how: int | None, seed: int, over: str | None
) -> list[Least]:
    """For sizes up to the task's own, the fewest significant bits with which no tried answer is wrong."""
    return _smallest(construction, lambda c, t: (c, Significand(t)), 24, how, seed, over)


def smallest_width(
    construction: Construction, precision: Precision, how: int | None, seed: int, over: str | None
) -> list[Least]:
    """The same for the width `k` of the code, for constructions that leave it open."""
    if "k" not in {f.name for f in fields(construction)}:
        raise BadInput(
            f"{construction}: its width follows from the task; only constructions with an option k vary it"
        )

    def knob(c: Construction, k: int) -> tuple[Construction, Precision]:
        return replace(c, k=k), precision  # type: ignore[call-arg]

    return _smallest(construction, knob, 64, how, seed, over)


def _smallest(
    construction: Construction, knob: Knob, most: int, how: int | None, seed: int, over: str | None
) -> list[Least]:
    def row(c: Construction) -> Least:
        works = _least(most, lambda x: solve(*knob(c, x), how, seed=seed)[0].correct)
        return Least(str(c.task), works, _least(most, lambda x: _predicted(*knob(c, x))))

    return [row(smaller) for smaller in _growing(construction, over)]


def _predicted(construction: Construction, precision: Precision) -> bool:
    return construction.margin(precision) is not None


def _least(most: int, works: Callable[[int], bool]) -> int | None:
    """The least number from which on all up to `most` work: from the top down to the first that does not."""
    failure = next((number for number in range(most, 0, -1) if not works(number)), 0)
    return failure + 1 if failure < most else None


def _growing(construction: Construction, over: str | None) -> list[Construction]:
    """The construction at an eighth, a quarter, a half and all of one of the task's sizes."""
    task = construction.task
    sizes = [f.name for f in fields(task) if type(getattr(task, f.name)) is int]
    if over is not None and over not in sizes:
        raise unknown(f"size of {identifier(task)}", over, sizes)
    size = over or sizes[0]
    whole = getattr(task, size)
    grown = sorted({max(3, whole // part) for part in (8, 4, 2, 1)})
    return [replace(construction, task=replace(task, **{size: n})) for n in grown]
