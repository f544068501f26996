"""The whole table, cell after cell, and its certificates in a folder."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from itertools import chain
from pathlib import Path

from limen.core.certificate import encode
from limen.core.errors import BadInput, unknown
from limen.core.folder import ready_folder, refuse_foreign, write_folder
from limen.core.verdict import Answer
from limen.model.files import HEADER, WEIGHTS, model_files
from limen.tables.cell import Cell, EvidenceTable
from limen.tables.columns import COLUMNS
from limen.tables.evidence import cell
from limen.tables.rows import ROWS

REPORT, PAGE = "report.json", "report.html"


def build(
    rows: Iterable[str] = (),
    columns: Iterable[str] = (),
    full: bool = False,
    progress: Callable[[str, Answer, int, int], None] = lambda name, answer, done, total: None,
    cores: int = 1,
) -> EvidenceTable:
    """All rows and columns unless some are named; on several cores a column a process."""
    start = time.perf_counter()
    chosen = tuple(_named("row", rows, ROWS)), tuple(_named("column", columns, COLUMNS))
    cells: dict[tuple[str, str], Cell] = {}
    total = len(chosen[0]) * len(chosen[1])
    several = cores > 1 and len(chosen[1]) > 1
    for made in _at_once(*chosen, full, cores) if several else _one_by_one(*chosen, full):
        cells[made.row, made.column] = made
        progress(f"{ROWS[made.row].name} · {COLUMNS[made.column].title}", made.answer, len(cells), total)
    ordered = {(row, column): cells[row, column] for column in chosen[1] for row in chosen[0]}
    return EvidenceTable(*chosen, ordered, full, time.perf_counter() - start)


def _one_by_one(rows: Sequence[str], columns: Sequence[str], full: bool) -> Iterator[Cell]:
    """Column by column, since a column shares its runs."""
    for column in columns:
        yield from (cell(ROWS[row], COLUMNS[column], full) for row in rows)


def _at_once(rows: Sequence[str], columns: Sequence[str], full: bool, cores: int) -> Iterator[Cell]:
    """As they get ready.  What is wrong in one column ends the others, and so does an interruption."""
    spawn = multiprocessing.get_context("spawn")  # a fork would inherit torch's threads
    with ProcessPoolExecutor(min(cores, len(columns)), spawn, _ends_with_its_parent) as pool:
        try:
            for ready in as_completed([pool.submit(_column, rows, column, full) for column in columns]):
                yield from ready.result()
        except BrokenProcessPool as error:
            raise BadInput("a process of the table was ended from outside; try fewer --cores") from error
        finally:  # after an error or an interruption nobody waits for the other columns
            for process in multiprocessing.active_children():
                process.terminate()


def _column(rows: Sequence[str], column: str, full: bool) -> list[Cell]:
    return list(_one_by_one(rows, [column], full))


def _ends_with_its_parent() -> None:
    """A process of the pool would wait for work for ever if the command were killed; one who interrupts it
    is answered by the command alone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    assert parent is not None

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _named(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Those that are named, in the order of the table."""
    wanted, known = list(names), list(known)
    for name in wanted:
        if name not in known:
            raise unknown(what, name, known)
    return [name for name in known if name in wanted or not wanted]


def write(table: EvidenceTable, folder: Path, pages: dict[str, bytes]) -> None:
    """Certificates, models and pages, the pages last; what else the folder holds stays as it is."""
    refuse(folder)
    write_folder(folder, chain(_evidence(table), pages.items()))


def refuse(folder: Path) -> None:
    """Known before the work: the folder cannot be written, or holds another's report."""
    ready_folder(folder)
    refuse_foreign(folder, REPORT, REPORT, PAGE)


def _evidence(table: EvidenceTable) -> Iterator[tuple[str, bytes]]:
    """Each file once, though cells share some."""
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
