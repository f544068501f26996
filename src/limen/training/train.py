"""The training loop: fresh samples, AdamW with warm-up and cosine, loss only where answers are due."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader
import numpy as np
from numpy.random import Generator

from limen.core.task import Answers, Tokens
from limen.model.model import Model
from limen.training.adamw import AdamW
from limen.training.against import Proposes, Repair
from limen.training.forward import at, logits_at_the_end, streams
from limen.training.lesson import NOT_DUE, Batch, Lesson
from limen.training.rounded import Rounding, logits_after_cut
from limen.training.spec import Spec

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_LONGEST = 1.0  # of a gradient, all weights together
_LAST = 0.05  # of the rate is left at the end
_LOOKED_AT = 256  # inputs on which the accuracy is seen along the way
_PROPOSED_EVERY = 10  # steps between two proposals of an adversary


class Seen(NamedTuple):
    """The progress at one evaluation."""

    step: int
    loss: float
    accuracy: float
    rate: float  # steps a second since the last look


Watch = Callable[[Seen], None]


@dataclass
class Pupil:
    """A model in training, with the helpers that are trained beside it but are no part of it."""

    model: Model
    lesson: Lesson
    spec: Spec
    rounding: Rounding | None = None
    heads: dict[int, torch.Tensor] = field(
        default_factory=dict
    )  # layer -> a readout of the hop it could know

    @property
    def weights(self) -> list[torch.Tensor]:
        return [*self.model.weights.values(), *self.heads.values()]

    def logits(self, batch: Batch, learn: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """The logits (rows, due, answers), and the vectors after each layer where answers are due."""
        tokens, due = torch.as_tensor(batch.tokens), torch.as_tensor(batch.due)
        if self.rounding is not None:
            return self._rounded(tokens, learn), []
        after = streams(self.model, tokens)
        return self.model.read(at(after[-1], due)), [at(after[i], due) for i in self.heads]

    def _rounded(self, tokens: torch.Tensor, learn: bool) -> torch.Tensor:
        rounding, task = self.rounding, self.lesson.task
        assert rounding is not None
        questions = tokens[:, task.cut :].unflatten(1, (-1, task.length - task.cut))
        text = tokens[:, : task.cut]
        return logits_after_cut(self.model, lambda state: rounding(state, learn), text, questions)

    def loss(self, batch: Batch) -> torch.Tensor:
        logits, after = self.logits(batch, learn=True)
        loss = _cross_entropy(logits, torch.as_tensor(batch.labels))
        for (layer, U), x in zip(self.heads.items(), after, strict=True):
            assert batch.hops is not None
            loss = loss + _cross_entropy(_scaled(x) @ U, torch.as_tensor(batch.hops[..., layer]))
        return loss

    @property
    def thought(self) -> bool:
        return self.spec.thought

    def answers(self, tokens: Tokens) -> Answers:
        """Its answers to the task's own inputs, after a chain of thought that it writes itself."""
        task = self.lesson.read_as(tokens)
        rows = torch.as_tensor(tokens)
        with torch.no_grad():
            if self.rounding is not None:
                logits = self._rounded(rows, learn=False)
            else:
                if self.thought:
                    steps = self.lesson.thoughts(tokens[:1]).shape[1]
                    rows = torch.cat([rows, self.model.decode(rows, steps)], 1)
                logits = logits_at_the_end(self.model, rows, task.asks)
        chosen = logits[..., : task.answers].argmax(-1).numpy()
        return np.asarray(chosen[:, 0] if task.asks == 1 else chosen)

    def accuracy(self, rng: Generator, count: int) -> float:
        tokens, answers = self.lesson.sample(rng, count, self.spec.hard)
        return float((self.answers(tokens) == answers).mean())


class Taught(NamedTuple):
    """The course of a training run: its evaluations, the last step and why it ended."""

    curve: list[Seen]
    steps: int
    stop: str  # target, proved, schedule or diverged


def train(pupil: Pupil, steps: int, watch: Watch, proposes: Proposes | None = None) -> Taught:
    """Trains up to so many steps; the weights of the model are changed in place."""
    spec = pupil.spec
    rng, looks = (np.random.default_rng([spec.seed, k]) for k in (1, 2))
    for w in pupil.weights:
        w.requires_grad_()
    optimizer = AdamW(pupil.weights, spec.decay)
    curve: list[Seen] = []
    loss, before, proposed = math.log(pupil.lesson.task.answers), time.perf_counter(), None
    for step in range(steps + 1):
        if step % spec.every == 0 or step == steps:
            now = time.perf_counter()
            rate = spec.every / (now - before) if step else 0.0
            curve.append(Seen(step, loss, pupil.accuracy(looks, _LOOKED_AT), rate))
            watch(curve[-1])
            before = time.perf_counter()
            if len(curve) > 1 and min(curve[-1].accuracy, curve[-2].accuracy) >= spec.target:
                stop = _stop(pupil, proposes)
                if stop is not None:
                    return Taught(curve, step, stop)
        if step == steps:
            break
        if proposes is not None and step % _PROPOSED_EVERY == 0:
            proposed = _as_batch(pupil, proposes(pupil.model, pupil.lesson.task, rng, spec.batch))
        loss = _step(pupil, optimizer, rng, rate_at(spec, step, steps), proposed)
        if not math.isfinite(loss):
            return Taught(curve, step, "diverged")
    return Taught(curve, steps, "schedule")


def _stop(pupil: Pupil, proposes: Proposes | None) -> str | None:
    """Why training ends at the target accuracy; None while a repair has not yet been proved right."""
    if not isinstance(proposes, Repair):
        return "target"
    return "proved" if proposes.proves(pupil.model, pupil.lesson.task) else None


def _step(pupil: Pupil, optimizer: AdamW, rng: Generator, rate: float, proposed: Batch | None) -> float:
    """The loss of one step on a fresh batch and on the inputs that an adversary proposed."""
    spec, lesson = pupil.spec, pupil.lesson
    draw = lesson.thinking if spec.thought else lesson.batch
    loss = pupil.loss(draw(rng, spec.batch, spec.hard))
    if proposed is not None:
        loss = loss + pupil.loss(proposed)
    loss.backward()
    optimizer.step(rate, _LONGEST)
    return float(loss.detach())


def _as_batch(pupil: Pupil, tokens: Tokens) -> Batch:
    """Inputs of the task, each with its own answer."""
    task = pupil.lesson.task
    labels = task.answer(tokens).reshape(len(tokens), -1)
    return Batch(tokens, np.arange(task.length - task.asks, task.length), labels)


def rate_at(spec: Spec, step: int, steps: int) -> float:
    """The learning rate: linear warm-up, then a cosine down to a twentieth."""
    warm = min(1.0, (step + 1) / max(spec.warmup, 1))
    cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
    return spec.rate * warm * (_LAST + (1 - _LAST) * cosine)


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), ignore_index=NOT_DUE)


def _scaled(x: torch.Tensor) -> torch.Tensor:
    """The vectors scaled to a mean square of 1."""
    return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
