"""An experiment as data: cells, each trained from some starts with some seeds, and the findings.

A cell whose failure is to be reported names its control: another cell, which must succeed in the same budget.
Three sizes: `quick` (all experiments in ten minutes on two cores), `standard` (some hours; the page says how
many minutes its runs took), `full` (a cluster).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from msgspec.structs import replace

from limen.core.catalogue import ids
from limen.core.measurement import Outcome
from limen.core.task import Task
from limen.errors import BadInput, unknown
from limen.training.spec import Spec, Start

Size = Literal["quick", "standard", "full"]
SIZES: tuple[Size, ...] = get_args(Size)
VALIDATION = 100  # the seed on which rates are searched, and no result is taken
GATE = 0.95  # the accuracy that opens a gate
SHIPPED = Path(__file__).parents[1] / "experiments" / "results"


@dataclass(frozen=True)
class ExperimentCell:
    """One stack on one task; `x` and `series` say where it stands in the chart."""

    name: str
    task: str
    architecture: str
    x: float | str
    series: str
    control: str | None = None
    starts: tuple[Start, ...] = ("random",)
    seeds: int = 1
    floor: float | None = None  # what a model reaches that knows all but what the experiment is about
    settings: Mapping[str, Any] = field(default_factory=dict)  # further fields of the spec
    panel: str = ""  # which of several charts it belongs to
    rates: tuple[float, ...] = ()  # that were tried on the validation seed; `settings` has the best of them

    def specs(self) -> list[Spec]:
        """The specs of its runs: every start with every seed."""
        return [self._spec(start, seed) for start in self.starts for seed in range(self.seeds)]

    def search(self) -> list[Spec]:
        """The runs by which its rate was chosen; they are none of its results."""
        return [replace(self._spec(self.starts[0], VALIDATION), rate=rate) for rate in self.rates]

    def _spec(self, start: Start, seed: int) -> Spec:
        return Spec(task=self.task, architecture=self.architecture, start=start, seed=seed, **self.settings)


class Published(NamedTuple):
    """A figure that others published beside ours; no run here was tuned to it."""

    what: str
    theirs: float
    source: str
    ours: float | None  # None: not run
    at: tuple[str, float] | None = None  # its line in the chart, and where it stands there


@dataclass(frozen=True)
class Finding:
    """A sentence, and the cells it rests on with the outcome that each must have for it to be printed.

    `{cell}` in the sentence is that cell's accuracy, `{cell @ word}` the one from a start or on other inputs.
    """

    says: str
    learned: tuple[str, ...] = ()
    not_learned: tuple[str, ...] = ()
    no_statement: tuple[str, ...] = ()
    rising: tuple[tuple[str, ...], ...] = ()  # cells in an order in which their accuracy rises

    @property
    def cells(self) -> dict[str, Outcome]:
        """The outcome that each cell must have."""
        return {
            **dict.fromkeys(self.learned, Outcome.LEARNED),
            **dict.fromkeys(self.not_learned, Outcome.NOT_LEARNED),
            **dict.fromkeys(self.no_statement, Outcome.NO_STATEMENT),
        }


Accuracies = Mapping[str, Mapping[str, float]]  # by cell: "accuracy", and each other distribution


@dataclass(frozen=True)
class Experiment:
    """Cells by size, and in words what they show and what they do not."""

    title: str
    shows: tuple[Finding, ...]
    silent: str  # what it does not show; with figures as in a finding
    x: str  # the title of the axis
    quick: tuple[ExperimentCell, ...]
    standard: tuple[ExperimentCell, ...]
    full: tuple[ExperimentCell, ...]
    threshold: float = 0.99  # the accuracy that counts as learned
    gates: tuple[str, ...] = ()  # on what else a run must be right, where it has it, for its failure to count
    published: Callable[[Accuracies], list[Published]] | None = None
    statistics: Callable[[Accuracies], dict[str, float]] | None = None  # figures over all cells
    came_about: tuple[str, ...] = ()  # which settings were changed after results had been seen
    differences: str = ""  # why others' figures may differ
    beside: str = ""  # the title of the axis along which they stand
    above_floor: bool = False  # whether the chart shows (accuracy - floor) / (1 - floor)
    shifted: bool = False  # whether it shows the accuracies on other distributions

    def __post_init__(self) -> None:
        for size in SIZES:
            cells = {cell.name: cell for cell in self.cells(size)}
            if len(cells) < len(self.cells(size)):
                raise BadInput(f"{self.title}, {size}: two cells have the same name")
            for cell in cells.values():
                if cell.control is not None and cell.control not in cells:
                    raise BadInput(f"{self.title}, {size}: {cell.name} has no control {cell.control!r}")

    def cells(self, size: Size) -> tuple[ExperimentCell, ...]:
        return {"quick": self.quick, "standard": self.standard, "full": self.full}[size]

    def specs(self, size: Size) -> list[Spec]:
        """All runs, those of the search for rates last."""
        cells = self.cells(size)
        return [*(s for cell in cells for s in cell.specs()), *(s for cell in cells for s in cell.search())]


def experiment(name: str) -> Experiment:
    """The experiment with this id."""
    if name not in ids("experiments"):
        raise unknown("experiment", name, ids("experiments"))
    declared: Experiment = import_module(f"limen.experiments.{name}").EXPERIMENT
    return declared


def named(names: Iterable[str]) -> dict[str, Experiment]:
    """The experiments with these ids; `all` stands for every one."""
    wanted = [other for name in names for other in (ids("experiments") if name == "all" else [name])]
    return {name: experiment(name) for name in dict.fromkeys(wanted)}


def size_of(word: str) -> Size:
    for size in SIZES:
        if word == size:
            return size
    raise unknown("size", word, SIZES)


def spec_of(
    what: str, architecture: str | None, cell: str | None, size: str, settings: dict[str, Any]
) -> Spec:
    """The spec of a cell of an experiment, or of a task and a stack; `settings` override it."""
    if what not in ids("experiments"):
        if architecture is None and Task.names(what):
            raise BadInput(f"{what} is a task, so give an architecture as well: limen train {what} softmax")
        if architecture is None:
            raise unknown("experiment or task", what, [*ids("experiments"), *ids("tasks")])
        if cell is not None:
            raise BadInput(f"{what} is no experiment, so it has no cells: leave out --cell")
        return Spec(task=what, architecture=architecture, **settings)
    if architecture is not None:
        raise BadInput(f"{what} is an experiment, its cells have their own stacks: choose one by --cell")
    cells = {one.name: one for one in experiment(what).cells(size_of(size))}
    name = next(iter(cells)) if cell is None else cell
    if name not in cells:
        raise unknown(f"cell of {what}", name, cells)
    one = cells[name]
    told = {"task": one.task, "architecture": one.architecture, "start": one.starts[0]}
    return Spec(**(told | dict(one.settings) | settings))
