"""How the cells of an experiment were trained, read from the specs of their results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from limen.core.architecture import Architecture
from limen.training.lesson import Questions, lesson_of
from limen.training.spec import Spec


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """All that may differ between two cells besides their task, their stack and their control."""

    starts: tuple[str, ...]
    seeds: int  # for each start
    batch: int  # sequences a step
    questions: int  # in a sequence
    labels: str  # final, dense, hops or chain
    inputs: str
    size: str  # width of the stream, and of the MLPs
    rate: float  # the highest
    steps: int  # at most
    growth: str  # empty: the whole stack is trained from the first step on


def recipe(specs: Sequence[Spec]) -> Recipe:
    """The recipe of the runs of one cell, which differ in start and seed alone."""
    spec = specs[0]
    lesson = lesson_of(spec)
    return Recipe(
        starts=tuple(dict.fromkeys(spec.start for spec in specs)),
        seeds=len({spec.seed for spec in specs}),
        batch=spec.batch,
        questions=lesson.queries if isinstance(lesson, Questions) else lesson.task.asks,
        labels=_labels(spec),
        inputs=_inputs(spec),
        size=_size(spec),
        rate=spec.rate,
        steps=spec.first_steps + spec.steps,
        growth=_growth(spec),
    )


def _labels(spec: Spec) -> str:
    """The answers that a step of training uses, in words."""
    lesson = lesson_of(spec)
    if spec.thought:
        return "chain"
    if spec.hops:
        return "hops"
    return "dense" if spec.dense and lesson.so_far else "final"


def _inputs(spec: Spec) -> str:
    drawn = "hard" if spec.hard else spec.distribution or "plain"
    sizes = ", several sizes (batch and questions of the longest, tokens a step alike)" if spec.mixed else ""
    return f"{drawn}{sizes}" + (f", and proposals by `{spec.against}`" if spec.against else "")


def _size(spec: Spec) -> str:
    behind = "" if spec.locals is None else f" behind the first {spec.locals} layers"
    return f"{spec.width}, " + (f"MLP {spec.hidden}{behind}" if spec.hidden else "no MLP")


def _growth(spec: Spec) -> str:
    """The stack that is trained first and what is added to it, in words."""
    if spec.first is None:
        return ""
    before, after = (len(Architecture.parse(text).layers) for text in (spec.first, spec.architecture))
    return (
        f"`{spec.first}` for at most {spec.first_steps:,} steps, then {after - before} more layers that "
        f"begin by adding nothing, for at most {spec.steps:,} steps"
    )
