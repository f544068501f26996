"""Training against somebody who looks for inputs that the model gets wrong.

Whoever proposes is a function of the model, the task, a generator and a number: it returns so many inputs
of the task, as tokens.  Their answers come from the task's definition, so a bad proposal costs time and
nothing else. A strategy of `limen.adversary` takes part by having a function `propose`; `hardest` is here.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np
from numpy.random import Generator

from limen.core.catalogue import ids
from limen.core.errors import unknown
from limen.core.task import Task, Tokens
from limen.model.model import Model
from limen.training.forward import logits_at_the_end

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

Proposes = Callable[[Model, Task, Generator, int], Tokens]
_DRAWN = 8  # inputs that are drawn for one that is kept


def hardest(model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """Of many inputs, half of them near-misses, those whose right answer leads by the least."""
    tokens = np.concatenate([task.sample(rng, _DRAWN * count // 2, hard)[0] for hard in (False, True)])
    with torch.no_grad():
        logits = logits_at_the_end(model, torch.as_tensor(tokens), task.asks)
    right = torch.as_tensor(task.answer(tokens).reshape(len(tokens), task.asks, 1))
    wrong = logits.scatter(-1, right, -torch.inf).amax(-1)
    lead = (logits.gather(-1, right).squeeze(-1) - wrong).amin(-1)  # of its worst answer
    return np.asarray(tokens[np.argsort(lead.numpy(), kind="stable")[:count]])


def proposer(name: str) -> Proposes:
    """By its name: `hardest`, or a strategy of the catalogue that proposes inputs."""
    known = {"hardest": hardest}
    for strategy in ids("adversaries"):
        found = getattr(import_module(f"limen.adversary.{strategy}"), "propose", None)
        if found is not None:
            known[strategy] = found
    if name not in known:
        raise unknown("proposer of inputs", name, known)
    return known[name]
