"""The whole table, cell after cell, and its certificates in a folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, as_completed
from itertools import chain
from pathlib import Path

from limen.core.certificate import encode
from limen.core.verdict import Answer
from limen.errors import unknown
from limen.files.folder import ready_folder, refuse_foreign, write_folder
from limen.model.files import HEADER, WEIGHTS, model_files
from limen.tables.cell import Cell, EvidenceTable
from limen.tables.columns import COLUMNS
from limen.tables.evidence import cell
from limen.tables.rows import ROWS

REPORT, PAGE = "report.json", "report.html"
_LONG = "dyck", "composition", "counting", "eva"  # columns that begin first, so that none is waited for


def build(
    rows: Iterable[str] = (),
    columns: Iterable[str] = (),
    full: bool = False,
    progress: Callable[[str, Answer, int, int], None] = lambda name, answer, done, total: None,
    pool: Executor | None = None,
) -> EvidenceTable:
    """The table of the named rows and columns, default all; with a pool, one process a column."""
    start = time.perf_counter()
    chosen = named_rows(rows), named_columns(columns)
    cells: dict[tuple[str, str], Cell] = {}
    total = len(chosen[0]) * len(chosen[1])
    for made in _one_by_one(*chosen, full) if pool is None else _at_once(*chosen, full, pool):
        cells[made.row, made.column] = made
        progress(f"{ROWS[made.row].name} · {COLUMNS[made.column].title}", made.answer, len(cells), total)
    ordered = {(row, column): cells[row, column] for column in chosen[1] for row in chosen[0]}
    return EvidenceTable(*chosen, ordered, full, time.perf_counter() - start)


def _one_by_one(rows: Sequence[str], columns: Sequence[str], full: bool) -> Iterator[Cell]:
    """The cells column by column, since the cells of a column share their runs."""
    for column in columns:
        yield from (cell(ROWS[row], COLUMNS[column], full) for row in rows)


def _at_once(rows: Sequence[str], columns: Sequence[str], full: bool, pool: Executor) -> Iterator[Cell]:
    """The cells in the order in which the processes finish them."""
    longest_first = sorted(columns, key=lambda column: column not in _LONG)
    for ready in as_completed([pool.submit(_column, rows, column, full) for column in longest_first]):
        yield from ready.result()


def _column(rows: Sequence[str], column: str, full: bool) -> list[Cell]:
    return list(_one_by_one(rows, [column], full))


def named_rows(names: Iterable[str]) -> tuple[str, ...]:
    """The ids of the named rows, or of all."""
    return tuple(_named("row", names, ROWS))


def named_columns(names: Iterable[str]) -> tuple[str, ...]:
    """The ids of the named columns, or of all."""
    return tuple(_named("column", names, COLUMNS))


def _named(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """The named entries, in the order of the table; all if none is named."""
    wanted, known = list(names), list(known)
    for name in wanted:
        if name not in known:
            raise unknown(what, name, known)
    return [name for name in known if name in wanted or not wanted]


def write(table: EvidenceTable, folder: Path, pages: dict[str, bytes]) -> None:
    """Writes certificates, models and pages, the pages last; other files of the folder stay."""
    refuse(folder)
    write_folder(folder, chain(_evidence(table), pages.items()))


def refuse(folder: Path) -> None:
    """Refuses, before any work, a folder that cannot be written or holds a report not written by Limen."""
    ready_folder(folder)
    refuse_foreign(folder, REPORT, REPORT, PAGE)


def _evidence(table: EvidenceTable) -> Iterator[tuple[str, bytes]]:
    """The files of the evidence, each once though cells share some."""
    seen = set()
    for made in table.cells.values():
        for evidence in made.evidence:
            if evidence.file in seen:
                continue
            seen.add(evidence.file)
            beside = Path(evidence.file).parent
            saved = zip((HEADER, WEIGHTS), evidence.files or (), strict=False)
            for name, content in saved if evidence.model is None else model_files(evidence.model):
                yield str(beside / name), content
            yield evidence.file, encode(evidence.certificate)
