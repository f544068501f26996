"""Show the limits of block-sparse attention on 2-Sum.

What one block-sparse layer may reach, over block size and message bits.

The slides: a message of Hdp bits is too short where 2^{Hdp} < C(n,B) [ye2026].  Here a message is a key and
a value, w = h(d_k+d)p bits: twice that where keys are as large as values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Annotated

import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import TASK, TaskLike, task_of
from limen.core import quantities
from limen.core.architecture import Architecture
from limen.core.bits import power_bits
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import Task
from limen.decisions.decide import decide
from limen.errors import BadInput
from limen.tasks.two_sum import TwoSum
from limen.theorems.block_messages.rates import HALF_YES, Balanced, balanced, detected, subset_bits

_MOST = 4096  # tokens of a block for which binomials are written out
_CUT = 2**-20  # how finely the least rate of false positives is looked for


class Capacity(msgspec.Struct, frozen=True, kw_only=True):
    """One block size and one message."""

    B: int
    message_bits: int  # w = h(d_k+d)p
    verdict: str
    accuracy: float | None  # the highest on random inputs, where a theorem says one
    missed: float | None  # at least so many pairs are missed where none is invented
    invented: float | None  # at least so many are invented where none is missed


class Needed(msgspec.Struct, frozen=True, kw_only=True):
    """What a message of a block of B tokens must have, in bits."""

    B: int
    slide: int  # log₂ C(n,B): one map for all blocks
    shared: int  # log₂ Σ_{1≤i≤B} C(M,i): the same, with all sets
    any: int | None  # maps that may differ from block to block, κ blocks being opened
    enough: int  # B·⌈log₂M⌉: the tokens themselves


class SparseReport(Report, frozen=True, kw_only=True, tag="limen/sparse/1"):
    """The curve, and beside it what is needed and what is enough."""

    task: str
    opened: int
    distribution: str  # of the inputs that all rates are about
    needed: tuple[Needed, ...]
    rows: tuple[Capacity, ...]

    @property
    def headline(self) -> str:
        return f"{self.task} by one block-sparse layer that opens {self.opened}: {len(self.rows)} sizes"


@command(
    example='limen demo sparse "two_sum(n=1024,M=2^20)" --blocks 16,64',
    answers=(
        Shown(
            "limen.commands.demo.sparse:SparseReport",
            "limen.render.demo.sparse:lines_of",
            picture="limen.render.plots:capacity_picture",
        ),
    ),
)
def sparse(
    task: Annotated[TaskLike, TASK],
    blocks: Annotated[
        Sequence[int], Option("Block sizes, separated by commas.", parse=quantities.numbers, line="4,16,64")
    ] = (4, 16, 64),
    opened: Annotated[int, Option("Number of blocks that a token reads.", least=1, most=2**20)] = 1,
    bits: Annotated[
        Sequence[int],
        Option(
            "Bits of a block's message: even numbers, separated by commas.",
            parse=quantities.numbers,
            line="2,8,32,128,512",
        ),
    ] = (2, 8, 32, 128, 512),
) -> SparseReport:
    """It prints how many bits a message must have. For shorter messages it prints the highest accuracy and
    the rates of missed and invented pairs.
    """
    return capacities(task_of(task), blocks, opened, bits)


def capacities(task: Task, blocks: Sequence[int], opened: int, bits: Sequence[int]) -> SparseReport:
    """Every block size with every message size."""
    if not isinstance(task, TwoSum):
        raise BadInput(f"limen demo sparse expects the task two_sum, got {task}")
    for B in blocks:
        if not 1 <= B <= min(task.n, _MOST):
            raise BadInput(f"a block must have 1 to {min(task.n, _MOST)} of the {task.n} tokens, got {B}")
    if any(w < 2 or w % 2 for w in bits):
        raise BadInput(
            "a message is a key and a value of equal size: its bits must be an even number, 2 or more"
        )
    return SparseReport(
        task=str(task),
        opened=opened,
        distribution=HALF_YES,
        needed=tuple(_needed(task, B, opened) for B in blocks),
        rows=tuple(_capacity(task, B, opened, w) for B in blocks for w in bits),
    )


def _stack(B: int, opened: int, w: int) -> Architecture:
    """One head with numbers of w/2 bits: a key and a value."""
    return Architecture.parse(f"block_sparse(h=1,d=1,B={B},k={opened},p={w // 2})")


def _needed(task: TwoSum, B: int, opened: int) -> Needed:
    said = decide(task, _stack(B, opened, 2)).report
    return Needed(
        B=B,
        slide=power_bits((comb(task.n, B), 1)),
        shared=subset_bits(task.M, B),
        any=said.needs_bits,
        enough=B * max(1, (task.M - 1).bit_length()),
    )


def _capacity(task: TwoSum, B: int, opened: int, w: int) -> Capacity:
    said = decide(task, _stack(B, opened, w)).report
    missed, invented = _rates(balanced(task, _stack(B, opened, w)))
    return Capacity(
        B=B, message_bits=w, verdict=said.verdict, accuracy=said.ceiling, missed=missed, invented=invented
    )


def _rates(average: Balanced | None) -> tuple[float | None, float | None]:
    """Least false negatives without false positives; least false positives without false negatives."""
    if average is None:
        return None, None
    low, high = 0.0, 1.0
    while high - low > _CUT:
        φ = (low + high) / 2
        low, high = (low, φ) if detected(average, φ) >= 1 else (φ, high)
    return 1 - detected(average, 0.0), low
