"""The proof of `hidden_tokens`, run on a model: its own order of scores names two texts it must confuse."""

from __future__ import annotations

from limen.adversary.strategies.collisions import collided
from limen.adversary.strategies.score_order import confused
from limen.core.certificate import Collision
from limen.core.task import Task
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.witness.collision import check_collision


def refute(task: Task, model: Predictor) -> Collision | None:
    """Two texts with different answers and equal logits; None if k is large enough."""
    texts = confused(task, model) if isinstance(model, Model) else None
    if texts is None or not isinstance(model, Model):
        return None
    left, right = texts
    pair = collided(task, model, left[:-1], right[:-1], left[-1:])
    return pair if check_collision(pair, model) is None else None
