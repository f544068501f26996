"""`limen demo orthogonal` for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.commands.demo.orthogonal import OrthogonalReport


def lines_of(said: OrthogonalReport) -> list[str]:
    """What is known of the largest number of vectors."""
    none = "no limit by the first 64 of Welch's bounds"
    most = none if said.at_most is None else f"at most {plural(said.at_most, 'vector')}, by Welch's bound"
    proved, found = plural(said.proved, "vector"), plural(said.found, "vector")
    return [
        f"{plural(said.dimensions, 'dimension')}, inner products of at most {said.gamma} in absolute value",
        f"at least {plural(said.dimensions, 'unit vector')}, the axes: all their inner products are 0",
        f"at least {proved}, by a union bound over random signs",
        f"at least {found}, found among {said.drawn:,} random sign vectors; every inner product was checked",
        most,
    ]
