"""A stack of windows does not see what is out of its reach, except the first tokens of the text."""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.window_global.sight import out_of_sight, sight
from limen_check.cannot.bound import window_global


@dataclass(frozen=True)
class WindowGlobal(Theorem):
    """Cut where the reach of the tokens that answer ends."""

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """g·log₂ vocab ≥ log₂ #rows of what is out of reach: R = Σ (W-1) tokens and the first g are known."""
        if case.steps:
            return NoStatement("chain of thought moves on, and so does what is in reach")
        view = sight(case.architecture)
        if isinstance(view, NoStatement):
            return view
        if out_of_sight(case.task, view) < 1:
            return NoStatement(f"all {case.task.length} tokens are in reach of the last ones")
        return stated("window_global", window_global, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(1)
        if rows is None or rows.bits == 0:
            return ()
        reach = task.length - task.asks
        return (Need("window", f"Σ (W-1) over the layers ≥ {reach}, or first tokens that all see", None),)
