"""Show blocks, a token index and full attention side by side: 2-Sum and equality at one size.

A block's message is about all of its tokens, so one block-sparse layer misses a partner in 2-Sum [ye2026]; an
index key is about one token, and finds it [deepseek2025dsa].  A question about all tokens at once, equality,
is beyond one layer of either, and of narrow full attention; two layers do it, where each token asks.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from limen.commands._command import Shown, command
from limen.core.architecture import Architecture
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer, Verdict
from limen.decisions.decide import decide

_STACKS = {
    "blocks of 64, 16 opened": "block_sparse(h=1,d=32,d_k=32,B=64,k=16,p=16)",
    "token index, 1 token read": "top_k(h=1,d=32,k=1,h_i=2,d_i=128,p=16)",
    "token index, 2,048 read": "top_k(h=2,d=32,k=2048,h_i=2,d_i=128,p=16)",
    "full attention": "softmax(h=2,d=64,p=16)",
}
_EXPECTED = {  # by one layer of each, and by two of the second and fourth
    "two_sum": ((0, 1, Answer.CANNOT), (1, 1, Answer.CAN), (2, 1, Answer.CAN), (3, 1, Answer.CAN)),
    "equality": (
        (0, 1, Answer.CANNOT), (1, 1, Answer.CANNOT), (2, 1, Answer.CANNOT), (3, 1, Answer.CANNOT),
        (1, 2, Answer.CAN), (3, 2, Answer.CAN),
    ),
}  # fmt: skip


class IndexCell(msgspec.Struct, frozen=True, kw_only=True):
    """One stack and one task."""

    task: str
    attention: str  # in words
    layers: int
    architecture: str
    verdict: str
    reason: str


class IndexesReport(Report, frozen=True, kw_only=True, tag="limen/demo indexes/1"):
    """The screen."""

    n: int
    tasks: tuple[str, ...]
    cells: tuple[IndexCell, ...]

    @property
    def headline(self) -> str:
        return f"blocks, a token index and full attention on {' and '.join(self.tasks)}"

    @property
    def holds(self) -> bool:
        """Whether it comes out as the page says."""
        names = list(_STACKS)
        expected = {
            (task, names[i], layers): answer
            for task, cells in _EXPECTED.items()
            for i, layers, answer in cells
        }
        at = {(cell.task.partition("(")[0], cell.attention, cell.layers): cell.verdict for cell in self.cells}
        return all(at[key] == answer for key, answer in expected.items())


@command(
    example="limen demo indexes",
    answers=(Shown("limen.commands.demo.indexes:IndexesReport", "limen.render.demo.indexes:lines_of"),),
)
def indexes(
    n: Annotated[
        int, Option("Tokens of 2-Sum, and of a string of equality.", flag="-n", least=2, most=2**20)
    ] = 2**16,
) -> IndexesReport:
    """Which of them solve 2-Sum and equality at one size, with one layer and with two.
    The exit code is 1 if it does not come out as said, as with small -n.
    """
    tasks = [Task.parse(f"two_sum(n={n},M={1 << 24})"), Task.parse(f"equality(n={n})")]
    cells = [_cell(task, name, layers) for task in tasks for name in _STACKS for layers in (1, 2)]
    return IndexesReport(n=n, tasks=tuple(map(str, tasks)), cells=tuple(cells))


def _cell(task: Task, name: str, layers: int) -> IndexCell:
    stack = Architecture.parse(_STACKS[name] if layers == 1 else f"{layers}*{_STACKS[name]}")
    verdict: Verdict = decide(task, stack)
    return IndexCell(
        task=str(task),
        attention=name,
        layers=layers,
        architecture=str(stack),
        verdict=verdict.answer,
        reason=verdict.reason,
    )
