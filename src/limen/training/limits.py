"""The limits of a run: the bits of its state, and those that a theorem requires."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from limen.core.architecture import Architecture, Layer
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide

_TRAINED_IN = 32  # bits of a number whose p is not said: float32


@dataclass(frozen=True)
class Limits:
    """Both sides in bits, where there are two; `provable` only if the kernel accepted a bound.

    `ceiling` is a proved one on inputs that are drawn uniformly.
    """

    state_bits: int | None
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
    needs = verdict.nearest.needs_bits if isinstance(verdict.nearest, Bound) else None
    ceiling = None if verdict.ceiling is None else float(verdict.ceiling.accuracy)
    return Limits(stack.state_bits(what.cut), needs, verdict.answer, ceiling)


def _as_trained(stack: Architecture) -> Architecture:
    layers = [
        Layer(tuple(replace(part, p=_TRAINED_IN if part.p is None else part.p) for part in layer.parts))
        for layer in stack.layers
    ]
    return Architecture(tuple(layers))
