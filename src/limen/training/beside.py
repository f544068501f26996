"""Theory beside training: for each cell of the shipped results, what is decided and what was learned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from limen.core.measurement import Outcome
from limen.core.verdict import Answer
from limen.errors import BadInput
from limen.training.judged import JudgedCell, Section


class Beside(NamedTuple):
    """A cell of an experiment with the verdict about its stack, in the precision in which it was trained."""

    experiment: str
    judged: JudgedCell
    answer: Answer

    @property
    def accuracy(self) -> float:
        return self.judged.best.mean


def beside(sections: Iterable[Section]) -> list[Beside]:
    """Every cell once for each task and stack; raises if something was learned that is proved impossible."""
    cells = [Beside(one.name, cell, cell.limits.answer) for one in sections for cell in one.cells]
    for cell in cells:
        if cell.answer is Answer.CANNOT and cell.judged.outcome is Outcome.LEARNED:
            raise BadInput(f"{cell.experiment}, {cell.judged.cell.name}: learned, but proved impossible")
    return cells
