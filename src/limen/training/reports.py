"""The reports of `limen train`, `limen experiment run` and `limen experiment show`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from limen.core.measurement import Outcome, outcome
from limen.core.report import Report
from limen.training.judged import JudgedCell, Section
from limen.training.limits import limits_of
from limen.training.recipes import Recipe
from limen.training.results import Failure
from limen.training.run import RunResult
from limen.training.spec import Spec
from limen.training.sweep import Swept

THRESHOLD = 0.99  # what a single run must reach to count as learned


class RunReport(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a cell; `learned` is said of the cell, `floor` is its own or what counting reaches."""

    experiment: str
    cell: str
    task: str
    architecture: str
    start: str
    seed: int
    steps: int
    accuracy: float
    drawn: str  # how the inputs are drawn that it is judged on
    best: float
    chance: float
    floor: float
    stop: str
    state_bits: int | None
    held_bits: int | None  # that the nearest theorem counts
    needs_bits: int | None
    provable: bool
    ceiling: float | None  # the accuracy that no weights exceed, where that is proved
    control: str | None
    learned: Outcome  # by at least one seed of the cell
    reached: int  # how many runs of the cell reached the threshold
    seeds: int  # of so many; both from the start from which the largest share did
    shifts: dict[str, float]  # accuracies on other distributions, where they were asked for
    spec: Spec  # everything that decided it
    versions: dict[str, str]
    seconds: float
    date: str
    digest: str


class SummaryReport(msgspec.Struct, frozen=True, kw_only=True):
    """A cell: the accuracies of each start, by seed, and its outcome."""

    cell: str
    best_start: str
    starts: dict[str, tuple[float, ...]]
    besides: dict[str, tuple[float, ...]]  # of an experiment with gates: right on other questions, by run
    mean: float  # of the best start, at the end
    deviation: float
    best: float  # of all looks of all runs
    chance: float
    floor: float
    stops: tuple[str, ...]  # why its runs ended
    state_bits: int | None
    held_bits: int | None  # that the nearest theorem counts
    needs_bits: int | None
    ceiling: float | None  # the accuracy that no weights exceed, where that is proved
    control: str | None
    learned: Outcome  # by at least one seed
    reached: int  # how many runs reached the threshold
    seeds: int  # of so many; both from the start from which the largest share did
    provable: bool
    complete: bool
    recipe: str  # its letter


class ExperimentReport(msgspec.Struct, frozen=True, kw_only=True):
    """The cells of an experiment that have a run, at one size."""

    experiment: str
    size: str
    title: str
    drawn: dict[str, tuple[str, ...]]  # how inputs are drawn, and of which tasks
    cells: tuple[SummaryReport, ...]
    recipes: dict[str, Recipe]  # by letter


class TrainReport(Report, frozen=True, kw_only=True, tag="limen/train/1"):
    """One run.  Alone it has no control, so a failure is no statement; in a grid another run may be one."""

    experiment: str | None
    task: str
    architecture: str
    start: str
    seed: int
    rate: float
    steps: int
    accuracy: float
    judged: int  # fresh inputs
    drawn: str  # how they are drawn; texts of training may ask more questions
    best: float
    chance: float
    floor: float
    rule: str  # that counts tokens and reaches the floor
    stop: str
    state_bits: int | None
    held_bits: int | None  # that the nearest theorem counts
    needs_bits: int | None
    provable: bool
    ceiling: float | None  # the accuracy that no weights exceed, where that is proved
    control: str | None  # the digest of the run of its grid that learned
    learned: Outcome
    versions: dict[str, str]
    shifts: dict[str, float]
    curve: tuple[tuple[int, float, float], ...]  # step, loss, accuracy
    seconds: float
    together: int  # runs that were trained as one
    digest: str
    model: str | UnsetType = UNSET  # the folder it was saved in
    certificate: str | UnsetType = UNSET  # of what this model reaches, for limen check

    @property
    def headline(self) -> str:
        return f"{self.accuracy:.1%} right: {self.task} by {self.architecture}, start {self.start}"


class FailureReport(msgspec.Struct, frozen=True, kw_only=True):
    """A run of a grid that ended without a result."""

    seed: int
    rate: float
    error: str
    digest: str


class GridReport(Report, frozen=True, kw_only=True, tag="limen/train/1"):
    """One task and one stack, trained once for each seed and rate.

    A run that failed is NOT LEARNED where another run of the grid learned in as many steps: seed and rate
    made the difference.  Where none learned, there is no statement.
    """

    experiment: str | None
    task: str
    architecture: str
    seeds: tuple[int, ...]
    rates: tuple[float, ...]
    runs: tuple[TrainReport, ...]  # by seed, then by rate
    failures: tuple[FailureReport, ...]
    folder: str

    @property
    def learned(self) -> int:
        return sum(run.learned is Outcome.LEARNED for run in self.runs)

    @property
    def headline(self) -> str:
        runs = len(self.seeds) * len(self.rates)
        return f"{self.learned} of {runs} runs learned {self.task} by {self.architecture}"

    @property
    def exit_code(self) -> int:
        return 1 if self.failures else 0


class SweepReport(Report, frozen=True, kw_only=True, tag="limen/sweep/1"):
    """The numbers of runs planned, done and failed."""

    experiment: str
    size: str
    specs: int
    done: int
    failed: int
    folder: str

    @property
    def headline(self) -> str:
        runs = f"{self.done} of {self.specs} runs are done, {self.failed} failed"
        return f"{self.experiment}, {self.size}: {runs}"

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0


class ResultsReport(Report, frozen=True, kw_only=True, tag="limen/results/1"):
    """Every run, the cells' outcomes, and the result of a query."""

    experiment: str
    experiments: tuple[ExperimentReport, ...]
    rows: tuple[RunReport, ...]
    found: tuple[dict[str, Any], ...] | UnsetType = UNSET

    @property
    def headline(self) -> str:
        return f"{self.experiment}: {len(self.rows)} runs"


def train_report(
    result: RunResult,
    name: str | None,
    folder: Path | None,
    certificate: Path | None,
    control: RunResult | None = None,
) -> TrainReport:
    m = result.measurement
    bits = limits_of(result.spec)
    learned = outcome([m], None if control is None else [control.measurement], THRESHOLD)
    return TrainReport(
        experiment=name,
        task=m.task,
        architecture=m.architecture,
        start=m.start,
        seed=m.seed,
        rate=result.spec.rate,
        steps=m.steps,
        accuracy=m.accuracy,
        judged=result.spec.judged,
        drawn=result.drawn,
        best=m.best,
        chance=m.chance,
        floor=m.floor,
        rule=result.rule,
        stop=m.stop,
        state_bits=bits.state_bits,
        held_bits=bits.held_bits,
        needs_bits=bits.needs_bits,
        provable=bits.provable,
        ceiling=bits.ceiling,
        control=control.digest if control is not None and learned is Outcome.NOT_LEARNED else None,
        learned=learned,
        versions=dict(m.versions),
        shifts=result.shifts,
        curve=tuple(result.curve),
        seconds=result.made.cpu_seconds,
        together=result.made.together,
        digest=result.digest,
        model=UNSET if folder is None else str(folder),
        certificate=UNSET if certificate is None else str(certificate),
    )


def grid_report(
    specs: Sequence[Spec], kept: Mapping[str, RunResult | Failure], name: str | None, folder: Path
) -> GridReport:
    """The runs of a grid from their results, by digest."""
    ended = [kept[spec.digest] for spec in specs if spec.digest in kept]
    runs = [one for one in ended if isinstance(one, RunResult)]
    reached = [run for run in runs if outcome([run.measurement], None, THRESHOLD) is Outcome.LEARNED]
    control = min(reached, key=lambda run: run.measurement.steps, default=None)
    task, stack = specs[0].read()
    return GridReport(
        experiment=name,
        task=str(task),
        architecture=str(stack),
        seeds=tuple(dict.fromkeys(spec.seed for spec in specs)),
        rates=tuple(dict.fromkeys(spec.rate for spec in specs)),
        runs=tuple(train_report(run, name, None, None, control) for run in runs),
        failures=tuple(
            FailureReport(seed=one.spec.seed, rate=one.spec.rate, error=one.error, digest=one.digest)
            for one in ended
            if isinstance(one, Failure)
        ),
        folder=str(folder),
    )


def sweep_report(names: Iterable[str], size: str, swept: Swept, folder: Path) -> SweepReport:
    return SweepReport(
        experiment=", ".join(names),
        size=size,
        specs=swept.specs,
        done=swept.done,
        failed=swept.failed,
        folder=str(folder),
    )


def experiment_report(section: Section) -> ExperimentReport:
    letters = section.recipes
    return ExperimentReport(
        experiment=section.name,
        size=section.size,
        title=section.experiment.title,
        drawn=section.drawn,
        cells=tuple(
            _summary(one, letters[one.recipe], bool(section.experiment.gates)) for one in section.cells
        ),
        recipes={letter: one for one, letter in letters.items()},
    )


def _summary(one: JudgedCell, letter: str, gates: bool) -> SummaryReport:
    starts = {start: spread.values for start, spread in one.starts.items()}
    kinds, bits = one.runs[0].shifts if gates else (), one.limits
    return SummaryReport(
        cell=one.cell.name,
        best_start=next(start for start, spread in one.starts.items() if spread == one.best),
        starts=starts,
        besides={kind: tuple(run.shifts[kind] for run in one.runs) for kind in kinds},
        mean=one.best.mean,
        deviation=one.best.deviation,
        best=max(m.best for m in one.measurements),
        chance=one.measurements[0].chance,
        floor=one.floor,
        stops=tuple(dict.fromkeys(m.stop for m in one.measurements)),
        state_bits=bits.state_bits,
        held_bits=bits.held_bits,
        needs_bits=bits.needs_bits,
        ceiling=bits.ceiling,
        control=one.cell.control,
        learned=one.outcome,
        reached=one.reached.runs,
        seeds=one.reached.of,
        provable=bits.provable,
        complete=one.complete,
        recipe=letter,
    )


def run_reports(name: str, cells: Iterable[JudgedCell]) -> list[RunReport]:
    return [_run(name, one, run) for one in cells for run in one.runs]


def _run(name: str, one: JudgedCell, run: RunResult) -> RunReport:
    m, bits = run.measurement, one.limits
    return RunReport(
        experiment=name,
        cell=one.cell.name,
        task=m.task,
        architecture=m.architecture,
        start=m.start,
        seed=m.seed,
        steps=m.steps,
        accuracy=m.accuracy,
        drawn=run.drawn,
        best=m.best,
        chance=m.chance,
        floor=one.floor,
        stop=m.stop,
        state_bits=bits.state_bits,
        held_bits=bits.held_bits,
        needs_bits=bits.needs_bits,
        provable=bits.provable,
        ceiling=bits.ceiling,
        control=one.cell.control,
        learned=one.outcome,
        reached=one.reached.runs,
        seeds=one.reached.of,
        shifts=run.shifts,
        spec=run.spec,
        versions=dict(m.versions),
        seconds=run.made.cpu_seconds,
        date=run.made.date,
        digest=run.digest,
    )
