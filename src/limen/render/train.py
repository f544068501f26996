"""`limen train`: its progress on standard error, and what it found, for people."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET

from limen.core.measurement import Outcome

if TYPE_CHECKING:
    from limen.training.reports import TrainReport
    from limen.training.train import Seen, Watch

STOPS = {
    "target": "the target",
    "proved": "a proof that it is right on every input",
    "schedule": "the end of the schedule",
    "diverged": "a loss that is not a number",
}
VERDICT = {
    Outcome.LEARNED: "LEARNED in this budget",
    Outcome.NOT_LEARNED: "NOT LEARNED in this budget",
    Outcome.NO_STATEMENT: (
        "no statement: a single failure may be the optimiser's fault; experiments add a control"
    ),
}


def lines_of(report: TrainReport) -> list[str]:
    lines = [
        f"{report.task}  by  {report.architecture}",
        f"  {report.accuracy:.1%} right on {report.judged:,} fresh inputs at the end; "
        f"best during training {report.best:.1%}"
        f"   (chance {report.chance:.1%}, a rule that only counts tokens {report.floor:.1%}: {report.rule})",
        f"  inputs: texts {report.drawn}",
        f"  start {report.start}, seed {report.seed}, {report.steps:,} steps   "
        f"(stopped by {STOPS[report.stop]}, one core, {report.seconds:.0f} s)",
        f"  {_bits(report)}",
    ]
    if report.shifts:
        shifted = ", ".join(f"{name} {accuracy:.1%}" for name, accuracy in report.shifts.items())
        lines.append(f"  on other inputs: {shifted}")
    lines.append(f"  {VERDICT[report.learned]}")
    return lines if report.model is UNSET else [*lines, f"  the model: {report.model}"]


def _bits(report: TrainReport) -> str:
    """Both sides, and whether a theorem rules this cell out."""
    state, needs = report.state_bits, report.needs_bits
    has = "a layer keeps every token" if state is None else f"{state:,} bits cross the cut"
    required = "" if needs is None else f", a theorem requires {needs:,}"
    return f"{has}{required}{': proved impossible' if report.provable else ''}"


@contextmanager
def steps_bar(total: int, watched: bool) -> Iterator[Watch]:
    """On standard error: a bar for a terminal, otherwise a line at each look."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    terminal = watched and sys.stderr.isatty()
    columns = BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not terminal) as bar:
        task = bar.add_task("", total=total)

        def watch(seen: Seen) -> None:
            progress = (
                f"{seen.step:,}/{total:,}  loss {seen.loss:.3f}  {seen.accuracy:.1%}  {seen.rate:.0f} steps/s"
            )
            bar.update(task, completed=seen.step, description=progress)
            if watched and not terminal:
                left = f"  at most {(total - seen.step) / seen.rate:.0f} s left" if seen.rate else ""
                sys.stderr.write(f"{progress}{left}\n")

        yield watch
