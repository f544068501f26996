"""Find where a stack stops on a task: verdicts at growing sizes.

One size grows, 2^4 … 2^26; sizes that the text leaves out grow with it, those that it gives stay.
"""

from __future__ import annotations

from itertools import groupby
from typing import Annotated

import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import Stack, Steps, TaskText, stack_of
from limen.commands.compare import kept_bytes
from limen.core import quantities
from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.option import Option
from limen.core.quantities import many, thought
from limen.core.report import Report
from limen.core.task import Task
from limen.core.text import parse_call
from limen.core.verdict import Answer, Verdict
from limen.decisions.decide import decide
from limen.errors import BadInput, unknown
from limen.training.learned import Learned, with_figures

SCALES = range(4, 27)  # the sizes are 2^k
_LONG = 2**40  # tokens: no window ends there


class StackRun(msgspec.Struct, frozen=True):
    """Equal layers in a row: how many, the layer's text, and the ids of the mixers side by side in it."""

    times: int
    layer: str
    mixers: tuple[str, ...]


class SizePoint(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict at one size, both sides of the nearest inequality, and the bytes that are kept."""

    size: int
    tokens: int
    verdict: Answer
    needs: int | None
    has: int | None
    unit: str | None
    theorem: str | None
    construction: str | None
    ceiling: float | None
    growing_bytes: int  # keys and values of every token
    fixed_bytes: int  # states, convolutions and windows
    reason: str
    argued: bool
    believed: str | None


class WhereReport(Report, frozen=True, kw_only=True, tag="limen/where/1"):
    """A stack and a task at growing sizes, and the smallest size found at which it is ruled out."""

    task: str  # as it was asked
    size: str  # the one that grows
    over: str | None  # as it was named, if it was
    at: int | None  # the size that was asked for beside the powers of two
    architecture: str
    steps: int
    runs: tuple[StackRun, ...]
    points: tuple[SizePoint, ...]
    stops_at: int | None
    stops_below: int | None
    bytes_per_token: int  # kept for each token of a long text
    growing_in: str  # the precision in which keys and values are counted
    in_exact_arithmetic: str | None  # what would be ruled out if the readout were affine
    learned: tuple[Learned, ...]  # what trained models did, where there is a figure; no verdict uses it
    incomplete: tuple[str, ...]  # what was left out, since a package is not installed

    @property
    def headline(self) -> str:
        stops = "no stop found" if self.stops_at is None else f"stops at {self.size} = {many(self.stops_at)}"
        return f"{self.task}  by  {self.architecture}{thought(self.steps)}: {stops}"


@command(
    example='limen where eva "3*linear(h=8,d=64)"',
    answers=(
        Shown(
            "limen.commands.where:WhereReport",
            "limen.render.where:lines_of",
            html="limen.commands._notebook:where",
            page="limen.render.where:page_of",
        ),
    ),
)
def where(
    task: TaskText,
    architecture: Stack,
    steps: Steps = 0,
    over: Annotated[
        str | None, Option("Which size of the task grows. Default: the task's own choice.")
    ] = None,
    at: Annotated[
        int | None,
        Option("Also at this size: 100000, 128k.", parse=quantities.tokens, least=1, most=2**40),
    ] = None,
) -> WhereReport:
    """A task with its other sizes, such as eva or composition(n1=16): one line a size, and where it flips."""
    size, stack = _growing(task, over), stack_of(architecture)
    sizes = sorted({2**k for k in SCALES} | ({at} if at is not None else set()))
    verdicts = [
        (n, grown, decide(grown, stack, steps, size)) for n in sizes if (grown := _grown(task, size, n, at))
    ]
    if not verdicts:
        _grown(task, size, sizes[0], sizes[0])
    stops = next((verdict.flips for _, _, verdict in reversed(verdicts) if verdict.flips), None)
    return WhereReport(
        task=task,
        size=size,
        over=over,
        at=at,
        architecture=str(stack),
        steps=steps,
        runs=tuple(_runs(stack)),
        points=tuple(_point(n, grown, stack, verdict) for n, grown, verdict in verdicts),
        stops_at=stops and stops.at,
        stops_below=stops and stops.below,
        bytes_per_token=sum(kept_bytes(stack, _LONG)[:2]) - sum(kept_bytes(stack, _LONG - 1)[:2]),
        growing_in=kept_bytes(stack, _LONG).growing_in,
        in_exact_arithmetic=verdicts[-1][2].in_exact_arithmetic,
        learned=with_figures(stack) if not steps else (),
        incomplete=tuple(dict.fromkeys(line for *_, verdict in verdicts for line in verdict.incomplete)),
    )


def _growing(task: str, over: str | None) -> str:
    """The size that grows, which the text leaves out."""
    sized = Task.parse(task)
    if (size := over or sized.grows) not in sized.sizes:
        raise unknown(f"size of {sized}", size, sized.sizes)
    if size in parse_call(task).arguments:
        raise BadInput(f"{size} is the size that grows: leave it out, and name it with --at")
    return size


def _grown(task: str, size: str, n: int, at: int | None) -> Task | None:
    """The task at a size; None where no such task exists, unless that size was asked for."""
    call = parse_call(task)
    words = [f"{key}={str(value).lower()}" for key, value in call.arguments.items()]
    try:
        return Task.parse(f"{call.name}({','.join([f'{size}={n}', *words])})")
    except BadInput:
        if n == at:
            raise
        return None


def _runs(stack: Architecture) -> list[StackRun]:
    groups = [(layer, sum(one.times for one in run)) for layer, run in groupby(stack.layers)]
    return [
        StackRun(times, str(layer.once), tuple(identifier(part.mixer) for part in layer.parts))
        for layer, times in groups
    ]


def _point(n: int, task: Task, stack: Architecture, verdict: Verdict) -> SizePoint:
    report, kept = verdict.report, kept_bytes(stack.reaching(task.length), task.length)
    return SizePoint(
        size=n,
        tokens=report.tokens,
        verdict=report.verdict,
        needs=report.needs,
        has=report.has,
        unit=report.unit,
        theorem=report.theorem,
        construction=report.construction,
        ceiling=report.ceiling,
        growing_bytes=kept.growing,
        fixed_bytes=kept.fixed,
        reason=report.reason,
        argued=bool(report.argued),
        believed=report.believed,
    )
