"""Builds explicit weights for a task, runs them, and says what that shows."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import lazy_loader
import msgspec

from limen.core.arrays import np
from limen.core.catalogue import identifier
from limen.core.certificate import Run, Solves, encode
from limen.core.construction import Construction, construct
from limen.core.kernel import Accepted, accept
from limen.core.numbers import Precision, Significand
from limen.core.report import Report, Result
from limen.core.task import Task
from limen.core.verdict import answer_of
from limen.core.weights import tensors
from limen.decisions.placement import Offer, files_of, frame_of, solves, unasked
from limen.errors import BadInput, unknown
from limen.model import exhaustive
from limen.model.attention import HeadMap, attention
from limen.model.files import digest, save
from limen.model.last import reads_only_the_embedding
from limen.model.memory import fitting
from limen.model.model import Model
from limen.model.run import batch_size, inputs, least_bytes, payable, run, runnable

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

RUN, CERTIFICATE = "run.json", "certificate.json"  # what is saved beside the weights
_DRAWN = 96  # tokens that can still be told apart in a picture
_FEW = 2**16  # inputs that are all run through without being asked
_WIDTHS, _BITS = 8, 12  # of a frontier: how many widths, and the most significant bits
_FORMATS = "bfloat16", "float32", "float64"  # that the kernel knows
_LOGS = 4, 8, 16, 32, 64, 128, 192  # of sizes that are tried first
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
    def exit_code(self) -> int:
        return 0 if self.correct else 1


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
class Looks:
    """The attention of a construction's model on one hard input, and the columns of its stream."""

    title: str
    width: int
    columns: tuple[tuple[str, int], ...]
    tokens: tuple[int, ...]  # with those that it wrote itself
    maps: tuple[HeadMap, ...]


def looks(construction: Construction, seed: int) -> Looks:
    """The attention of a construction's model; refused, before any run, for too many tokens to show."""
    n = construction.task.length + construction.steps
    if n > _DRAWN:
        raise BadInput(f"a picture shows at most {_DRAWN} tokens, {construction.task} has {n}")
    model = Model.of(construction)
    tokens = torch.as_tensor(construction.task.sample(np.random.default_rng(seed), 1, hard=True)[0][0])
    if construction.steps:
        tokens = torch.cat([tokens, model.decode(tokens, construction.steps)])
    return Looks(
        f"{construction.task} by {construction}",
        model.frame.width,
        construction.columns.sizes,
        tuple(tokens.tolist()),
        attention(model, tokens),
    )


class Least(msgspec.Struct, frozen=True):
    """The least precision or width that still works at one size."""

    task: str
    works: int | None  # every tried input is right from here on
    predicted: int | None  # and here on every input there is, by the construction's own proof


class LeastReport(Report, frozen=True, kw_only=True, tag="limen/solve/1"):
    """The least precision or width that works, at the task's size and at smaller ones."""

    task: str
    construction: str
    smallest: str  # precision or width
    rows: tuple[Least, ...]

    @property
    def headline(self) -> str:
        return f"{self.construction}: least {self.smallest} for {self.task}"

    @property
    def works(self) -> bool:
        """Whether one was found at every size."""
        return all(row.works is not None for row in self.rows)

    @property
    def exit_code(self) -> int:
        return 0 if self.works else 1


class Corner(msgspec.Struct, frozen=True):
    """The fewest significant bits at one width."""

    width: int  # of the code, k
    works: int | None
    predicted: int | None


class FrontierReport(Report, frozen=True, kw_only=True, tag="limen/solve/1"):
    """The least precision at each width: more of the one needs less of the other."""

    task: str
    construction: str
    rows: tuple[Corner, ...]

    @property
    def headline(self) -> str:
        return f"{self.construction}: least precision by width for {self.task}"

    @property
    def works(self) -> bool:
        return any(row.works is not None for row in self.rows)

    @property
    def exit_code(self) -> int:
        return 0 if self.works else 1


class Reach(msgspec.Struct, frozen=True, kw_only=True):
    """How far the kernel follows a construction in one format, at powers of two of one size."""

    precision: str
    task: str | None  # the largest that it accepts; null: none
    log2_size: int | None
    tokens: int | None
    then: str | None  # why it refuses the next power of two; null: no larger one was tried


class RangeReport(Report, frozen=True, kw_only=True, tag="limen/solve/1"):
    """The certified range of a construction, format by format."""

    construction: str
    size: str
    rows: tuple[Reach, ...]

    @property
    def headline(self) -> str:
        return f"{self.construction}: how far it is certified, over {self.size}"

    @property
    def works(self) -> bool:
        return any(row.task is not None for row in self.rows)

    @property
    def exit_code(self) -> int:
        return 0 if self.works else 1


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

    def least(self, smallest: str, over: str | None) -> LeastReport:
        """The least precision, or the least width in this precision."""
        construction, precision = self.construction, runnable(self.precision)
        if smallest == "precision":
            rows = smallest_precision(construction, self.how, self.seed, over)
        elif smallest == "width":
            rows = smallest_width(construction, precision, self.how, self.seed, over)
        else:
            raise BadInput(f"--smallest must be precision, width or precision,width, got {smallest}")
        task, by = str(construction.task), str(construction)
        return LeastReport(task=task, construction=by, smallest=smallest, rows=tuple(rows))


def frontier(construction: Construction, how: int | None, seed: int) -> FrontierReport:
    """The least precision at each width, from the least with different code words to twice the default."""
    _varies(construction)
    default = construction.words.k  # type: ignore[attr-defined]
    least = max(1, (construction.words.N - 1).bit_length())  # type: ignore[attr-defined]
    widths = sorted({least + (2 * default - least) * i // _WIDTHS for i in range(_WIDTHS + 1)})
    rows = tuple(_corner(replace(construction, k=k), k, how, seed) for k in widths)  # type: ignore[call-arg]
    return FrontierReport(task=str(construction.task), construction=str(construction), rows=rows)


def _corner(construction: Construction, k: int, how: int | None, seed: int) -> Corner:
    works = _least(_BITS, lambda t: solve(construction, Significand(t), how, seed=seed)[0].correct)
    return Corner(k, works, _least(_BITS, lambda t: _predicted(construction, Significand(t))))


def _varies(construction: Construction) -> None:
    if "k" not in {f.name for f in fields(construction)}:
        raise BadInput(
            f"{construction}: its width follows from the task; only constructions with an option k vary it"
        )


def certified_range(
    construction: Construction, over: str | None, told: Callable[[str], None] = lambda text: None
) -> RangeReport:
    """The largest power of two that the kernel certifies, for each format, found by halving.

    `told` is told what the kernel is asked about.
    """
    size = _size(construction.task, over)
    rows = tuple(_reach(construction, size, precision, told) for precision in _FORMATS)
    return RangeReport(construction=str(construction), size=size, rows=rows)


def _reach(construction: Construction, size: str, precision: str, told: Callable[[str], None]) -> Reach:
    """The largest certified power of two of one size; the kernel derives each one tried, none between.

    What the kernel is asked about ends somewhere, which costs nothing to find: that far it often goes.
    """
    refused: dict[int, str] = {}

    def held(log: int, by: Callable[[Offer], Solves | str | None]) -> bool:
        try:
            grown = replace(construction, task=replace(construction.task, **{size: 1 << log}))
            reason = by(Offer(grown, False, precision))
        except BadInput as error:
            reason = str(error)
        if isinstance(reason, str):
            refused[log] = reason
        return not isinstance(reason, str)

    def works(log: int) -> bool:
        if not held(log, unasked):
            return False
        told(f"{construction}: {size} = 2^{log} in {precision}")
        return held(log, solves)

    asked = _last(lambda log: held(log, unasked), _LOGS[-1] + 1)
    low = asked if asked and works(asked) else _last(works, asked)
    then = refused.get(low + 1)
    if not low:
        return Reach(precision=precision, task=None, log2_size=None, tokens=None, then=then)
    task = replace(construction.task, **{size: 1 << low})
    return Reach(precision=precision, task=str(task), log2_size=low, tokens=task.length, then=then)


def _last(holds: Callable[[int], bool], below: int) -> int:
    """The last number below one for which something holds, up to which it does; 0 where there is none."""
    high = next((log for log in _LOGS if log < below and not holds(log)), below)
    low = max((log for log in _LOGS if log < high), default=0)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


Knob = Callable[[Construction, int], tuple[Construction, Precision]]  # what to run at one setting


def smallest_precision(
    construction: Construction, how: int | None, seed: int, over: str | None
) -> list[Least]:
    """The fewest significant bits with no wrong answer tried, for sizes up to the task's own."""
    return _smallest(construction, lambda c, t: (c, Significand(t)), 24, how, seed, over)


def smallest_width(
    construction: Construction, precision: Precision, how: int | None, seed: int, over: str | None
) -> list[Least]:
    """The least width `k` of the code with no wrong answer tried, for constructions that leave it open."""
    _varies(construction)

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
    """The least number such that it and all up to `most` work, found from the top down; None if none does."""
    failure = next((number for number in range(most, 0, -1) if not works(number)), 0)
    return failure + 1 if failure < most else None


def _growing(construction: Construction, over: str | None) -> list[Construction]:
    """The construction at an eighth, a quarter, a half and all of one of the task's sizes."""
    task, size = construction.task, _size(construction.task, over)
    whole = getattr(task, size)
    grown = sorted({max(3, whole // part) for part in (8, 4, 2, 1)})
    return [replace(construction, task=replace(task, **{size: n})) for n in grown]


def _size(task: Task, over: str | None) -> str:
    """The size that grows: the one named, or the first."""
    sizes = [f.name for f in fields(task) if type(getattr(task, f.name)) is int]
    if over is not None and over not in sizes:
        raise unknown(f"size of {identifier(task)}", over, sizes)
    return over or sizes[0]
