"""The training loop: fresh samples, AdamW with warm-up and cosine, loss only where answers are due."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from limen.core.task import Tokens
from limen.training.against import Proposes, Repair
from limen.training.lesson import Batch
from limen.training.pupil import Pupil
from limen.training.spec import Spec
from limen.training.steps import Alone, Taken, Together

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


class Taught(NamedTuple):
    """The course of a training run: its evaluations, the last step and why it ended."""

    curve: list[Seen]
    steps: int
    stop: str  # target, proved, schedule or diverged


@dataclass
class Course:
    """A training run while it lasts."""

    pupil: Pupil
    looks: Generator
    loss: float
    curve: list[Seen] = field(default_factory=list)
    steps: int = 0
    stop: str | None = None

    def look(self, step: int, rate: float, watch: Watch, proposes: Proposes | None) -> None:
        """Sees the accuracy on fresh inputs; the run ends at the target, seen twice in a row."""
        self.steps = step
        self.curve.append(Seen(step, self.loss, self.pupil.accuracy(self.looks, _LOOKED_AT), rate))
        watch(self.curve[-1])
        target = self.pupil.spec.target
        if len(self.curve) > 1 and min(self.curve[-1].accuracy, self.curve[-2].accuracy) >= target:
            self.stop = _stop(self.pupil, proposes)

    def took(self, step: int, loss: float) -> None:
        """Notes the loss of a step; the run ends where it is not a number."""
        self.loss = loss
        if not math.isfinite(loss):
            self.steps, self.stop = step, "diverged"


def train(
    pupils: Sequence[Pupil], steps: int, watch: Watch, proposes: Proposes | None = None
) -> list[Taught]:
    """Trains up to so many steps; the weights of the models are changed.

    Several pupils, whose specs differ in seed, rate and start alone, take their steps together; whoever has
    ended leaves.  Those of one seed get the same batches, as they would one by one.
    """
    spec = pupils[0].spec
    rngs = {pupil.spec.seed: np.random.default_rng([pupil.spec.seed, 1]) for pupil in pupils}
    loss = math.log(pupils[0].lesson.answers)
    courses = [Course(pupil, np.random.default_rng([pupil.spec.seed, 2]), loss) for pupil in pupils]
    stepping: Alone | Together = Alone(pupils[0]) if len(pupils) == 1 else Together(pupils)
    running, before, proposed = courses, time.perf_counter(), None
    for step in range(steps + 1):
        if step % spec.every == 0 or step == steps:
            rate = spec.every / (time.perf_counter() - before) if step else 0.0
            for course in running:
                course.look(step, rate, watch, proposes)
            before = time.perf_counter()
        running = [course for course in running if course.stop is None]
        if step == steps or not running:
            break
        if proposes is not None and step % _PROPOSED_EVERY == 0:
            pupil = pupils[0]
            inputs = proposes(pupil.model, pupil.lesson.task, rngs[pupil.spec.seed], spec.batch)
            proposed = _as_batch(pupil, inputs)
        batches = {seed: _drawn(pupils[0], rngs[seed]) for seed in {c.pupil.spec.seed for c in running}}
        lessons = [
            Taken(c.pupil, batches[c.pupil.spec.seed], rate_at(c.pupil.spec, step, steps)) for c in running
        ]
        for course, loss in zip(running, stepping.step(lessons, proposed), strict=True):
            course.took(step, loss)
    return [Taught(course.curve, course.steps, course.stop or "schedule") for course in courses]


def _stop(pupil: Pupil, proposes: Proposes | None) -> str | None:
    """Why training ends at the target accuracy; None while a repair has not yet been proved right."""
    if not isinstance(proposes, Repair):
        return "target"
    return "proved" if proposes.proves(pupil.model, pupil.lesson.task) else None


def _drawn(pupil: Pupil, rng: Generator) -> Batch:
    spec, lesson = pupil.spec, pupil.lesson
    return (lesson.thinking if spec.thought else lesson.batch)(rng, spec.batch, spec.hard)


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
