"""The whole table, cell after cell, and its certificates in a folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from limen.core.certificate import encode
from limen.core.errors import BadInput, unknown
from limen.core.files import save, write_whole
from limen.table.cell import Cell, Table
from limen.table.columns import COLUMNS
from limen.table.evidence import cell
from limen.table.rows import ROWS

REPORT = "report.json"  # what marks a folder as one that a table may replace


def build(
    rows: Iterable[str] = (),
    columns: Iterable[str] = (),
    full: bool = False,
    progress: Callable[[Cell, int, int], None] = lambda cell, done, total: None,
) -> Table:
    """All rows and columns unless some are named; column by column, since a column shares its runs."""
    start = time.perf_counter()
    chosen = tuple(_named("row", rows, ROWS)), tuple(_named("column", columns, COLUMNS))
    cells: dict[tuple[str, str], Cell] = {}
    total = len(chosen[0]) * len(chosen[1])
    for column in chosen[1]:
        for row in chosen[0]:
            cells[row, column] = cell(ROWS[row], COLUMNS[column], full)
            progress(cells[row, column], len(cells), total)
    return Table(*chosen, cells, full, time.perf_counter() - start)


def _named(what: str, names: Iterable[str], known: Iterable[str]) -> list[str]:
    """Those that are named, in the order of the table."""
    wanted, known = list(names), list(known)
    for name in wanted:
        if name not in known:
            raise unknown(what, name, known)
    return [name for name in known if name in wanted or not wanted]


def write(table: Table, folder: Path, pages: dict[str, bytes]) -> None:
    """Certificates, models and pages; the folder appears, or is replaced, only when all is written."""
    refuse(folder)
    part = folder.with_name(folder.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        for made in table.cells.values():
            for evidence in made.evidence:
                path = part / evidence.file
                path.parent.mkdir(parents=True, exist_ok=True)
                write_whole(path, encode(evidence.certificate))
                if evidence.model is not None:
                    save(evidence.model, path.parent)
        part.mkdir(parents=True, exist_ok=True)
        for name, content in pages.items():
            write_whole(part / name, content)
        if folder.exists():
            shutil.rmtree(folder)
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def refuse(folder: Path) -> None:
    """A folder that holds anything else than an earlier report is not touched."""
    if folder.exists() and not folder.is_dir():
        raise BadInput(f"{folder} is not a folder")
    if folder.exists() and any(folder.iterdir()) and not (folder / REPORT).is_file():
        raise BadInput(f"{folder} is not empty and holds no {REPORT}: name another folder with --out")
