"""Training against somebody who looks for inputs that the model gets wrong.

Whoever proposes is a function of the model, the task, a generator and a number: it returns so many inputs
of the task, as tokens.  Their answers come from the task's definition, so a bad proposal costs time and
nothing else. A strategy of `limen.adversary` takes part by having a function `propose`, which returns the
inputs with the least lead first; `hardest` is here, and `adversary`, who asks several of them.
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


def adversary(model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """What strategies find, a third of each kind: needles, texts of few values, linearised jumps.

    Of what costs no gradient four times as many are drawn, and those with the least lead are kept.
    """
    third = -(-count // 3)
    easy = [_strategy(name)(model, task, rng, 4 * third)[:third] for name in ("needle", "low_entropy")]
    return np.concatenate([*easy, _strategy("parallel_jumps")(model, task, rng, third)])


def _strategy(name: str) -> Proposes:
    found: Proposes = import_module(f"limen.adversary.{name}").propose
    return found


def proposer(name: str) -> Proposes:
    """By its name: `hardest`, `adversary`, or a strategy of the catalogue that proposes inputs."""
    known = {"hardest": hardest, "adversary": adversary}
    for strategy in ids("adversaries"):
        found = getattr(import_module(f"limen.adversary.{strategy}"), "propose", None)
        if found is not None:
            known[strategy] = found
    if name not in known:
        raise unknown("proposer of inputs", name, known)
    return known[name]
