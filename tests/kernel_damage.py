"""Damaged weights before the kernel, and the same weights run on every input."""

from array import array
from functools import cache
from typing import Any

import numpy as np
import torch

from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.model.files import written
from limen.model.model import Model
from limen.model.run import batch_size, inputs, run
from limen.tasks.turing import Turing
from limen_check import files
from limen_check.can.weights import margin
from limen_check.files import Malformed, Refused, Weight

FORMATS = ("float64", "float32", "bfloat16")


def spelled(c: Construction) -> str:
    """The task with every size."""
    plain = isinstance(c.task, Turing) and c.task.program == "palindrome"
    return f"{str(c.task)[:-1]},program=palindrome)" if plain else c.task.spelled


@cache
def saved(c: Construction) -> files.Model:
    return files.model(*written(c.frame(), c.weights()))


def with_weight(c: Construction, at: str, w: np.ndarray[Any, Any]) -> files.Model:
    """The saved model with one weight changed."""
    changed = Weight(w.shape, array("d", w.reshape(-1)))
    return saved(c)._replace(weights=saved(c).weights | {at: changed})


def kernel_margin(c: Construction, precision: str, model: files.Model, hints: Any) -> float | None:
    """The margin, or None for a refusal; whatever else is raised is a fault."""
    try:
        return float(margin(model, spelled(c), precision, c.steps, hints or {}))
    except (Refused, Malformed):
        return None


def exhaustive_margin(c: Construction, precision: str, changed: dict[str, np.ndarray[Any, Any]]) -> float:
    """Over every input."""
    model = Model(c.frame(), dict(Model.of(c).weights) | {k: torch.from_numpy(w) for k, w in changed.items()})
    batches = inputs(c.task, None, 0, batch_size(model, c.task, c.steps))
    return run(model, c.task, Precision.parse(precision), batches, c.steps).margin


def damaged(w: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """One entry, one column or two columns of a weight are changed."""
    w = w.copy()
    flat, at = w.reshape(-1), rng.integers(w.size)
    used = np.flatnonzero(flat)
    at = rng.choice(used) if len(used) and rng.random() < 0.8 else at
    kind = rng.integers(6)
    if kind < 4:
        flat[at] = (0, -flat[at], flat[at] * rng.choice([0.5, 2]), flat[at] + rng.choice([-1, 1]))[kind]
    elif kind == 4:
        w[..., rng.integers(w.shape[-1])] *= rng.choice([-1, 0, 0.5, 2])
    else:
        i, j = rng.integers(w.shape[-1], size=2)
        w[..., [i, j]] = w[..., [j, i]]
    return w
