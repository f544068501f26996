"""Reports of attacks that Limen ships, by the name of the model: no torch is needed to read them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from limen.adversary.report import FoolReport
from limen.errors import BadInput

_SHIPPED = Path(__file__).parent / "results"


def shipped() -> tuple[str, ...]:
    """The names of the models whose reports are shipped."""
    return tuple(sorted(path.stem for path in _SHIPPED.glob("*.json")))


def read_report(name: str) -> FoolReport:
    """What `limen fool benchmarks/models/NAME TASK --json` printed."""
    return msgspec.json.decode((_SHIPPED / f"{name}.json").read_bytes(), type=FoolReport)


def report_about(name: str, task: str) -> FoolReport:
    """The report, which is about one task."""
    report = read_report(name)
    if report.task != task:
        raise BadInput(f"{name}: the report that is shipped is about {report.task}, not about {task}")
    return report
