"""`limen train`: its progress on standard error, and what it found, for people."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET

from limen.core.measurement import Outcome
from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.training.reports import GridReport, TrainReport
    from limen.training.train import Seen, Watch

STOPS = {
    "target": "the target",
    "proved": "a proof that it is right on every input",
    "schedule": "the end of the schedule",
    "diverged": "a loss that is not a number",
}
_SHORT = {
    Outcome.LEARNED: "LEARNED",
    Outcome.NOT_LEARNED: "NOT LEARNED",
    Outcome.NO_STATEMENT: "no statement",
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
    lines += [] if report.model is UNSET else [f"  the model: {report.model}"]
    return (
        lines
        if report.certificate is UNSET
        else [*lines, f"  check it with: limen check {report.certificate}"]
    )


def grid_lines(report: GridReport) -> list[str]:
    """A row for each seed and a column for each rate, and what all runs have in common."""
    cells = {(run.seed, run.rate): f"{_SHORT[run.learned]} {run.accuracy:.1%}" for run in report.runs}
    cells |= {(one.seed, one.rate): "failed" for one in report.failures}
    rows = [["seed", *(f"rate {rate:g}" for rate in report.rates)]]
    rows += [
        [str(seed), *(cells.get((seed, rate), "not run") for rate in report.rates)] for seed in report.seeds
    ]
    rows.append(["learned", *(_learned(report, rate) for rate in report.rates)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = ["   ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines = [f"{report.task}  by  {report.architecture}", *_in_common(report)]
    lines += ["", *(f"  {line}" for line in table), "", *(f"  {line}" for line in _conclusion(report))]
    return lines


def _in_common(report: GridReport) -> list[str]:
    """The lines that are the same for all runs."""
    if not report.runs:
        return []
    run = report.runs[0]
    return [
        f"  right on {run.judged:,} fresh inputs at the end   (chance {run.chance:.1%}, "
        f"a rule that only counts tokens {run.floor:.1%}: {run.rule})",
        f"  inputs: texts {run.drawn}",
        f"  start {run.start}, at most {max(run.steps for run in report.runs):,} steps",
        f"  {_bits(run)}",
    ]


def _learned(report: GridReport, rate: float) -> str:
    runs = [run for run in report.runs if run.rate == rate]
    return f"{sum(run.learned is Outcome.LEARNED for run in runs)} of {len(runs)}"


def _conclusion(report: GridReport) -> list[str]:
    """The statement that the runs allow, how they were trained, and where they are."""
    lines = [] if report.learned else ["no statement: no run learned, and none of them is a control"]
    if report.learned:
        lines.append(f"LEARNED in this budget by {report.learned} of {plural(len(report.runs), 'run')}")
    if any(run.learned is Outcome.NOT_LEARNED for run in report.runs):
        lines.append(
            "NOT LEARNED: another seed or rate of this table learned from the same start in as many steps"
        )
    sizes = Counter(run.together for run in report.runs)
    ways = [f"{n} {'one by one' if k == 1 else f'in batches of {k}'}" for k, n in sorted(sizes.items())]
    lines.append(f"trained: {', '.join(ways) or 'none'}   ({sum(r.seconds for r in report.runs):.0f} CPU s)")
    lines.append(f"the results: {report.folder}")
    if report.failures:
        first = report.failures[0]
        lines.append(
            f"failed: {len(report.failures)}, such as seed {first.seed}, rate {first.rate:g}: {first.error}"
        )
        lines.append("the same command runs them again")
    return lines


def _bits(report: TrainReport) -> str:
    """Both sides, whether a theorem rules this cell out, and the accuracy that it allows."""
    state, held, needs = report.state_bits, report.held_bits, report.needs_bits
    if held is None or needs is None:
        line = "a layer keeps every token" if state is None else f"{state:,} bits cross the cut"
    else:
        line = f"{held:,} bits held where a theorem requires {needs:,}"
    if report.provable:
        line += ": proved impossible"
    if report.ceiling is not None:
        line += f"; no weights are right on more than {report.ceiling:.1%} of such inputs"
    return line


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
