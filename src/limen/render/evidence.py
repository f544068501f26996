"""`limen table`: builds the table, writes the folder, and says what was found."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limen.core.errors import unknown
from limen.render.table import FORMATS, SIGN, fields, formatted, lines
from limen.tables.build import PAGE, REPORT, build, refuse, write
from limen.tables.cell import Cell, Table
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS

_WIDTH = 112  # where nobody's terminal says how wide it is


def tabled(
    rows: list[str], columns: list[str], full: bool, out: Path, form: str | None
) -> tuple[dict[str, Any], list[str]]:
    """The fields, and lines for people; the folder is written when everything has been checked."""
    from limen.render.page.page import page

    if form is not None and form not in FORMATS:
        raise unknown("format", form, FORMATS)
    refuse(out)
    with _progress() as progress:
        table = build(rows, columns, full, progress)
    shown = fields(table)
    content = json.dumps({"schema": "limen/table/1", **shown}, ensure_ascii=False, indent=1)
    write(table, out, {REPORT: content.encode(), PAGE: page(table)})
    shown |= {"report": str(out / PAGE)}
    return shown, [formatted(table, form)] if form else [*_printed(table), "", f"report: {out / PAGE}"]


def _printed(table: Table) -> list[str]:
    """As wide as the terminal, in colour where somebody is watching."""
    watched = sys.stdout.isatty()
    width = max(80, shutil.get_terminal_size().columns) if watched else _WIDTH
    return lines(table, width, watched)


@contextmanager
def _progress() -> Iterator[Callable[[Cell, int, int], None]]:
    """On standard error: a bar for a terminal, otherwise a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    watched = sys.stderr.isatty()
    columns = TextColumn("{task.description:44}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not watched) as bar:
        cells = bar.add_task("cells", total=None)

        def told(cell: Cell, done: int, total: int) -> None:
            name = f"{ROWS[cell.row].name} · {COLUMNS[cell.column].title} {SIGN[cell.answer]}"
            bar.update(cells, completed=done, total=total, description=name)
            if not watched and done % 13 == 0:
                sys.stderr.write(f"{done}/{total} cells\n")

        yield told
