"""The limits of a run: the bits that its stack holds, and those that a theorem requires."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from limen.core.architecture import Architecture, Layer
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.training.lesson import lesson_of
from limen.training.spec import Spec

_TRAINED_IN = 32  # bits of a number whose p is not said: float32


@dataclass(frozen=True)
class Limits:
    """Both sides of the nearest theorem in bits, where it has two; `provable` only if the kernel accepted it.

    `held_bits` are those that the theorem counts: of a state, a reply, a message, or several together.
    `ceiling` is a proved one on inputs that are drawn uniformly.
    """

    state_bits: int | None  # that cross the cut; None: a layer keeps every token
    held_bits: int | None
    needs_bits: int | None
    answer: Answer
    ceiling: float | None = None

    @property
    def provable(self) -> bool:
        return self.answer is Answer.CANNOT


@cache
def limits(task: str, architecture: str, steps: int = 0) -> Limits:
    """The limits of a stack as it was trained, with so many steps of chain of thought."""
    what, stack = Task.parse(task), _as_trained(Architecture.parse(architecture))
    verdict = decide(what, stack, steps)
    near = verdict.nearest if isinstance(verdict.nearest, Bound) else None
    held, needs = (None, None) if near is None else (near.has_bits, near.needs_bits)
    ceiling = None if verdict.ceiling is None else float(verdict.ceiling.accuracy)
    return Limits(stack.state_bits(what.cut), held, needs, verdict.answer, ceiling)


def limits_of(spec: Spec) -> Limits:
    """The limits of a run, with as many steps of thought as it was taught to write.

    A ceiling is about inputs that are drawn uniformly, so a run that is judged on others has none.
    """
    known = limits(spec.task, spec.architecture, thoughts(spec))
    return replace(known, ceiling=None) if spec.hard or spec.distribution is not None else known


def thoughts(spec: Spec) -> int:
    """The steps of a chain of thought that it was taught to write."""
    if not spec.thought:
        return 0
    lesson = lesson_of(spec)
    steps: int = lesson.thoughts(lesson.sample(np.random.default_rng(0), 1, False)[0]).shape[1]
    return steps


def _as_trained(stack: Architecture) -> Architecture:
    layers = [
        Layer(tuple(replace(part, p=_TRAINED_IN if part.p is None else part.p) for part in layer.parts))
        for layer in stack.layers
    ]
    return Architecture(tuple(layers))
