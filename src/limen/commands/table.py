"""Make the table of architectures × tasks, with evidence."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import Cores, PathLike, processes
from limen.core.option import Option
from limen.errors import DoesNotHold

if TYPE_CHECKING:
    from limen.tables.cell import EvidenceTable


@command(
    example="limen table --row linear --column eva",
    answers=(
        Shown(
            "limen.tables.report:TableReport",
            "limen.render.table:printed",
            html="limen.render.notebook:table",
            forms={
                "markdown": "limen.render.table:markdown",
                "latex": "limen.render.table:latex",
                "csv": "limen.render.table:comma_separated",
            },
            page="limen.render.evidence:page_of",
            coloured=True,
        ),
    ),
)
def table(
    rows: Annotated[
        Iterable[str],
        Option("Only the row with this id; may be repeated.", flag="--row", complete=_complete.rows),
    ] = (),
    columns: Annotated[
        Iterable[str],
        Option("Only the column with this id; may be repeated.", flag="--column", complete=_complete.columns),
    ] = (),
    full: Annotated[bool, Option("Run the weights on more inputs.")] = False,
    *,
    out: Annotated[
        PathLike | None,
        Option("Folder for report.html, report.json and certificates.", line="limen-report", local=True),
    ] = None,
    cores: Cores = None,
    tell: Tell | None = None,
) -> EvidenceTable:
    """Every cell gets its evidence on the spot, and it is checked. Writes report.html, which opens from a
    file.
    """
    from limen.tables.build import build
    from limen.tables.cell import EvidenceError

    try:
        if out is None:
            return build(rows, columns, full)
        return _written(rows, columns, full, Path(out), cores, watched=tell is not None)
    except EvidenceError as error:
        raise DoesNotHold(f"the evidence does not hold: {error}") from error


def _written(
    rows: Iterable[str], columns: Iterable[str], full: bool, out: Path, cores: int | None, watched: bool
) -> EvidenceTable:
    """The table, and the folder with it, written once everything has been checked."""
    from dataclasses import replace

    import msgspec

    from limen.commands._baked import answers_of, asked_beside
    from limen.page.assemble import one_file
    from limen.page.start import start
    from limen.render.progress import cells_bar
    from limen.tables.build import PAGE, REPORT, build, named_columns, refuse, write
    from limen.tables.workers import workers

    refuse(out)
    named = named_columns(columns)
    import torch  # noqa: F401 (before processes start, so that one line says what is missing)

    with workers(processes(cores) if len(named) > 1 else 1) as pool:
        beside = asked_beside(named, pool)
        with cells_bar(watched) as progress:
            table = build(rows, named, full, progress, pool)
        answers = answers_of(table.report) | beside()
    content = msgspec.json.format(table.to_json().encode(), indent=1)
    begin = start(table.rows, named, named, ("Small stacks", "Real models"))
    write(table, out, {REPORT: content, PAGE: one_file(begin, answers)})
    return replace(table, page=str(out / PAGE))
