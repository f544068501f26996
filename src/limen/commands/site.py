"""Write the page as a folder for any host of static files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import Cores, PathLike, processes
from limen.core.option import Argument, Option
from limen.core.report import Report


class SiteReport(Report, frozen=True, kw_only=True, tag="limen/site/1"):
    """The folder, and how large it is."""

    folder: str
    files: int
    bytes: int
    answers: int  # questions that are answered in it

    @property
    def headline(self) -> str:
        return f"{self.folder}: {self.files} files, {self.bytes:,} bytes, {self.answers:,} answers"


@command(
    example="limen site build/page",
    answers=(Shown("limen.commands.site:SiteReport", "limen.render.site:lines_of"),),
)
def site(
    folder: Annotated[PathLike, Argument("Folder to write; a page of Limen in it is replaced.", local=True)],
    rows: Annotated[
        Iterable[str],
        Option("Only the row with this id; may be repeated.", flag="--row", complete=_complete.rows),
    ] = (),
    columns: Annotated[
        Iterable[str],
        Option("Only the column with this id; may be repeated.", flag="--column", complete=_complete.columns),
    ] = (),
    *,
    live: Annotated[
        bool,
        Option("Also Python in the page, for all other questions: npm and pip fetch it.", local=True),
    ] = False,
    cores: Cores = None,
    tell: Tell | None = None,
) -> SiteReport:
    """It works under any path of the host, asks nothing of the network, and holds its answers: the table, the
    stacks and tasks of the menus at 23 sizes, and an answer in each panel. All rows and columns take some
    minutes. With --live a browser answers the rest itself; what it has not is numpy and torch.
    """
    from limen.commands._baked import answers_of, asked_beside
    from limen.core.catalogue import ids
    from limen.files.folder import ready_folder, refuse_foreign, write_folder
    from limen.page.assemble import folder as files_of
    from limen.page.live import python_files
    from limen.page.start import MODELS, SMALL, start
    from limen.render.progress import cells_bar
    from limen.tables.build import build, named_columns, named_rows
    from limen.tables.rows import ROWS
    from limen.tables.workers import workers

    out, rows, columns = Path(folder), named_rows(rows), tuple(columns)
    tasks = named_columns(columns) if columns else tuple(ids("tasks"))
    ready_folder(out)
    refuse_foreign(out, "start.json", "start.json", "index.html")
    python = python_files() if live else None
    stacks = (*SMALL.values(), *MODELS.values(), *(ROWS[row].text for row in rows))
    with workers(processes(cores)) as pool:
        beside = asked_beside(tasks, pool, dict.fromkeys(stacks))
        with cells_bar(tell is not None) as progress:
            table = build(rows, columns, progress=progress, pool=pool)
        answers = answers_of(table.report) | beside()
    content = files_of(start(rows, named_columns(columns), tasks, python=live), answers, python)
    write_folder(out, content.items())
    return SiteReport(
        folder=str(out), files=len(content), bytes=sum(map(len, content.values())), answers=len(answers)
    )
