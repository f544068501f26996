"""Run what is missing of an experiment."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands._command import Shown, Tell, command
from limen.commands._words import Cores, Experiments, PathLike, processes
from limen.core.option import Option
from limen.files.printable import printable

if TYPE_CHECKING:
    from limen.training.local import Looks
    from limen.training.reports import SweepReport
    from limen.training.sweep import Runs


@command(
    example="limen experiment run depth --size quick",
    answers=(Shown("limen.training.reports:SweepReport", "limen.render.experiment.run:lines_of"),),
)
def run(
    *experiment: Experiments,
    size: Annotated[
        Literal["quick", "standard", "full"], Option("quick, standard or full.", noun="size")
    ] = "quick",
    folder: Annotated[PathLike, Option("Folder for the results, one file per run.", local=True)] = Path(
        "limen-results"
    ),
    cores: Cores = None,
    scheduler: Annotated[
        str | None, Option("Run on the workers of this Dask scheduler, tcp://…", local=True)
    ] = None,
    retry: Annotated[bool, Option("Run failed runs again.")] = False,
    tell: Tell | None = None,
) -> SweepReport:
    """It may be stopped at any time: the next call continues from there."""
    from limen.files.folder import ready_folder
    from limen.render.experiment.run import ended_line, looks_line
    from limen.training.batches import batches, told
    from limen.training.experiment import named
    from limen.training.reports import sweep_report
    from limen.training.sweep import due, sweep

    specs = [spec for one in named(experiment).values() for spec in one.specs(size)]
    path = Path(folder)
    ready_folder(path)
    missing = due(specs, path, retry)
    if tell is not None and missing and scheduler is None:
        sys.stderr.write(printable(told(batches(missing, processes(cores)), processes(cores))) + "\n")
    deliver = ended_line(len(missing), watched=tell is not None)
    runs = _runs(cores, scheduler, looks_line(watched=tell is not None))
    done = sweep(specs, path, runs, retry, deliver)
    return sweep_report(experiment, size, done, path)


def _runs(cores: int | None, scheduler: str | None, looks: Looks) -> Runs:
    """Who runs: a Dask cluster, or one process a core."""
    if scheduler is not None:
        from limen.training.cluster import cluster

        return cluster(scheduler)
    from limen.training.local import local

    return local(processes(cores), looks)
