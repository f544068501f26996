"""The proof of `log_linear_state`, run on a model: prefixes of 2^r tokens with the same levels, added up."""

from __future__ import annotations

from typing import Any

from limen.adversary.strategies.collisions import Collisions, states
from limen.core.certificate import Collision
from limen.core.task import Task
from limen.mixers.log_linear import Stretches
from limen.model.model import Model, State
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.theorems._states import power_of_two
from limen.witness.collision import streams


def refute(task: Task, model: Predictor) -> Collision | None:
    if not (isinstance(model, Model) and streams(model)):
        return None
    seen = Collisions(power_of_two(task), lambda prefixes: states(model, prefixes, known=_merged))
    return seen.search(Target(task, model)).witness


def _merged(state: State) -> tuple[tuple[Any, ...], ...]:
    """What the token after 2^r others reads: the levels added up."""
    return tuple(
        tuple(s.S.sum(-2) if isinstance(s, Stretches) else s for s in layer) for layer in state.layers
    )
