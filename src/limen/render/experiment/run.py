"""`limen experiment run`: a line on standard error as each run ends, and what there is in the end."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.training.reports import SweepReport
    from limen.training.results import Failure
    from limen.training.run import RunResult
    from limen.training.sweep import Deliver


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
            f"{spec.start}, seed {spec.seed}: {one.told}\n"
        )
        sys.stderr.flush()

    return tell
