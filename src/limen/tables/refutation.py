"""Runs a theorem's proof on one small model: two inputs that it confuses though their answers differ.

Every "cannot" here says that what one player tells another takes too few bits.  So a small model with random
weights is run as that conversation, in integers of a few bits: the tokens before a cut are one player, the
rest is the other.  Two beginnings after which the same is said, with the same rest, get the same answer.
Which search finds them depends on the theorem: `refute` where it has one, the decomposition for composition,
and otherwise all that is said is compared.  The checker then runs the model on both inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from limen.adversary.strategies.decomposition import Decomposition
from limen.adversary.strategies.told_alike import ARITHMETIC, ToldAlike
from limen.conversation.converse import converse
from limen.conversation.transcript import arithmetic
from limen.core.architecture import Architecture
from limen.core.catalogue import lookup
from limen.core.certificate import Collision
from limen.core.task import Task, Tokens
from limen.core.theorem import Theorem
from limen.model.embedding import Table
from limen.model.model import Frame, Model
from limen.model.target import Target
from limen.tasks.composition import Composition
from limen.witness.collision import check_collision

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_SEEDS = 8  # models that are tried: a random one may be right where a theorem allows it
_WIDTH = 8
_ROUNDS = 4  # of the decomposition, where a round does not see all tables


@dataclass(frozen=True)
class Refuted:
    """A model, two inputs that it confuses, and how they were found."""

    collision: Collision
    model: Model
    how: str
    tried: int  # models, this one the last
    measured: int | None  # bits of state that were handed over, where nothing else was said

    @property
    def left(self) -> Tokens:
        return np.array([*self.collision.left, *self.collision.suffix])

    @property
    def right(self) -> Tokens:
        return np.array([*self.collision.right, *self.collision.suffix])

    @property
    def answers(self) -> tuple[str, str]:
        """The right answers."""
        task = Task.parse(self.collision.task)
        left, right = (np.atleast_1d(task.answer(x)).tolist() for x in (self.left, self.right))
        return " ".join(map(str, left)), " ".join(map(str, right))


def refuted(theorem: str, task: Task, architecture: Architecture) -> Refuted | None:
    """The first of some random models on which the proof finds its pair, as the checker confirms."""
    for seed in range(_SEEDS):
        model = small(task, architecture, seed)
        pair = _searched(theorem, task, model)
        if pair is not None and check_collision(pair[0], model) is None:
            return Refuted(pair[0], model, pair[1], seed + 1, _measured(task, model))
    return None


def _measured(task: Task, model: Model) -> int | None:
    """The bits of state that cross the cut in a run; None if some layer keeps every token."""
    if any(part.full for layer in model.frame.architecture.layers for part in layer.parts):
        return None
    rule = arithmetic(ARITHMETIC)
    tokens = torch.as_tensor(task.sample(np.random.default_rng(0), 1)[0])
    messages = converse(model, tokens, [range(task.cut), range(task.cut, task.length)], rule).utterances
    assert rule.precision.bits is not None  # integers have a size
    return sum(s.numbers for s in messages) * rule.precision.bits


def small(task: Task, architecture: Architecture, seed: int) -> Model:
    """A small model with random weights rounded to halves; positions are embedded."""
    frame = Frame(architecture, _WIDTH, task.answers, Table(task.vocab, task.length))
    start = frame.random(torch.Generator().manual_seed(seed), torch.float64)
    return start.to(arithmetic(ARITHMETIC).precision)


def _searched(theorem: str, task: Task, model: Model) -> tuple[Collision, str] | None:
    if theorem == "composition_depth" and isinstance(task, Composition):
        search = Decomposition(rows=4096, seconds=inf, arithmetic=ARITHMETIC, most=_ROUNDS)  # by no clock
        proof = search.search(Target(task, model))
        return (
            None if proof.witness is None else (proof.witness, "found by the indistinguishable decomposition")
        )
    by_the_proof = lookup("theorems", theorem, Theorem)().refute(task, model)
    if isinstance(by_the_proof, Collision):
        return by_the_proof, f"found by the proof of {theorem}, run on this model"
    pair = ToldAlike().search(Target(task, model)).witness
    how = "found by comparing the messages in the conversation of the proof"
    return None if pair is None else (pair, how)
