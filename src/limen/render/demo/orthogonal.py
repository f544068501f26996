"""`limen demo orthogonal` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.commands.demo.orthogonal import OrthogonalReport


def lines_of(report: OrthogonalReport) -> list[str]:
    """What is known of the largest number of vectors."""
    none = "no limit by the first 64 of Welch's bounds"
    most = none if report.at_most is None else f"at most {plural(report.at_most, 'vector')}, by Welch's bound"
    proved, drawn = plural(report.proved, "vector"), plural(report.found, "vector")
    return [
        f"{plural(report.dimensions, 'dimension')}, "
        f"inner products of at most {report.gamma} in absolute value",
        f"at least {plural(report.dimensions, 'unit vector')}, the axes: all their inner products are 0",
        f"at least {proved}, by a union bound over random signs",
        f"at least {drawn}, found among {report.drawn:,} random sign vectors; "
        "every inner product was checked",
        most,
    ]
