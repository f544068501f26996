"""The proof of `token_index`, run on a model: values whose index keys are the same."""

from __future__ import annotations

from collections.abc import Iterator

from limen.adversary.strategies.unseen import Alike, Unseen, classes, only_mixer
from limen.core.arrays import np
from limen.core.certificate import Collision
from limen.core.task import Task, Tokens
from limen.core.tensors import torch
from limen.mixers.top_k import TopK
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.tasks.two_sum import TwoSum

_VALUES = 2**14  # values among which two with the same key are looked for


def refute(task: Task, model: Predictor) -> Collision | None:
    """Runs the proof, place by place from the last, on a sample of values where there are many."""
    if not isinstance(task, TwoSum) or not isinstance(model, Model):
        return None
    mixer = only_mixer(task, model, TopK)
    if mixer is None:
        return None
    values = np.arange(task.M) if task.M <= _VALUES else _drawn(task.M)
    places = ((place, _sharing(values, _keys(model, values, place))) for place in reversed(range(task.n)))
    return Unseen(mixer.k, places).search(Target(task, model)).witness


def _drawn(M: int) -> Tokens:
    return np.unique(np.random.default_rng(0).integers(M, size=_VALUES))


def _keys(model: Model, values: Tokens, place: int) -> torch.Tensor:
    """The index key of each value at this place: (count, d_i)."""
    with torch.no_grad():
        state, _ = model.step(model.start((len(values),))._replace(position=place), torch.as_tensor(values))
    keys: torch.Tensor = state.layers[0][0].keys
    return keys.squeeze(-2)


def _sharing(values: Tokens, keys: torch.Tensor) -> Iterator[tuple[int, Alike]]:
    """Values that have their key in common with another one, and that one."""
    for members in classes(keys):
        for v, x in zip(values[members], np.roll(values[members], 1), strict=True):
            yield int(v), Alike(np.array([x]), np.array([v]))
