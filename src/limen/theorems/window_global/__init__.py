"""A stack of windows does not see what is out of its reach, but for the first tokens of the text."""

from __future__ import annotations

from dataclasses import dataclass

from limen.adversary.collisions import Collisions
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.window_global.inequality import out_of_sight, sight


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

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        if not isinstance(model, Model):
            return None
        view = sight(model.frame.architecture)
        if isinstance(view, NoStatement) or (t := out_of_sight(task, view)) < 1:
            return None
        seen = Collisions(t, lambda prefixes: [row.tobytes() for row in prefixes[:, : view.first]])
        return seen.search(Target(task, model)).witness
