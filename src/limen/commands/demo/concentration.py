r"""Compare the attention of a retrieval head with its bounds.

How much weight the head puts on the right token: the source's bounds beside what is measured.

    α_i ≥ e^(log²n)/(e^(log²n) + n - 1),      α_j ≤ n^(-log n)          the slide's, for its own head

    α_i ≥ 1/(1 + (n-1)·e^-g + e^-s),          α_j ≤ e^-g                by the head's own gap g

s is what the right token scores more than the asking one, whose key is 0.  Two heads: the slide's, with keys
and questions scaled by log²n, so g = log⁴n, and Limen's, with signs, g = 2C.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import Seed, task_of
from limen.commands._words import Task as TaskText
from limen.constructions.retrieval_by_log_squared import RetrievalByLogSquared
from limen.constructions.retrieval_by_softmax import RetrievalBySoftmax
from limen.core.arrays import np
from limen.core.construction import Construction
from limen.core.report import Report
from limen.core.task import Task
from limen.errors import BadInput
from limen.model.attention import attention
from limen.model.model import Model
from limen.tasks.retrieval import Retrieval

_LONGEST = 512  # tokens of a text all of whose weights are looked at
_INPUTS = 4  # hard ones, of each size
_SIZES = 8, 4, 2, 1  # parts of n


class HeadSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One head at one length; weights are those of the asking token."""

    head: str
    n: int
    gap: float  # of the right token's score before any other key's
    largest_score: float
    off_slide: float  # 1 - α_i at most, as the slide bounds it
    off_bound: float  # by the gap
    off_seen: float  # the largest that was measured
    other_slide: float  # α_j at most: n^(-log n)
    other_bound: float
    other_seen: float

    @property
    def holds(self) -> bool:
        """Whether what was measured is within the bound by the head's own gap, but for float64's rounding."""
        return (
            self.off_seen <= self.off_bound + 1e-12
            and self.other_seen <= self.other_bound * (1 + 1e-9) + 1e-300
        )


class ConcentrationReport(Report, frozen=True, kw_only=True, tag="limen/concentration/1"):
    """Both heads at growing lengths."""

    task: str
    rows: tuple[HeadSeen, ...]
    accumulator_bits: int  # that a sum of n weights takes
    notes: tuple[str, ...]

    @property
    def headline(self) -> str:
        return f"{self.task}: weights of two retrieval heads beside their bounds"

    @property
    def holds(self) -> bool:
        return all(row.holds for row in self.rows)


@command(
    example='limen demo concentration "retrieval(n=64,D=8,V=16)"',
    answers=(
        Shown(
            "limen.commands.demo.concentration:ConcentrationReport",
            "limen.render.demo.concentration:lines_of",
            picture="limen.render.demo.concentration:concentration_picture",
        ),
    ),
)
def concentration(task: TaskText, seed: Seed = 0) -> ConcentrationReport:
    """It shows how much weight two heads put on wrong tokens: the slide's, with keys and
    queries scaled by log²n, and Limen's, with sign vectors.
    The exit code is 1 if a measured weight exceeds the bound that follows from the head's score gap.
    """
    return _concentrated(task_of(task), seed)


def _concentrated(task: Task, seed: int) -> ConcentrationReport:
    """Both heads at an eighth, a quarter, a half and all of n."""
    if not isinstance(task, Retrieval) or task.absent:
        raise BadInput(f"concentration expects retrieval without absent keys, got {task}")
    if not 16 <= task.n <= _LONGEST:
        raise BadInput(f"concentration: n must be 16 to {_LONGEST}, got {task.n}")
    sizes = [replace(task, n=task.n // part) for part in _SIZES]
    rows = [row for smaller in sizes for row in _heads(smaller, seed)]
    bits = math.ceil(math.log2(task.n)) + 3
    return ConcentrationReport(
        task=str(task), rows=tuple(rows), accumulator_bits=bits, notes=_notes(task, bits)
    )


def _heads(task: Retrieval, seed: int) -> Iterator[HeadSeen]:
    slide, ours = RetrievalByLogSquared(task), RetrievalBySoftmax(task)
    log4, C = slide.scale**2, ours.scale
    yield _seen(slide, log4, log4 * task.D, log4 * task.D, seed)
    yield _seen(ours, 2.0 * C, float(C * ours.words.k), float(C * ours.words.k), seed)


def _seen(c: Construction, gap: float, ahead: float, largest: float, seed: int) -> HeadSeen:
    assert isinstance(c.task, Retrieval)
    n = c.task.n
    off, other = _measured(c, seed)
    e = math.exp(-(math.log(n) ** 2))
    stray = (n - 1) * math.exp(-gap) + math.exp(-ahead)
    return HeadSeen(
        head=str(c),
        n=n,
        gap=gap,
        largest_score=largest,
        off_slide=(n - 1) * e / (1 + (n - 1) * e),
        off_bound=stray / (1 + stray),
        off_seen=off,
        other_slide=e,
        other_bound=math.exp(-gap),
        other_seen=other,
    )


def _measured(c: Construction, seed: int) -> tuple[float, float]:
    """The most weight off the right token, and the most on one other entry, on hard inputs in float64."""
    import torch

    model, off, other = Model.of(c), 0.0, 0.0
    drawn, _ = c.task.sample(np.random.default_rng(seed), _INPUTS, hard=True)
    for tokens in drawn:
        weights = attention(model, torch.as_tensor(tokens))[0].weights[-1]
        right = max(range(len(weights)), key=weights.__getitem__)
        rest = [w for i, w in enumerate(weights) if i != right]
        off, other = max(off, math.fsum(rest)), max(other, max(rest[:-1], default=0.0))
    return off, other


def _notes(task: Retrieval, bits: int) -> tuple[str, ...]:
    return (
        "The slide writes ⟨Q,K⟩ = log²n·D, but it scales both Q and K by log²n, so the product is log⁴n·D. "
        "This slip is on the safe side: the slide's bounds still hold.",
        "The slide has p = Θ(log n). A sum of n weights and an address of log₂n bits need that many bits; "
        f"here an accumulator needs {bits}. A single number needs only O(1) significant bits: see "
        f'limen solve "{task}" --smallest precision.',
    )
