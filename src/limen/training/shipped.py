"""The numbers of planned and finished runs, and the time they took."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from limen.core.catalogue import ids
from limen.training.experiment import SIZES, experiment
from limen.training.judged import kept_in
from limen.training.spec import Spec


class ShippedRuns(NamedTuple):
    """By size: the runs planned, those done, and their minutes on one core."""

    planned: Mapping[str, int]
    done: Mapping[str, int]
    minutes: Mapping[str, float]
    quick_alone: int  # runs of the quick size that are none of the standard one
    machines: tuple[str, ...]
    dates: tuple[str, ...]
    spec: Spec  # one of them: what a recipe does not name is the same in all


def shipped_runs() -> ShippedRuns:
    """The numbers for the shipped results; experiments may share runs."""
    runs = {digest: run for name in ids("experiments") for digest, run in kept_in(None, name).items()}
    wanted = {
        size: {spec.digest for name in ids("experiments") for spec in experiment(name).specs(size)}
        for size in SIZES
    }
    mine = {size: [run for digest, run in runs.items() if digest in wanted[size]] for size in SIZES}
    return ShippedRuns(
        {size: len(wanted[size]) for size in SIZES},
        {size: len(mine[size]) for size in SIZES},
        {size: math.fsum(run.made.cpu_seconds for run in mine[size]) / 60 for size in SIZES},
        len(wanted["quick"] - wanted["standard"]),
        tuple(sorted({run.made.machine for run in runs.values()})),
        tuple(sorted({run.made.date[:10] for run in runs.values()})),
        next(iter(runs.values())).spec,
    )
