"""Training against an adversary that proposes inputs which the model gets wrong.

A proposer is a function of the model, the task, a generator and a number: it returns so many inputs of the
task, as tokens.  Their answers come from the task's definition, so a bad proposal costs time and
nothing else. A strategy of `limen.adversary` takes part by having a function `propose`, which returns the
inputs with the least lead first; `hardest` is here, and `adversary`, who asks several of
them and ends the training once the model is proved right on every input.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np
from numpy.random import Generator

from limen.adversary.strategies.exact import ExactWorst
from limen.core.catalogue import ids
from limen.core.task import Task, Tokens
from limen.errors import unknown
from limen.model.model import Model
from limen.model.target import Target
from limen.training.forward import logits_at_the_end

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

Proposes = Callable[[Model, Task, Generator, int], Tokens]
_DRAWN = 8  # inputs that are drawn for one that is kept
_PROVING = 5.0  # seconds of an attempt at a proof


def hardest(model: Model, task: Task, rng: Generator, count: int) -> Tokens:
    """The inputs with the smallest lead of the right answer, of many drawn, half of them near-misses."""
    tokens = np.concatenate([task.sample(rng, _DRAWN * count // 2, hard)[0] for hard in (False, True)])
    with torch.no_grad():
        logits = logits_at_the_end(model, torch.as_tensor(tokens), task.asks)
    right = torch.as_tensor(task.answer(tokens).reshape(len(tokens), task.asks, 1))
    wrong = logits.scatter(-1, right, -torch.inf).amax(-1)
    lead = (logits.gather(-1, right).squeeze(-1) - wrong).amin(-1)  # of its worst answer
    return np.asarray(tokens[np.argsort(lead.numpy(), kind="stable")[:count]])


@dataclass
class Repair:
    """A proposer of three strategies, a third each: needles, texts of few values, linearised jumps.

    The two that need no gradient draw four times as many and keep those with the least lead.  Where the
    exact search covers the model, it checks whether the model is right on every input; a counterexample
    is trained on from then on.
    """

    met: list[Tokens] = field(default_factory=list)

    def __call__(self, model: Model, task: Task, rng: Generator, count: int) -> Tokens:
        third = -(-count // 3)
        easy = [_strategy(name)(model, task, rng, 4 * third)[:third] for name in ("needle", "low_entropy")]
        drawn = np.concatenate([*easy, _strategy("parallel_jumps")(model, task, rng, third)])
        return np.concatenate([drawn, *(tokens[None] for tokens in self.met[-third:])])

    def proves(self, model: Model, task: Task) -> bool:
        """Whether the exact search proves that the model is right on every input."""
        still = Model(model.frame, {name: w.detach().clone() for name, w in model.weights.items()})
        target, search = Target(task, still), ExactWorst(seconds=_PROVING)
        if search.refuses(target) is not None:
            return False
        result = search.search(target)
        if result.witness is not None:
            self.met.append(np.array(result.witness.tokens))
        return result.verdict == "right"


def _strategy(name: str) -> Proposes:
    propose: Proposes = import_module(f"limen.adversary.strategies.{name}").propose
    return propose


def proposer(name: str) -> Proposes:
    """The proposer of this name: `hardest`, `adversary`, or a strategy that has a function `propose`."""
    known: dict[str, Proposes] = {"hardest": hardest, "adversary": Repair()}
    for strategy in ids("adversaries"):
        propose = getattr(import_module(f"limen.adversary.strategies.{strategy}"), "propose", None)
        if propose is not None:
            known[strategy] = propose
    if name not in known:
        raise unknown("proposer of inputs", name, known)
    return known[name]
