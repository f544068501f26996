"""What a theorem is asked about, and what its inequality says there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.errors import counted
from limen_check.cannot.depth import Sides as Sides  # has and needs, in bits: cannot if has < needs


@dataclass(frozen=True)
class Case:
    """A task, an architecture with steps of chain of thought, and the free sizes of a proof."""

    task: Task
    architecture: Architecture
    steps: int = 0
    route: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        counted(self.steps)


class Accuracy(NamedTuple):
    """No weights are right on more than this share of inputs that are so drawn: cannot if < 1; rounded up."""

    ceiling: float
    distribution: str
