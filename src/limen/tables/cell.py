"""The parts of a cell: a verdict at concrete sizes, the order of its bound, and checked evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from limen.core.certificate import Witness
from limen.core.differences import Difference
from limen.core.kernel import Files
from limen.core.measurement import Trained
from limen.core.proof import Claim
from limen.core.report import Result
from limen.core.task import Task
from limen.core.verdict import Answer

if TYPE_CHECKING:
    from limen.model.model import Model
    from limen.tables.report import TableReport


class EvidenceError(Exception):
    """Evidence does not hold or contradicts other evidence: a bug in Limen."""


class Formula(msgspec.Struct, frozen=True):
    """Ω(…) or O(…) and of which quantity, the exact inequality, and the papers' order."""

    order: str | None
    of: str
    inequality: str
    source: str  # the id of a theorem or a construction
    mark: str | None = None  # confirmed, sharper, weaker, corrected; null where the papers say nothing
    paper: str | None = None  # their order, and who says so
    note: str | None = None  # what is to be said of the difference


@dataclass(frozen=True)
class Evidence:
    """A certificate that the checker accepted, in words, and the folder or file it is saved in."""

    kind: str
    says: str
    certificate: Witness
    file: str
    model: Model | None = field(default=None, repr=False, compare=False)
    numbers: Mapping[str, float | int | str | None] = field(default_factory=dict)
    files: Files | None = field(default=None, repr=False, compare=False)  # a model as it is saved


@dataclass(frozen=True)
class Cell:
    """One architecture and one task."""

    row: str
    column: str
    task: str
    architecture: str
    steps: int
    answer: Answer
    reason: str
    formula: Formula | None = None
    evidence: tuple[Evidence, ...] = ()
    argued: bool = False  # open, but a proof on paper says that some weights do it
    believed: str = ""  # open, but this conjecture says that none do: never counted as proved
    known: tuple[str, ...] = ()  # of an open cell, and beside a verdict
    statement: str = ""  # the theorem or construction in one sentence
    why: str = ""  # the first sentences of its proof
    proof: Claim | None = None  # what Coq proves of a CANNOT, at these sizes or at larger ones
    differences: tuple[Difference, ...] = ()  # what the sources say of this case, and how it compares
    trained: Trained | None = None  # what an experiment saw a stack of this kind learn: of another kind
    fooled: str = ""  # a trained model of this kind that errs, in words: an illustration
    seconds: float = 0.0

    @property
    def machine_checked(self) -> bool:
        """Whether the verdict itself, at its own sizes, has a proof that Coq checks."""
        return self.proof is not None and Task.parse(self.proof.task) == Task.parse(self.task)


@dataclass(frozen=True, repr=False)
class EvidenceTable(Result):
    """Cells by row and column, in the order of the table."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: dict[tuple[str, str], Cell]
    full: bool
    seconds: float
    page: str | None = None  # the file that was written

    @property
    def headline(self) -> str:
        return self.report.headline

    @cached_property
    def report(self) -> TableReport:
        from limen.tables.report import report

        return report(self)

    def __getitem__(self, at: tuple[str, str]) -> Cell:
        return self.cells[at]
