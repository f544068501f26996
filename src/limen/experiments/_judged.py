"""What the results of an experiment say, cell by cell: pure functions of cells and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limen.core.measurement import Measurement, Outcome, Spread, best_start, by_start, outcome
from limen.experiments._experiment import SHIPPED, SIZES, Cell, Experiment, Size
from limen.training.results import read_lines, results
from limen.training.run import Result

Kept = Mapping[str, Result]  # by digest


@dataclass(frozen=True)
class Judged:
    """A cell with its runs and what may be said of it."""

    cell: Cell
    runs: tuple[Result, ...]
    outcome: Outcome
    complete: bool  # whether no run of it is missing

    @property
    def measurements(self) -> list[Measurement]:
        return [run.measurement for run in self.runs]

    @property
    def best(self) -> Spread:
        """The accuracies of its best start."""
        return best_start(self.measurements)

    @property
    def starts(self) -> dict[str, Spread]:
        return by_start(self.measurements)

    @property
    def floor(self) -> float:
        """What is reached without what the experiment is about."""
        counted = max(run.measurement.floor for run in self.runs)
        return max(counted, self.cell.floor or 0.0)

    @property
    def provable(self) -> bool:
        return self.runs[0].measurement.provable


def judged(experiment: Experiment, size: Size, kept: Kept) -> list[Judged]:
    """The cells that have a run; a missing control leaves its cells without a statement."""
    runs = {cell.name: _runs(cell, kept) for cell in experiment.cells(size)}
    return [
        Judged(
            cell,
            tuple(runs[cell.name]),
            outcome([run.measurement for run in runs[cell.name]], _control(cell, runs), experiment.threshold),
            len(runs[cell.name]) == len(cell.specs()),
        )
        for cell in experiment.cells(size)
        if runs[cell.name]
    ]


def largest(experiment: Experiment, kept: Kept) -> Size:
    """The largest size with a run that no smaller one has."""
    found, seen = SIZES[0], set[str]()
    for size in SIZES:
        own = {spec.digest for spec in experiment.specs(size)} - seen
        if own & kept.keys():
            found = size
        seen |= own
    return found


def _runs(cell: Cell, kept: Kept) -> list[Result]:
    return [kept[digest] for digest in (spec.digest for spec in cell.specs()) if digest in kept]


def _control(cell: Cell, runs: Mapping[str, Sequence[Result]]) -> list[Measurement] | None:
    return None if cell.control is None else [run.measurement for run in runs[cell.control]]


def by_digest(found: Iterable[Result]) -> dict[str, Result]:
    return {result.digest: result for result in found}


def kept_in(folder: Path | None, name: str) -> dict[str, Result]:
    """The results of an experiment: of a folder, or those that are shipped."""
    if folder is not None:
        return by_digest(results(folder))
    path = SHIPPED / f"{name}.jsonl"
    return by_digest(read_lines(path)) if path.exists() else {}


def row(name: str, one: Judged, run: Result) -> dict[str, Any]:
    """One run in the fields that scripts rely on."""
    m = run.measurement
    return {
        "experiment": name,
        "cell": one.cell.name,
        "task": m.task,
        "architecture": m.architecture,
        "start": m.start,
        "seed": m.seed,
        "steps": m.steps,
        "accuracy": m.accuracy,
        "best": m.best,
        "chance": m.chance,
        "floor": one.floor,
        "stop": m.stop,
        "state_bits": m.state_bits,
        "needs_bits": m.needs_bits,
        "provable": m.provable,
        "control": one.cell.control,
        "learned": one.outcome.value,
        "versions": dict(m.versions),
        "seconds": run.made.cpu_seconds,
        "date": run.made.date,
        "digest": run.digest,
    }


def rows(name: str, found: Iterable[Judged]) -> list[dict[str, Any]]:
    return [row(name, one, run) for one in found for run in one.runs]
