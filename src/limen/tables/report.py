"""The table as plain data: all that a terminal, a paper or the page shows."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from limen.core.certificate import Collision, Witness
from limen.core.differences import Difference
from limen.core.measurement import Trained
from limen.core.report import Report
from limen.core.task import Task
from limen.core.verdict import Answer
from limen.tables.cell import Cell, Evidence, EvidenceTable, Formula
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS


class EvidenceReport(msgspec.Struct, frozen=True, kw_only=True):
    """A certificate, in words, with its numbers, and the file it is saved in."""

    kind: str
    says: str
    file: str
    numbers: dict[str, float | int | str | None]
    players: tuple[int, ...] | None  # of two inputs that are confused: how many tokens each player holds
    certificate: Witness


class ProofReport(msgspec.Struct, frozen=True, kw_only=True):
    """The theorem of `proofs/` that a Coq proof uses, and the sizes that it is about."""

    form: str
    task: str


class CellReport(msgspec.Struct, frozen=True, kw_only=True):
    """One architecture and one task."""

    column: str
    task: str
    tokens: int  # of a text
    verdict: Answer
    argued: bool
    believed: str | None  # of what is open: the conjecture that says no
    formula: Formula | None
    reason: str
    statement: str
    why: str
    known: tuple[str, ...]
    proof: ProofReport | None
    machine_checked: bool
    differences: tuple[Difference, ...]
    trained: Trained | None  # measured, of another kind than the rest
    fooled: str | None  # an illustration: about some weights, not about the architecture
    evidence: tuple[EvidenceReport, ...]
    seconds: float


class RowReport(msgspec.Struct, frozen=True, kw_only=True):
    """An architecture, what it sees of the text, and its cells."""

    row: str
    name: str
    architecture: str
    steps: int
    sees: str
    papers: bool
    cells: tuple[CellReport, ...]


class ColumnReport(msgspec.Struct, frozen=True, kw_only=True):
    """A task: what it asks, in words."""

    column: str
    title: str
    asks: str
    papers: bool


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Cells by what is known of them; what is argued or believed impossible is open, counted apart."""

    can: int
    cannot: int
    conditional: int
    open: int
    argued: int


class TableReport(Report, frozen=True, kw_only=True, tag="limen/table/1"):
    """Architectures × tasks, with the evidence of every cell."""

    counts: Counts
    full: bool
    seconds: float
    certificates: int  # files: cells may share a run of the same weights
    columns: tuple[ColumnReport, ...]
    rows: tuple[RowReport, ...]
    page: str | UnsetType = msgspec.field(default=UNSET, name="report")  # the file that was written

    @property
    def headline(self) -> str:
        cells, counts = sum(len(row.cells) for row in self.rows), self.counts
        unknown = counts.open + counts.argued + counts.conditional
        return f"{cells} cells: {counts.can} can, {counts.cannot} cannot, {unknown} open"

    @property
    def cells(self) -> tuple[CellReport, ...]:
        return tuple(cell for row in self.rows for cell in row.cells)


def report(table: EvidenceTable) -> TableReport:
    """The table's report, rows and columns in the order of the table."""
    cells = table.cells.values()
    argued, believed = sum(cell.argued for cell in cells), sum(bool(cell.believed) for cell in cells)
    return TableReport(
        counts=Counts(
            can=sum(cell.answer is Answer.CAN for cell in cells),
            cannot=sum(cell.answer is Answer.CANNOT for cell in cells),
            conditional=believed,
            open=sum(cell.answer is Answer.OPEN for cell in cells) - argued - believed,
            argued=argued,
        ),
        full=table.full,
        seconds=round(table.seconds, 2),
        certificates=len({e.file for cell in cells for e in cell.evidence}),
        columns=tuple(map(_column, table.columns)),
        rows=tuple(_row(table, row) for row in table.rows),
        page=UNSET if table.page is None else table.page,
    )


def _column(name: str) -> ColumnReport:
    column = COLUMNS[name]
    return ColumnReport(column=name, title=column.title, asks=column.asks, papers=column.papers)


def _row(table: EvidenceTable, name: str) -> RowReport:
    row = ROWS[name]
    return RowReport(
        row=name,
        name=row.name,
        architecture=row.text,
        steps=row.steps,
        sees=row.sees,
        papers=row.papers,
        cells=tuple(_cell(table[name, column]) for column in table.columns),
    )


def _cell(cell: Cell) -> CellReport:
    return CellReport(
        column=cell.column,
        task=cell.task,
        tokens=Task.parse(cell.task).length,
        verdict=cell.answer,
        argued=cell.argued,
        believed=cell.believed or None,
        formula=cell.formula,
        reason=cell.reason,
        statement=cell.statement,
        why=cell.why,
        known=cell.known,
        proof=ProofReport(form=cell.proof.form, task=cell.proof.task) if cell.proof else None,
        machine_checked=cell.machine_checked,
        differences=cell.differences,
        trained=cell.trained,
        fooled=cell.fooled or None,
        evidence=tuple(map(_evidence, cell.evidence)),
        seconds=round(cell.seconds, 3),
    )


def _evidence(evidence: Evidence) -> EvidenceReport:
    certificate = evidence.certificate
    return EvidenceReport(
        kind=evidence.kind,
        says=evidence.says,
        file=evidence.file,
        numbers=dict(evidence.numbers),
        players=_held(certificate) if isinstance(certificate, Collision) else None,
        certificate=certificate,
    )


def _held(pair: Collision) -> tuple[int, ...]:
    return tuple(len(player.tokens) for player in Task.parse(pair.task).players())
