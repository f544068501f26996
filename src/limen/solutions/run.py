"""Builds the weights of a construction, runs them, and says what that shows."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from math import inf
from pathlib import Path

from limen.core.certificate import Run, Solves, encode
from limen.core.construction import Construction, construct
from limen.core.kernel import Accepted, accept
from limen.core.numbers import Precision
from limen.core.report import Report, Result
from limen.core.task import Task
from limen.core.verdict import answer_of
from limen.core.weights import tensors
from limen.decisions.placement import Offer, files_of, frame_of, solves
from limen.errors import BadInput
from limen.model import exhaustive
from limen.model.files import digest, save
from limen.model.last import reads_only_the_embedding
from limen.model.memory import fitting
from limen.model.model import Model
from limen.model.run import batch_size, inputs, least_bytes, payable, run, runnable

RUN, CERTIFICATE = "run.json", "certificate.json"  # what is saved beside the weights
_FEW = 2**16  # inputs that are all run through without being asked
_TOKENS = 2**21  # tokens worth drawing when nobody says how many inputs


class SolveReport(Report, frozen=True, kw_only=True, tag="limen/solve/1"):
    """A solution as plain data."""

    task: str
    construction: str
    precision: str
    tried: int
    wrong: int
    exhaustive: bool
    margin: float | None  # the least seen; null where there is one answer only
    certified: float | None
    predicted: float | None
    layers: int
    heads: int
    width: int
    head_dim: int
    steps: int
    seconds: float
    correct: bool
    standing: str

    @property
    def headline(self) -> str:
        return f"{self.task} by {self.construction}, {self.precision}: {self.wrong} of {self.tried:,} wrong"

    @property
    def holds(self) -> bool:
        return self.correct


@dataclass(frozen=True, repr=False)
class Solution(Result):
    """A construction with its sizes and the results of its run."""

    task: str
    construction: str
    precision: str
    tried: int
    wrong: int
    exhaustive: bool
    margin: float
    predicted: float | None  # on every input, by the construction's own proof: argued, not checked
    layers: int
    heads: int
    width: int
    head_dim: int
    steps: int
    seconds: float
    proof: Accepted | None  # that it is right on every input

    @property
    def certified(self) -> float | None:
        """The least margin on every input, derived by the kernel from the weights."""
        proof = self.proof and self.proof.certificate
        return float(Fraction(proof.margin)) if isinstance(proof, Solves) else None

    @property
    def correct(self) -> bool:
        return self.wrong == 0

    @property
    def standing(self) -> str:
        """The verdict in words: right on every input by the kernel, run on all or on some; or wrong."""
        if not self.correct:
            return "wrong"
        if self.proof is not None:
            return answer_of(self.proof).value
        return "every input run" if self.exhaustive else "built, sampled"

    @property
    def headline(self) -> str:
        return self.report.headline

    @property
    def report(self) -> SolveReport:
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "proof"}
        values |= {"margin": None if self.margin == inf else self.margin, "certified": self.certified}
        return SolveReport(**values, correct=self.correct, standing=self.standing)


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
    """The solution after a run on all inputs (`every`, or where they are few), or `how` plain and hard ones.

    `progress` is called with the number of inputs just run and the number to run.  In an encoder tokens see
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
    batch = min(total, batch_size(model, task, construction.steps))
    n = task.length + construction.steps
    fitting(str(task), n, lambda n: least_bytes(model, task, precision, n, batch))
    drawn = inputs(task, None if every else how, seed, batch)
    seen = run(model, task, precision, drawn, construction.steps, lambda more: progress(more, total))
    mixers = [part.mixer for layer in model.frame.architecture.layers for part in layer.parts]
    solution = Solution(
        task=str(task),
        construction=str(construction),
        precision=str(precision),
        tried=seen.tried,
        wrong=seen.wrong,
        exhaustive=every,
        margin=seen.margin,
        predicted=construction.margin(precision),
        layers=len(model.frame.architecture.layers),
        heads=max(getattr(m, "h", 1) for m in mixers),
        width=model.frame.width,
        head_dim=max(max(getattr(m, "d", 0), getattr(m, "d_k", None) or 0) for m in mixers),
        steps=construction.steps,
        proof=proved(construction, str(precision), encoder),
        seconds=time.perf_counter() - start,
    )
    return solution, model


def _worth_drawing(task: Task, model: Model) -> int:
    """The number of inputs that take some seconds: work grows with n, or n² where all positions are run."""
    n = task.length
    work = n if reads_only_the_embedding(model) else n * max(1, n // 64)
    return max(2, min(128, _TOKENS // work))


def proved(construction: Construction, precision: str, encoder: bool = False) -> Accepted | None:
    """The accepted certificate that the construction is right on every input; None if there is none."""
    offered = Offer(construction, encoder, precision)
    proof = solves(offered)
    accepted = accept(proof, files_of(offered)) if isinstance(proof, Solves) else None
    return accepted if isinstance(accepted, Accepted) else None


def certificate(solution: Solution, model: Model, seed: int) -> Run:
    """The certificate of the run; with a single possible answer its margin is infinite."""
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


def saved(solution: Solution, model: Model, folder: Path, seed: int) -> None:
    """Writes the model, run.json, and certificate.json (kernel proof, else the run)."""
    seen = encode(certificate(solution, model, seed))
    proof = seen if solution.proof is None else solution.proof.content
    save(model, folder, (RUN, seen), (CERTIFICATE, proof))


@dataclass(frozen=True)
class Attempt:
    """The arguments of `limen solve`, as text; the task may be at hand already."""

    task: str | Task
    by: str | None = None
    precision: str = "float32"
    check: str | None = None  # exhaustive, or how many plain and as many hard inputs
    seed: int = 0

    @property
    def construction(self) -> Construction:
        task = Task.parse(self.task) if isinstance(self.task, str) else self.task
        return construct(task, self.by)

    @property
    def how(self) -> int | None:
        """The number of inputs to draw; None: not given, or all."""
        if self.check in (None, "exhaustive"):
            return None
        if not re.fullmatch("[0-9]{1,18}", str(self.check)):
            raise BadInput(f"--check must be exhaustive or a number of inputs, got {self.check}")
        return int(str(self.check))

    def run(self, progress: Callable[[int, int], None] = lambda more, total: None) -> tuple[Solution, Model]:
        """The solution and the model after a run."""
        every = self.check == "exhaustive"
        how, precision = self.how, runnable(self.precision)
        return solve(self.construction, precision, how, every=every, seed=self.seed, progress=progress)
