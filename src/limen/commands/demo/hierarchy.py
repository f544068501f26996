"""Show that RNN < RNN + CoT < Transformer, case by case.

Each step of the inequality [wen2025] by what shows it.

In bits a chain of thought adds nothing to a recurrence: what it writes is a function of its state.  What it
adds is computation, so the first step is about networks of a given size: weights that think do what none of
that size does at once.  The second step is about bits, and holds whatever the recurrence computes.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from limen.commands._command import Shown, command
from limen.commands._words import Seed
from limen.constructions.index_by_relu_rnn import IndexByReluRnn
from limen.core.architecture import Architecture
from limen.core.numbers import Precision
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.decisions.decide import decide
from limen.solutions import solve
from limen.tasks.index import Index

_THINKS = 2**24
# What a Transformer of one or two layers does and a recurrence does not, however long it thinks [wen2025].
_TASKS = "recall(n=2048,V=8192)", "index(n=65536,S=2)", "cgram(n=8192,c=3,V=1024)", "counting(n=1024,S=1024)"
_TREE = "is_tree(n=256)"  # here the Transformer thinks as well
_RNN = "relu_rnn(d=16,stages=3,inner=64,p=32)"
_FULL = "2*softmax(h=8,d=128,d_k=256,p=64)"


class Rung(msgspec.Struct, frozen=True):
    """One case: what is said of it, and by what."""

    task: str
    architecture: str
    steps: int
    says: str  # a verdict; or what a run showed
    by: str


class HierarchyReport(Report, frozen=True, kw_only=True, tag="limen/hierarchy/1"):
    """The two inequalities."""

    thinks: tuple[Rung, ...]  # weights of a small recurrence that thinks
    cells: int  # what recurrences of that size tell apart without thinking, at most
    strings: int  # and what they must
    recurrent: tuple[Rung, ...]  # recurrences that think as long as they like
    full: tuple[Rung, ...]  # Transformers, on the same tasks
    tree: Rung  # one that thinks

    @property
    def headline(self) -> str:
        return "RNN < RNN + CoT < Transformer"

    @property
    def holds(self) -> bool:
        """Whether every case is as the inequalities say; `tree` is argued, and not counted."""
        run = all(rung.says != "wrong" for rung in self.thinks) and self.cells < self.strings
        apart = zip(self.recurrent, self.full, strict=False)
        return run and all(rnn.says == Answer.CANNOT and full.says == Answer.CAN for rnn, full in apart)


@command(
    example="limen demo hierarchy --bits 40",
    answers=(Shown("limen.commands.demo.hierarchy:HierarchyReport", "limen.render.demo.hierarchy:lines_of"),),
)
def hierarchy(
    bits: Annotated[
        int, Option("Length of the bit string that the recurrence stores in one number.", least=2, most=48)
    ] = 40,
    seed: Seed = 0,
) -> HierarchyReport:
    """A recurrence with a state of one number solves a task with chain of thought, but not in one pass.
    Chain of thought does not recover what a recurrence has forgotten; a Transformer can look back.
    The exit code is 1 if a case does not show its inequality, as with small --bits.
    """
    n = bits
    thinking = IndexByReluRnn(Index(n, 2))
    return HierarchyReport(
        thinks=(_ran(IndexByReluRnn(Index(8, 2)), seed), _ran(thinking, seed)),
        cells=thinking.cells,
        strings=2**n,
        recurrent=tuple(_decided(task, _RNN, _THINKS) for task in (*_TASKS, _TREE)),
        full=tuple(_decided(task, _FULL, 0) for task in _TASKS),
        tree=_decided(_TREE, _FULL, _THINKS),
    )


def _ran(built: IndexByReluRnn, seed: int) -> Rung:
    solution = solve(built, Precision.parse("float64"), seed=seed)[0]
    tried = f"all {solution.tried:,} inputs" if solution.exhaustive else f"{solution.tried:,} drawn inputs"
    by = f"{built}: {solution.wrong} wrong on {tried}"
    return Rung(solution.task, str(built.frame().architecture), built.steps, solution.standing, by)


def _decided(task: str, stack: str, steps: int) -> Rung:
    verdict = decide(Task.parse(task), Architecture.parse(stack), steps)
    return Rung(task, stack, steps, verdict.answer, verdict.reason)
