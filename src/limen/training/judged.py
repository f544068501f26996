"""The statements that an experiment's results allow, cell by cell: pure functions of cells and results."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import fsum
from pathlib import Path
from string import ascii_uppercase
from typing import NamedTuple

from limen.core.catalogue import identifier
from limen.core.measurement import (
    Measurement,
    Outcome,
    Reached,
    Spread,
    best_start,
    by_start,
    outcome,
    reached,
)
from limen.core.task import Task
from limen.errors import BadInput
from limen.training.built import BuiltLeast, built_beside
from limen.training.experiment import (
    GATE,
    SHIPPED,
    SIZES,
    Experiment,
    ExperimentCell,
    Finding,
    Published,
    Size,
    experiment,
)
from limen.training.limits import Limits, limits_of
from limen.training.recipes import Recipe, recipe
from limen.training.results import read_lines, results
from limen.training.run import RunResult

Kept = Mapping[str, RunResult]  # by digest


@dataclass(frozen=True)
class JudgedCell:
    """A cell with its runs and its outcome."""

    cell: ExperimentCell
    runs: tuple[RunResult, ...]
    outcome: Outcome
    reached: Reached  # how many of its seeds reached the threshold
    complete: bool  # whether no run of it is missing
    searched: tuple[float, ...] = ()  # its rates, if no run of their search is missing

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
    def shifts(self) -> dict[str, float]:
        """The accuracies of its best start on other inputs: means over the seeds."""
        start = next(start for start, spread in self.starts.items() if spread == self.best)
        runs = [run for run in self.runs if run.spec.start == start]
        return {name: fsum(run.shifts[name] for run in runs) / len(runs) for name in runs[0].shifts}

    @property
    def floor(self) -> float:
        """The accuracy reached without solving the task: by chance, by counting, or the cell's own floor."""
        counted = max(max(run.measurement.floor, run.measurement.chance) for run in self.runs)
        return max(counted, self.cell.floor or 0.0)

    @property
    def limits(self) -> Limits:
        """What is decided about its stack today; a result file has what was known when it was trained."""
        return limits_of(self.runs[0].spec)

    @property
    def recipe(self) -> Recipe:
        """The recipe by which it was trained."""
        return recipe([run.spec for run in self.runs], self.searched)


def judged(study: Experiment, size: Size, kept: Kept) -> list[JudgedCell]:
    """The cells that have a run, with their outcomes; a missing control leaves its cells without one."""
    runs = {cell.name: _runs(cell, kept) for cell in study.cells(size)}
    return [
        JudgedCell(
            cell,
            tuple(runs[cell.name]),
            _outcome(study, runs[cell.name], _control(cell, runs)),
            reached([run.measurement for run in runs[cell.name]], study.threshold),
            len(runs[cell.name]) == len(cell.specs()),
            cell.rates if all(spec.digest in kept for spec in cell.search()) else (),
        )
        for cell in study.cells(size)
        if runs[cell.name]
    ]


def largest(study: Experiment, kept: Kept) -> Size:
    """The largest size that has a run of its own, which no smaller one has, and no fewer cells than those."""
    chosen, seen, most = SIZES[0], set[str](), 0
    for size in SIZES:
        cells = judged(study, size, kept)
        runs = {run.digest for one in cells for run in one.runs}
        if runs - seen and len(cells) >= most:
            chosen, most = size, len(cells)
        seen |= runs
    return chosen


def _runs(cell: ExperimentCell, kept: Kept) -> list[RunResult]:
    return [kept[digest] for digest in (spec.digest for spec in cell.specs()) if digest in kept]


def _outcome(study: Experiment, runs: Sequence[RunResult], control: Sequence[Measurement] | None) -> Outcome:
    """A failure behind a gate that some run did not pass is none of what lies behind it."""
    ungated = outcome([run.measurement for run in runs], control, study.threshold)
    shares = [[share for kind, share in run.shifts.items() if kind in study.gates] for run in runs]
    passed = not study.gates or all(own and min(own) >= GATE for own in shares)
    return Outcome.NO_STATEMENT if ungated is Outcome.NOT_LEARNED and not passed else ungated


def _control(cell: ExperimentCell, runs: Mapping[str, Sequence[RunResult]]) -> list[Measurement] | None:
    return None if cell.control is None else [run.measurement for run in runs[cell.control]]


def by_digest(results: Iterable[RunResult]) -> dict[str, RunResult]:
    return {result.digest: result for result in results}


def kept_in(folder: Path | None, name: str) -> dict[str, RunResult]:
    """The results of an experiment by digest: those of a folder, or the shipped ones."""
    if folder is not None and not folder.is_dir():
        raise BadInput(f"{folder}: no such folder of results")
    if folder is not None:
        return by_digest(results(folder))
    path = SHIPPED / f"{name}.jsonl"
    return by_digest(read_lines(path)) if path.exists() else {}


class Section(NamedTuple):
    """An experiment at the size that is shown."""

    name: str
    experiment: Experiment
    size: Size
    cells: list[JudgedCell]

    @property
    def published(self) -> list[Published]:
        """Others' figures beside ours: ours are of the best start."""
        if self.experiment.published is None:
            return []
        return self.experiment.published(self._accuracies)

    @property
    def statistics(self) -> dict[str, float]:
        """Figures over all cells, by what they are; those that exist at this size."""
        return {} if self.experiment.statistics is None else self.experiment.statistics(self._accuracies)

    @property
    def _accuracies(self) -> dict[str, dict[str, float]]:
        return {one.cell.name: {"accuracy": one.best.mean, **one.shifts} for one in self.cells}

    @property
    def recipes(self) -> dict[Recipe, str]:
        """The recipes of the cells, each with a letter, in order of first use."""
        return dict(zip(dict.fromkeys(one.recipe for one in self.cells), ascii_uppercase, strict=False))

    @property
    def findings(self) -> list[Finding]:
        """The findings with their figures; at another size only those whose cells it has."""
        known = {one.cell.name: one for one in self.cells}
        shown = []
        for finding in self.experiment.shows:
            names = {*finding.cells, *(name for names in finding.rising for name in names)}
            if names <= known.keys():
                self._holds(finding, known)
                shown.append(replace(finding, says=self.told(finding.says)))
        return shown

    def _holds(self, finding: Finding, known: Mapping[str, JudgedCell]) -> None:
        """Raises if the cells of a finding have other outcomes than it needs."""
        for name, needed in finding.cells.items():
            if known[name].outcome is not needed:
                raise BadInput(f"{self.name}: {name} is {known[name].outcome}, not as in: {finding.says}")
        for names in finding.rising:
            if any(known[a].best.mean >= known[b].best.mean for a, b in pairwise(names)):
                raise BadInput(f"{self.name}: not rising in {', '.join(names)}: {finding.says}")

    def told(self, text: str) -> str:
        """The text with each cell named in braces replaced by its figure."""
        return re.sub(r"\{([^{}]+)\}", lambda match: self._figure(match[1]), text)

    def _figure(self, text: str) -> str:
        """The accuracy for `cell`, `cell @ start` or `cell @ other inputs`."""
        name, _, where = text.partition(" @ ")
        judged = next((one for one in self.cells if one.cell.name == name), None)
        if judged is None:
            return "not run"
        starts = {start: spread.mean for start, spread in judged.starts.items()}
        return f"{({'': judged.best.mean} | starts | judged.shifts)[where]:.1%}"

    @property
    def drawn(self) -> dict[str, tuple[str, ...]]:
        """The distributions of the runs' inputs in words, each with the tasks that use it."""
        runs = [run for cell in self.cells for run in cell.runs]
        pairs = dict.fromkeys((run.drawn, identifier(Task.parse(run.spec.task))) for run in runs)
        return {says: tuple(task for s, task in pairs if s == says) for says, _ in pairs}

    @property
    def built(self) -> list[BuiltLeast]:
        """The least precision or width of constructions, for the same question."""
        return built_beside(self.name)


def section(name: str, size: Size | None, folder: Path | None) -> Section:
    """The section of an experiment, from a folder or the shipped results; default: the largest size."""
    study, kept = experiment(name), kept_in(folder, name)
    chosen = largest(study, kept) if size is None else size
    return Section(name, study, chosen, judged(study, chosen, kept))
