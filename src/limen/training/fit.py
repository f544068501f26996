"""Fits the law of law.py, one number η for each mixer, to runs of training.

A cell is a task and a stack; of its runs the best counts, so seeds and rates are searched, not averaged.
Cells count that say something of η: one layer of one matrix memory, whose numbers are not cut to p bits,
trained for 700 steps or to its target, with an accuracy that is neither near chance nor near 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from math import exp, log, sqrt
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.mixer import Mixer
from limen.core.report import Report
from limen.core.task import Task
from limen.training.law import accuracy, energy

if TYPE_CHECKING:
    from limen.training.run import RunResult
    from limen.training.spec import Spec

Keys = Literal["fixed", "anew"]
KEYS: Mapping[str, Keys] = {"index": "fixed", "retrieval": "anew"}  # tasks with key and value in one token
# Where the law was tried before these runs were looked at: steps, accuracy, numbers in the state, length.
_LEAST_STEPS = 700
_LOW, _HIGH = 0.06, 0.997  # beyond these an accuracy hardly depends on η
SMALLEST, LARGEST, LONGEST = 16, 2048, 160


class FittedCell(msgspec.Struct, frozen=True, kw_only=True):
    """What the best of some runs reached, beside the law with the mixer's η."""

    task: str
    architecture: str
    n: int
    symbols: int  # that a value may be
    numbers: int  # in the state's matrices
    steps: int
    runs: int
    accuracy: float
    eta: float  # of this cell alone
    law: float  # the accuracy that the mixer's η gives


class Fitted(msgspec.Struct, frozen=True, kw_only=True):
    """η of a mixer for one kind of keys: the geometric mean of its cells, with what is left over."""

    mixer: str
    keys: Keys
    eta: float
    lowest: float  # cell
    highest: float
    residual: float  # root mean square of (accuracy - law)
    cells: tuple[FittedCell, ...]

    @property
    def numbers(self) -> tuple[int, int]:
        """The smallest and the largest state of its cells."""
        sizes = [cell.numbers for cell in self.cells]
        return min(sizes), max(sizes)

    @property
    def runs(self) -> int:
        return sum(cell.runs for cell in self.cells)


class FitReport(Report, frozen=True, kw_only=True, tag="limen/experiment fit/1"):
    """The fits of all mixers that have cells."""

    experiment: str
    fits: tuple[Fitted, ...]

    @property
    def headline(self) -> str:
        cells = sum(len(one.cells) for one in self.fits)
        return f"{self.experiment}: {len(self.fits)} fits to {cells} cells of small runs, not theorems"


class _Asked(NamedTuple):
    """A run in the law's terms."""

    mixer: str
    keys: Keys
    n: int
    symbols: int
    numbers: int


def matrix_numbers(mixer: Mixer) -> int | None:
    """The numbers of a mixer's matrices, without normaliser and convolution; None: not of this kind."""
    known = {"linear", "gated_linear", "delta", "gated_delta", "kda", "retnet", "rwkv7"}
    name = identifier(mixer)
    if name in known or name == "log_linear":  # of log_linear one matrix a head is left at n = 2^r
        return int(mixer.h * mixer.key_size * mixer.d)  # type: ignore[attr-defined]
    if name == "mamba2":
        return int(mixer.h * mixer.d * mixer.s)  # type: ignore[attr-defined]
    return None


def first(numbers: int, keys: Keys) -> float:
    """n₀: so many are answered before any noise."""
    return sqrt(numbers) if keys == "fixed" else 1.0


def _in_the_law(spec: Spec) -> _Asked | None:
    """None where the law says nothing of such a run, or where it was cut short."""
    if spec.task.partition("(")[0] not in KEYS or spec.hard:
        return None
    task, stack = Task.parse(spec.task), Architecture.parse(spec.architecture)
    parts = [part for layer in stack.layers for part in layer.parts]
    if len(parts) != 1 or parts[0].p is not None:
        return None
    numbers = matrix_numbers(parts[0].mixer)
    if numbers is None:
        return None
    symbols = task.V if spec.task.startswith("retrieval") else task.S  # type: ignore[attr-defined]
    return _Asked(identifier(parts[0].mixer), KEYS[identifier(task)], task.n, symbols, numbers)  # type: ignore[attr-defined]


def fits(runs: Iterable[RunResult]) -> tuple[Fitted, ...]:
    """η of every mixer that has cells, by keys and mixer."""
    cells: dict[tuple[str, str], list[RunResult]] = defaultdict(list)
    for run in runs:
        if run.spec.steps >= _LEAST_STEPS or run.measurement.stop == "target":
            cells[run.spec.task, run.spec.architecture].append(run)
    by: dict[tuple[Keys, str], list[tuple[_Asked, list[RunResult]]]] = defaultdict(list)
    for same in cells.values():
        run_size = _in_the_law(same[0].spec)
        if run_size is not None and _tells(run_size, _best(same).measurement.accuracy):
            by[run_size.keys, run_size.mixer].append((run_size, same))
    return tuple(_fitted(keys, mixer, by[keys, mixer]) for keys, mixer in sorted(by))


def _tells(run_size: _Asked, reached: float) -> bool:
    inside = SMALLEST <= run_size.numbers <= LARGEST and run_size.n <= LONGEST
    return inside and _LOW < reached < _HIGH


def _best(runs: list[RunResult]) -> RunResult:
    return max(runs, key=lambda run: run.measurement.accuracy)


def _fitted(keys: Keys, mixer: str, members: list[tuple[_Asked, list[RunResult]]]) -> Fitted:
    etas = [
        energy(_best(runs).measurement.accuracy, one.symbols)
        * max(one.n - first(one.numbers, keys), 1.0)
        / one.numbers
        for one, runs in members
    ]
    eta = exp(sum(map(log, etas)) / len(etas))
    cells = []
    for (one, runs), own in zip(members, etas, strict=True):
        best, more = _best(runs), max(one.n - first(one.numbers, keys), 1.0)
        cells.append(
            FittedCell(
                task=best.spec.task,
                architecture=best.spec.architecture,
                n=one.n,
                symbols=one.symbols,
                numbers=one.numbers,
                steps=best.spec.steps,
                runs=len(runs),
                accuracy=best.measurement.accuracy,
                eta=own,
                law=accuracy(eta * one.numbers / more, one.symbols),
            )
        )
    return Fitted(
        mixer=mixer,
        keys=keys,
        eta=eta,
        lowest=min(etas),
        highest=max(etas),
        residual=sqrt(sum((cell.accuracy - cell.law) ** 2 for cell in cells) / len(cells)),
        cells=tuple(sorted(cells, key=lambda cell: (cell.numbers, cell.n))),
    )
