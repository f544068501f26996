"""`limen sweep`: many runs, a line on standard error as each ends, and what there is in the end."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limen.experiments._experiment import named, size_of
from limen.training.results import Failure
from limen.training.run import Result
from limen.training.sweep import Runs, due, sweep


def swept(
    names: list[str], size: str, folder: Path, cores: int | None, scheduler: str | None, retry: bool
) -> tuple[dict[str, Any], list[str], bool]:
    """Runs what is missing of these experiments; good if nothing failed."""
    found = named(names)
    specs = [spec for experiment in found.values() for spec in experiment.specs(size_of(size))]
    missing = len(due(specs, folder, retry)) if folder.exists() else len({spec.digest for spec in specs})
    done = sweep(specs, folder, _runs(cores, scheduler), retry, _told(missing))
    shown = {
        "experiment": names[0] if len(names) == 1 else names,
        "size": size,
        "specs": done.specs,
        "done": done.done,
        "failed": done.failed,
        "folder": str(folder),
    }
    said = [
        f"{', '.join(found)}, {size}: {done.done} of {done.specs} runs are done, {done.failed} failed",
        f"{folder}",
    ]
    if done.failed:
        said.append(f"why: {folder}/*.failed.json; --retry tries them again")
    return shown, said, not done.failed


def _runs(cores: int | None, scheduler: str | None) -> Runs:
    if scheduler is not None:
        from limen.training.cluster import cluster

        return cluster(scheduler)
    from limen.training.local import local

    return local(cores or len(os.sched_getaffinity(0)))


def _told(missing: int) -> Callable[[Result | Failure], None]:
    """A line a run: how many are done, what it gave, and how long the rest will take."""
    begun, ended = time.monotonic(), 0

    def tell(one: Result | Failure) -> None:
        nonlocal ended
        ended += 1
        left = (time.monotonic() - begun) / ended * (missing - ended)
        spec = one.spec
        what = one.error if isinstance(one, Failure) else f"{one.measurement.accuracy:.1%}"
        sys.stderr.write(
            f"[{ended}/{missing}, {left / 60:.0f} min left] {spec.task} by {spec.architecture}, "
            f"{spec.start}, seed {spec.seed}: {what}\n"
        )
        sys.stderr.flush()

    return tell
