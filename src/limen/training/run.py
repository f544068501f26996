"""Runs a spec: trains, tests on fresh inputs, compares with chance, counting and theorems."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

import lazy_loader
import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from limen.core.architecture import Architecture
from limen.core.measurement import Measurement
from limen.core.numbers import Precision
from limen.errors import BadInput
from limen.mixers.recurrence.libraries import libraries
from limen.model.model import Model
from limen.model.run import run as count
from limen.training.against import proposer
from limen.training.curriculum import enlarged, smaller
from limen.training.lesson import Lesson, lesson_of
from limen.training.limits import limits_of
from limen.training.pupil import Pupil
from limen.training.rounded import rounding_of
from limen.training.shaped import ShapedPupil, network
from limen.training.shortcuts import Shortcut, shortcut
from limen.training.spec import Spec
from limen.training.start import frame_of, grown, started
from limen.training.train import Seen, Taught, Watch, train
from limen.training.word_pupil import WordPupil

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_SHIFTED = 1000  # inputs of each other distribution
_ROUNDED = 300  # inputs in each precision
_PRECISIONS = (
    "bfloat16",
    "float8_e4m3",
    "float8_e5m2",
    "significand(t=6)",
    "significand(t=4)",
    "significand(t=2)",
)


@dataclass(frozen=True)
class Made:
    """When, where and how long; the only part of a result that differs from run to run.

    `machine` names the instructions that torch uses: others add in another order and round otherwise, as do
    runs that are trained together.  Of these each has its share of the time.
    """

    date: str
    machine: str
    seconds: float
    cpu_seconds: float
    together: int = 1  # runs that were trained as one


class RunResult(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="schema",
    tag="limen/run/1",
):
    """The result of one run, as its file holds it."""

    digest: str
    spec: Spec
    measurement: Measurement
    rule: str  # the shortcut that the floor is
    curve: list[tuple[int, float, float]]  # step, loss, accuracy
    shifts: dict[str, float]
    made: Made

    @property
    def told(self) -> str:
        """The accuracy in percent."""
        return f"{self.measurement.accuracy:.1%}"

    @property
    def drawn(self) -> str:
        """The distribution of the test inputs in words; training inputs may have more questions."""
        return lesson_of(self.spec).drawn(self.spec.hard).says


def run(spec: Spec, watch: Watch = lambda seen: None) -> tuple[RunResult, Pupil]:
    """The result of training and testing, and the pupil, with its model, after the last step."""
    return run_together([spec], watch)[0]


def run_together(specs: Sequence[Spec], watch: Watch = lambda seen: None) -> list[tuple[RunResult, Pupil]]:
    """The results and pupils of specs that differ in seed, rate and start alone, trained as one."""
    torch.set_num_threads(1)  # one core a run: two threads cost more than they bring at these sizes
    clocks = np.array([time.perf_counter(), time.process_time()])
    lesson = lesson_of(specs[0])
    taught = _taught(specs, lesson, watch)
    shares = (np.array([time.perf_counter(), time.process_time()]) - clocks) / len(specs)
    return [(_judged(pupil, course, shares, len(specs)), pupil) for pupil, course in taught]


def rehearsed(spec: Spec) -> None:
    """Raises what would end a run of it before the first step: a lesson that there is not, for one."""
    lesson = lesson_of(spec)
    if spec.model_type is not None:
        pupil = _shaped(spec, lesson)
    else:
        pupil = _pupil(spec, lesson, started(spec, lesson, frame_of(spec, lesson, spec.architecture)))
        for task in spec.curriculum:
            smaller(pupil.model, frame_of(spec, lesson_of(replace(spec, task=task)), spec.architecture))
    with torch.no_grad():
        pupil.loss(
            (lesson.thinking if spec.thought else lesson.batch)(np.random.default_rng(0), 2, spec.hard)
        )


def _judged(pupil: Pupil, taught: Taught, shares: NDArray[np.float64], together: int) -> RunResult:
    """The result on fresh inputs; `shares`: of the time for training, in seconds and CPU-seconds."""
    clocks = time.perf_counter(), time.process_time()
    spec, lesson = pupil.spec, pupil.lesson
    task, stack = spec.read()
    rng = np.random.default_rng([spec.seed, 3])
    accuracy = pupil.accuracy(rng, spec.judged)
    shifts = _shifted(pupil, rng) if spec.shifts else {}
    shifts |= _rounded(pupil, rng) if spec.precisions else {}
    shifts |= pupil.beside(rng) if isinstance(pupil, WordPupil) else {}
    counted = _shortcut(lesson, spec.hard)
    bits = limits_of(spec)
    measured = Measurement(
        task=str(task),
        architecture=str(stack),
        start=spec.start,
        seed=spec.seed,
        steps=taught.steps,
        accuracy=accuracy,
        best=max(accuracy, *(seen.accuracy for seen in taught.curve if seen.step >= spec.easier)),
        chance=counted.chance,
        floor=counted.accuracy,
        stop=taught.stop,
        state_bits=bits.state_bits,
        needs_bits=bits.needs_bits,
        provable=bits.provable,
        ceiling=bits.ceiling,
        versions=_versions(),
    )
    made = Made(
        datetime.now(UTC).strftime("%Y-%m-%d %H:%M"),
        f"{platform.machine()} ({torch.backends.cpu.get_cpu_capability()}), {platform.system()}",
        round(float(shares[0]) + time.perf_counter() - clocks[0], 1),
        round(float(shares[1]) + time.process_time() - clocks[1], 1),
        together,
    )
    return RunResult(
        digest=spec.digest,
        spec=spec,
        measurement=measured,
        rule=counted.rule,
        curve=[(seen.step, round(seen.loss, 4), round(seen.accuracy, 4)) for seen in taught.curve],
        shifts=shifts,
        made=made,
    )


def _taught(specs: Sequence[Spec], lesson: Lesson, watch: Watch) -> list[tuple[Pupil, Taught]]:
    """The trained pupils: after the smaller tasks of a curriculum, or after a smaller stack that is grown.

    What comes before counts in full, even if it stopped early.
    """
    spec = specs[0]
    if spec.model_type is not None:
        shaped = [_shaped(one, lesson) for one in specs]
        return list(zip(shaped, train(shaped, spec.steps, watch), strict=True))
    proposes = None if spec.against is None else proposer(spec.against)
    frame = frame_of(spec, lesson, spec.first or spec.architecture)
    pupils = [_pupil(one, lesson, started(one, lesson, frame)) for one in specs]
    share = spec.easier // max(len(spec.curriculum), 1)
    curves: list[list[Seen]] = [[] for _ in pupils]
    for i, task in enumerate(spec.curriculum):
        easier = lesson_of(replace(spec, task=task))
        small = frame_of(spec, easier, spec.architecture)
        some = [_pupil(pupil.spec, easier, smaller(pupil.model, small)) for pupil in pupils]
        _follow(curves, train(some, share, _after(i * share, watch)), i * share)
        models = [enlarged(p.model, one.model) for p, one in zip(pupils, some, strict=True)]
        pupils = [_pupil(one, lesson, model) for one, model in zip(specs, models, strict=True)]
    if spec.first is not None:
        _follow(curves, train(pupils, spec.first_steps, watch, proposes), 0)
        frame = frame_of(spec, lesson, spec.architecture)
        models = [grown(p.model, frame, torch.Generator().manual_seed(p.spec.seed + 1)) for p in pupils]
        pupils = [_pupil(one, lesson, model) for one, model in zip(specs, models, strict=True)]
    before = spec.easier + spec.first_steps
    last = train(pupils, spec.steps - spec.easier, _after(before, watch), proposes)
    _follow(curves, last, before)
    courses = [
        Taught(curve, taught.steps + before, taught.stop) for curve, taught in zip(curves, last, strict=True)
    ]
    return list(zip(pupils, courses, strict=True))


def _follow(curves: list[list[Seen]], stage: list[Taught], before: int) -> None:
    """Adds what was seen in a stage of training, after so many steps."""
    for curve, taught in zip(curves, stage, strict=True):
        curve += [seen._replace(step=seen.step + before) for seen in taught.curve]


def _after(before: int, watch: Watch) -> Watch:
    return lambda seen: watch(seen._replace(step=seen.step + before))


def _pupil(spec: Spec, lesson: Lesson, model: Model) -> Pupil:
    stack = model.frame.architecture
    noise = torch.Generator().manual_seed(spec.seed + 3)
    kind = WordPupil if spec.words else Pupil
    heads = _heads(spec, lesson, stack)
    return kind(model, lesson, spec, rounding_of(spec, lesson, stack), heads, noise)


def _shaped(spec: Spec, lesson: Lesson) -> Pupil:
    heads = _heads(spec, lesson, Architecture.parse(spec.architecture))
    return ShapedPupil(network(spec, lesson.answers), lesson, spec, heads=heads)


def _heads(spec: Spec, lesson: Lesson, stack: Architecture) -> dict[int, torch.Tensor]:
    """Readouts after each layer but the last: after layer l it must give hop l."""
    if not spec.hops:
        return {}
    hops = lesson.batch(np.random.default_rng(0), 1, spec.hard).hops
    if hops is None:
        raise BadInput(f"{spec.task} has no hops that could be asked for")
    hops_asked = hops.shape[-1] - 1  # the last hop is the answer
    generator = torch.Generator().manual_seed(spec.seed + 2)
    return {
        l: torch.randn(spec.width, lesson.answers, generator=generator) * spec.width**-0.5
        for l in range(min(hops_asked, len(stack.layers) - 1))
    }


def _shifted(pupil: Pupil, rng: np.random.Generator) -> dict[str, float]:
    """The accuracy on each other distribution that the lesson knows."""
    lesson = pupil.lesson
    inputs = lesson.shifted(rng, _SHIFTED)
    return {
        name: float((pupil.answers(x) == lesson.read_as(x).answer(x)).mean()) for name, x in inputs.items()
    }


def _rounded(pupil: Pupil, rng: np.random.Generator) -> dict[str, float]:
    """The accuracy with weights and the result of every operation in fewer bits."""
    task = pupil.lesson.task
    tokens, _ = pupil.lesson.sample(rng, _ROUNDED, pupil.spec.hard)
    counts = {name: count(pupil.model, task, Precision.parse(name), [tokens]) for name in _PRECISIONS}
    return {f"in {name}": 1 - tried.wrong / tried.tried for name, tried in counts.items()}


@cache
def _shortcut(lesson: Lesson, hard: bool) -> Shortcut:
    return shortcut(lesson.task, hard, draws=lesson.sample)


def _versions() -> dict[str, str]:
    return {
        "limen": version("limen"),
        "python": ".".join(map(str, sys.version_info[:3])),
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "rule": "C" if libraries().by_real else "torch",  # who runs matrix memories: they round differently
    }
