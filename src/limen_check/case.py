"""What a theorem is asked about, and what it says there."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from limen_check.architecture import Architecture
from limen_check.files import need
from limen_check.rows import Task


class Case(NamedTuple):
    """A task, an architecture with steps of chain of thought, a route and the free sizes of its proof."""

    task: Task
    architecture: Architecture
    steps: int
    route: str
    sizes: dict[str, int]

    def free(self, *names: str) -> None:
        """The free sizes are these and no others."""
        need(set(self.sizes) == set(names), f"the free sizes are {', '.join(names) or 'none'}")


class Sides(NamedTuple):
    """The architecture has so many bits, at most; the task needs so many, at least: cannot if has < needs."""

    has: int
    needs: int


class Ceiling(NamedTuple):
    """Whether no weights are right on more than a share c of these random inputs, surely."""

    holds: Callable[[Fraction], bool]
    distribution: str
