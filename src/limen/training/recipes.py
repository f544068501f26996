"""How the cells of an experiment were trained, read from the specs of their results."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from limen.core.architecture import Architecture
from limen.training.lesson import Lesson, Questions, lesson_of
from limen.training.spec import DECAY, Spec
from limen.training.words import WordsTaught


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
    warmup: int  # steps
    rates: tuple[float, ...]  # of which it was the best on the validation seed; empty: no other was tried
    steps: int  # at most
    growth: str  # empty: the whole stack is trained on the whole task from the first step on
    against: str  # overfitting: dropout and weight decay, where they are not as usual


def recipe(specs: Sequence[Spec], rates: tuple[float, ...] = ()) -> Recipe:
    """The recipe of the runs of one cell, which differ in start and seed alone."""
    spec = specs[0]
    lesson = lesson_of(spec)
    return Recipe(
        starts=tuple(dict.fromkeys(spec.start for spec in specs)),
        seeds=len({spec.seed for spec in specs}),
        batch=spec.batch,
        questions=_questions(lesson),
        labels=_labels(spec),
        inputs=_inputs(spec),
        size=_size(spec),
        rate=spec.rate,
        warmup=spec.warmup,
        rates=rates,
        steps=spec.first_steps + spec.steps,
        growth=_growth(spec),
        against=_against(spec),
    )


def _questions(lesson: Lesson) -> int:
    if isinstance(lesson, WordsTaught):
        return lesson.questions_each
    return lesson.queries if isinstance(lesson, Questions) else lesson.task.asks


def _labels(spec: Spec) -> str:
    """The answers that a step of training uses, in words."""
    lesson = lesson_of(spec)
    if spec.thought:
        return "chain"
    if spec.hops:
        return "hops" if spec.model_type is None else "hops, and the name before"
    return "dense" if spec.dense and lesson.so_far else "final"


def _inputs(spec: Spec) -> str:
    drawn = (
        "hard" if spec.hard else spec.distribution or "plain"
    ) + ", in English, every next word is a label" * spec.words
    drawn += f", plain rows for {spec.model_type} of transformers" if spec.model_type else ""
    drawn += f", which begins as {spec.begins}" if spec.begins else ""
    sizes = ", several sizes (batch and questions of the longest, tokens a step alike)" if spec.mixed else ""
    return f"{drawn}{sizes}" + (f", and proposals by `{spec.against}`" if spec.against else "")


def _size(spec: Spec) -> str:
    behind = "" if spec.locals is None else f" behind the first {spec.locals} layers"
    return f"{spec.width}, " + (f"MLP {spec.hidden}{behind}" if spec.hidden else "no MLP")


def _growth(spec: Spec) -> str:
    """The stack that is trained first and what is added to it, in words."""
    if spec.curriculum:
        steps = spec.easier // len(spec.curriculum)
        return f"{', '.join(f'`{task}`' for task in spec.curriculum)} first, at most {steps:,} steps each"
    if spec.first is None:
        return ""
    before, after = (len(Architecture.parse(text).layers) for text in (spec.first, spec.architecture))
    return (
        f"`{spec.first}` for at most {spec.first_steps:,} steps, then {after - before} more layers that "
        f"begin by adding nothing, for at most {spec.steps:,} steps"
    )


def _against(spec: Spec) -> str:
    words = [f"dropout {spec.dropout:g}"] * bool(spec.dropout)
    return ", ".join([*words, *[f"decay {spec.decay:g}"] * (spec.decay != DECAY)])
