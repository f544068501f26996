"""`limen train`: one run, with its progress on standard error, in words and in fields."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limen.core.folder import ready_file
from limen.core.measurement import outcome
from limen.experiments._experiment import experiment, size_of
from limen.model.files import ready, save
from limen.training.against import proposer
from limen.training.run import Result, run
from limen.training.spec import Spec
from limen.training.train import Seen, Watch

THRESHOLD = 0.99


def spec_of(what: str, architecture: str | None, cell: str | None, size: str, said: dict[str, Any]) -> Spec:
    """A cell of an experiment, or a task and a stack; what is said on top replaces what stands there."""
    from limen.core.catalogue import ids
    from limen.core.errors import BadInput, unknown

    if what not in ids("experiments"):
        if architecture is None:
            raise BadInput(
                f"{what} is no experiment ({', '.join(ids('experiments'))}); a task needs a stack, too"
            )
        return Spec(task=what, architecture=architecture, **said)
    cells = {one.name: one for one in experiment(what).cells(size_of(size))}
    name = next(iter(cells)) if cell is None else cell
    if name not in cells:
        raise unknown(f"cell of {what}", name, cells)
    one = cells[name]
    told = {"task": one.task, "architecture": one.architecture, "start": one.starts[0]}
    return Spec(**(told | dict(one.settings) | said))


def trained(
    spec: Spec, name: str | None, folder: Path | None, curve: Path | None
) -> tuple[dict[str, Any], list[str]]:
    """Trains; the model goes into a folder that other commands take, the learning curve into a file."""
    if folder is not None:
        ready(folder)
    if curve is not None:
        ready_file(curve)
    _readable(spec)
    with _progress(spec) as watch:
        result, model = run(spec, watch)
    if folder is not None:
        save(model, folder)
    if curve is not None:
        from limen.render.plots import curves, picture

        picture(curves([result]), curve)
    return fields(result, name), lines(result, folder)


def _readable(spec: Spec) -> None:
    """A slip of the keyboard is found before torch is loaded."""
    spec.read()
    if spec.against is not None:
        proposer(spec.against)


def fields(result: Result, name: str | None) -> dict[str, Any]:
    """One run alone has no control, so a failure is no statement."""
    m = result.measurement
    return {
        "experiment": name,
        "task": m.task,
        "architecture": m.architecture,
        "start": m.start,
        "seed": m.seed,
        "steps": m.steps,
        "accuracy": m.accuracy,
        "best": m.best,
        "chance": m.chance,
        "floor": m.floor,
        "stop": m.stop,
        "state_bits": m.state_bits,
        "needs_bits": m.needs_bits,
        "provable": m.provable,
        "control": None,
        "learned": outcome([m], None, THRESHOLD).value,
        "versions": dict(m.versions),
        "shifts": result.shifts,
        "curve": [list(point) for point in result.curve],
        "seconds": result.made.cpu_seconds,
        "digest": result.digest,
    }


def lines(result: Result, folder: Path | None) -> list[str]:
    m = result.measurement
    said = [
        f"{m.task}  by  {m.architecture}",
        f"  {m.accuracy:.1%} right on {result.spec.judged:,} fresh inputs at the end, {m.best:.1%} at best"
        f"   (chance {m.chance:.1%}, counting tokens {m.floor:.1%}: {result.rule})",
        f"  start {m.start}, seed {m.seed}, {m.steps:,} steps, stopped by {STOPS[m.stop]}, "
        f"{result.made.cpu_seconds:,.0f} s of one core",
        f"  {bits(m.state_bits, m.needs_bits, m.provable)}",
    ]
    if result.shifts:
        shifted = ", ".join(f"{name} {accuracy:.1%}" for name, accuracy in result.shifts.items())
        said.append(f"  on other inputs: {shifted}")
    said.append(f"  {VERDICT[outcome([m], None, THRESHOLD).value]}")
    return said + ([f"  the model: {folder}"] if folder is not None else [])


STOPS = {
    "target": "the target",
    "schedule": "the end of the schedule",
    "diverged": "a loss that is no number",
}
VERDICT = {
    "learned": "LEARNED in this budget",
    "not_learned": "NOT LEARNED in this budget",
    "no_statement": "no statement: a single failure may be the optimiser's; an experiment has a control",
}


def bits(state: int | None, needs: int | None, provable: bool) -> str:
    """Both sides, and whether a theorem rules this cell out."""
    has = "a layer keeps every token" if state is None else f"{state:,} bits cross the cut"
    asked = "" if needs is None else f", a theorem asks for {needs:,}"
    return f"{has}{asked}{': proved impossible' if provable else ''}"


@contextmanager
def _progress(spec: Spec) -> Iterator[Watch]:
    """On standard error: a bar for a terminal, otherwise a line at each look."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    watched, total = sys.stderr.isatty(), spec.steps + spec.first_steps
    columns = BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not watched) as bar:
        task = bar.add_task("", total=total)

        def watch(seen: Seen) -> None:
            said = (
                f"{seen.step:,}/{total:,}  loss {seen.loss:.3f}  {seen.accuracy:.1%}  {seen.rate:.0f} steps/s"
            )
            bar.update(task, completed=seen.step, description=said)
            if not watched:
                left = f"  at most {(total - seen.step) / seen.rate:.0f} s left" if seen.rate else ""
                sys.stderr.write(f"{said}{left}\n")

        yield watch
