"""A stack of windows does not see what is out of its reach, except the first tokens of the text."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated


@dataclass(frozen=True)
class WindowGlobal(Theorem):
    """Cut where the reach of the tokens that answer ends."""

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("window_global", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(1)
        if rows is None or rows.bits == 0:
            return ()
        reach = task.length - task.asks
        return (Need("window", f"Σ (W-1) over the layers ≥ {reach}, or first tokens that all see", None),)
