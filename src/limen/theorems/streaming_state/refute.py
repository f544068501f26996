"""The proof of `streaming_state`, run on a model: prefixes that leave the same state."""

from __future__ import annotations

from limen.adversary.strategies.collisions import Collisions
from limen.core.certificate import Collision
from limen.core.task import Task
from limen.model.predictor import Predictor
from limen.model.target import Target


def refute(task: Task, model: Predictor) -> Collision | None:
    return Collisions().search(Target(task, model)).witness
