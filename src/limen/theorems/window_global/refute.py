"""The proof of `window_global`, run on a model: prefixes that differ out of its sight alone."""

from __future__ import annotations

from limen.adversary.strategies.collisions import Collisions
from limen.core.certificate import Collision
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.theorems.window_global import out_of_sight, sight


def refute(task: Task, model: Predictor) -> Collision | None:
    if not isinstance(model, Model):
        return None
    view = sight(model.frame.architecture)
    if isinstance(view, NoStatement) or (t := out_of_sight(task, view)) < 1:
        return None
    seen = Collisions(t, lambda prefixes: [row.tobytes() for row in prefixes[:, : view.first]])
    return seen.search(Target(task, model)).witness
