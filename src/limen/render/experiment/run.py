"""`limen experiment run`: lines on standard error as runs go on and end, and what there is in the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.training.local import Looks
    from limen.training.reports import SweepReport
    from limen.training.results import Failure
    from limen.training.run import RunResult
    from limen.training.spec import Spec
    from limen.training.sweep import Deliver
    from limen.training.train import Seen

_SECONDS = 5  # between two lines about runs that go on


def lines_of(report: SweepReport) -> list[str]:
    lines = [report.headline, report.folder]
    return (
        [*lines, f"why: {report.folder}/*.failed.json; --retry tries them again"] if report.failed else lines
    )


def ended_line(missing: int, watched: bool) -> Deliver:
    """A line a run: how many are done, what it gave, and how long the rest will take."""
    begun, ended = time.monotonic(), 0

    def tell(one: RunResult | Failure) -> None:
        nonlocal ended
        ended += 1
        if not watched:
            return
        left = (time.monotonic() - begun) / ended * (missing - ended)
        spec = one.spec
        sys.stderr.write(
            f"[{ended}/{missing}, {left / 60:.0f} min left] {spec.task} by {spec.architecture}, "
            f"{spec.start}, seed {spec.seed}, rate {spec.rate:g}: {one.told}\n"
        )
        sys.stderr.flush()

    return tell


def looks_line(watched: bool) -> Looks:
    """Every few seconds a line: how far the runs are that go on."""
    before = time.monotonic()

    def tell(specs: list[Spec], seen: Seen) -> None:
        nonlocal before
        if not watched or time.monotonic() < before + _SECONDS:
            return
        before = time.monotonic()
        spec, total = specs[0], specs[0].steps + specs[0].first_steps
        what = f"{len(specs)} runs as one" if len(specs) > 1 else f"seed {spec.seed}, rate {spec.rate:g}"
        progress = f"step {seen.step:,} of {total:,}, loss {seen.loss:.3f}, {seen.accuracy:.1%} right"
        sys.stderr.write(f"{spec.task} by {spec.architecture}, {what}: {progress}\n")
        sys.stderr.flush()

    return tell
