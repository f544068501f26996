"""The least precision or width with which a construction still works, tried from the top down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import msgspec

from limen.core.catalogue import identifier
from limen.core.construction import Construction
from limen.core.numbers import Precision, Significand
from limen.core.report import Report
from limen.core.task import Task
from limen.errors import BadInput, unknown
from limen.model.run import runnable
from limen.solutions.run import Attempt, solve

_WIDTHS, _BITS = 8, 12  # of a frontier: how many widths, and the most significant bits


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
    def holds(self) -> bool:
        """Whether one was found at every size."""
        return all(row.works is not None for row in self.rows)


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
    def holds(self) -> bool:
        return any(row.works is not None for row in self.rows)


def least(attempt: Attempt, smallest: str, over: str | None) -> LeastReport:
    """The least precision, or the least width in the attempt's precision."""
    construction, precision = attempt.construction, runnable(attempt.precision)
    if smallest == "precision":
        rows = smallest_precision(construction, attempt.how, attempt.seed, over)
    elif smallest == "width":
        rows = smallest_width(construction, precision, attempt.how, attempt.seed, over)
    else:
        raise BadInput(f"--smallest must be precision, width or precision,width, got {smallest}")
    task, by = str(construction.task), str(construction)
    return LeastReport(task=task, construction=by, smallest=smallest, rows=tuple(rows))


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


def _growing(construction: Construction, over: str | None) -> Iterator[Construction]:
    """The construction at an eighth, a quarter, a half and all of one size of its task, where it exists."""
    task, size = construction.task, size_of(construction.task, over)
    for n in sorted({n for part in (8, 4, 2) if (n := task.sizes[size] // part) >= 3}):
        try:
            smaller = replace(construction, task=task.resized(size, n))
        except BadInput:  # a Dyck word has an even length
            continue
        yield smaller
    yield construction


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


def size_of(task: Task, over: str | None) -> str:
    """The size that grows: the one named, or the first."""
    if over is not None and over not in task.sizes:
        raise unknown(f"size of {identifier(task)}", over, task.sizes)
    return over or next(iter(task.sizes))
