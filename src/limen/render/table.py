"""`limen table` for people: the terminal, and the forms that papers take."""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from limen.core.measurement import Outcome
from limen.core.verdict import Answer
from limen.files.printable import printable
from limen.render.latex import in_tex, order_in_tex, tabular

if TYPE_CHECKING:
    from limen.tables.report import CellReport, ColumnReport, RowReport, TableReport

SIGN = {Answer.CAN: "✓", Answer.CANNOT: "✗", Answer.OPEN: "?", Answer.INCOMPLETE: "…"}
# Of verdicts alone: no cell of a table supposes a readout.
SIGN |= {Answer.CANNOT_EXACTLY: "⊘", Answer.CANNOT_EXACT_LAST: "⊘"}
CHECKED, ARGUED, BELIEVED = "∎", "ᵃ", "ᶜ"
LEARNED = {Outcome.LEARNED: "ᴸ", Outcome.NOT_LEARNED: "ᴺ"}
MARK = {"sharper": "⁺", "weaker": "⁻", "corrected": "*", "confirmed": "", None: ""}
_COLOUR = {Answer.CAN: "green", Answer.CANNOT: "red", Answer.OPEN: "dim", Answer.INCOMPLETE: "dim"}
_WIDTH = 112  # where nobody's terminal says how wide it is
_SHORT = {
    "composition": "L-Seq",
    "equality": "Equal",
    "disjointness": "Disj.",
    "nearest_neighbor": "Near.",
    "sparse_average": "Spars",
    "counting": "Count",
    "is_tree": "Tree",
}


def printed(report: TableReport) -> list[str]:
    """As wide as the terminal, in colour where somebody is watching; and the page that was written."""
    watched = sys.stdout.isatty()
    width = max(80, shutil.get_terminal_size().columns) if watched else _WIDTH
    page = [] if report.page is UNSET else ["", f"report: {printable(report.page)}"]
    return [*lines_of(report, width, watched), *page]


def lines_of(report: TableReport, width: int, colour: bool) -> list[str]:
    """The papers' own table with its orders, then all rows and columns by their signs, then a legend."""
    from rich.console import Console

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False)
    chosen = [i for i, column in enumerate(report.columns) if column.papers]
    papers = [row for row in report.rows if row.papers]
    if chosen and papers:
        titles = [report.columns[i].title for i in chosen]
        rows = [(row.name, [row.cells[i] for i in chosen]) for row in papers]
        console.print(_grid("The papers' table, with evidence", titles, rows, _order))
    titles = [_SHORT.get(column.column, column.title) for column in report.columns]
    console.print(_grid("All of it", titles, [(row.name, row.cells) for row in report.rows], _marked))
    console.print(_legend(report))
    console.print(_stacks(report))
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


def _grid(
    title: str,
    titles: Sequence[str],
    rows: Sequence[tuple[str, Sequence[CellReport]]],
    words: Callable[[CellReport], str],
) -> Any:
    """A table of rich; signs alone stand close together, in the middle."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    padding, justify = ((0, 0, 0, 1), "center") if words is _marked else ((0, 1), "left")
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=padding, title=title, title_justify="left")
    grid.add_column()
    for name in titles:
        grid.add_column(name, justify=justify)  # type: ignore[arg-type]
    for name, cells in rows:
        grid.add_row(name, *(Text(words(cell), style=_COLOUR[cell.verdict]) for cell in cells))
    return grid


def _order(cell: CellReport) -> str:
    return f"{short(cell)}\n  {powers(cell.task)}\n  {cell.tokens:,} tokens"


def _sign(cell: CellReport) -> str:
    return SIGN[cell.verdict] + checked(cell)


def _marked(cell: CellReport) -> str:
    """With what an experiment saw; the forms for papers, which hold what is proved, are without it."""
    return _sign(cell) + (LEARNED[cell.trained.outcome] if cell.trained else "")


def short(cell: CellReport) -> str:
    """Sign, order and mark: what stands in a table of a paper."""
    order = cell.formula.order if cell.formula else None
    mark = MARK[cell.formula.mark] if cell.formula else ""
    return f"{_sign(cell)} {order}{mark}" if order else _sign(cell)


def checked(cell: CellReport) -> str:
    """A verdict that Coq has a proof of, weights whose proof nobody checked, or a conjecture that says no."""
    return CHECKED if cell.machine_checked else ARGUED if cell.argued else BELIEVED if cell.believed else ""


def powers(text: str) -> str:
    """Large powers of two written as such, as the text form also reads them."""
    return re.sub(r"(?<!\d)\d{5,}(?!\d)", lambda m: _power(int(m[0])), text)


def _power(number: int) -> str:
    return f"2^{number.bit_length() - 1}" if number & (number - 1) == 0 else str(number)


def _legend(report: TableReport) -> str:
    counts = report.counts
    return (
        f"✓ can, weights exist ({counts.can})   ✗ cannot, proved ({counts.cannot})   "
        f"? open ({counts.open})\n"
        f"?{ARGUED} argued, not checked ({counts.argued})   "
        f"?{BELIEVED} believed impossible ({counts.conditional})\n"
        "⁺ sharper than the papers   * corrected   "
        f"{CHECKED} Coq has checked a proof: {_proved(report)}\n"
        f"{len(report.cells)} cells, {report.certificates} certificates, all checked"
        f"{_seen(report)}"
    )


def _seen(report: TableReport) -> str:
    """How many cells an experiment covers, and why what was learned may stand beside a proof."""
    marks = [cell.trained for cell in report.cells if cell.trained]
    if not marks:
        return ""
    outcomes = [mark.outcome for mark in marks]
    yes, no = (outcomes.count(outcome) for outcome in (Outcome.LEARNED, Outcome.NOT_LEARNED))
    some = sum(mark.by_some for mark in marks)
    learned = f"{yes}, {some} of them not with every seed" if some else str(yes)
    longest = max(mark.tokens for mark in marks)
    return (
        f"\nᴸ learned ({learned})   ᴺ not learned ({no}): measured by training on short texts, not proved\n"
        f"ᴸ and ᴺ are about smaller sizes of these layers and texts of up to {longest:,} tokens;\n"
        "✗ is about all weights at the length of its cell, so it may stand beside ᴸ."
    )


def _stacks(report: TableReport) -> str:
    """Each row's architecture."""
    size = max(len(row.name) for row in report.rows)
    return "\n".join(["", *(f"{row.name:{size}}  {row.architecture}" for row in report.rows)])


def _proved(report: TableReport) -> str:
    """How many verdicts carry a proof that Coq checks, and how many more do at larger sizes."""
    here = sum(cell.machine_checked for cell in report.cells)
    larger = sum(cell.proof is not None for cell in report.cells) - here
    return f"{here} of {report.counts.cannot} CANNOT" + (f", {larger} more at larger sizes" if larger else "")


def markdown(report: TableReport) -> str:
    head = ["", *(column.title for column in report.columns)]
    rows = [[row.name, *map(short, row.cells)] for row in report.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def latex(report: TableReport) -> str:
    """With booktabs; the signs that stand in it are explained below it."""
    head = ["", *(in_tex(column.title) for column in report.columns)]
    cells = [[_tex(cell) for cell in row.cells] for row in report.rows]
    rows = [[in_tex(row.name), *shown] for row, shown in zip(report.rows, cells, strict=True)]
    there = "".join(cell for row in cells for cell in row)
    legend = ", ".join(f"${sign}$ {meaning}" for sign, meaning in _MEANS.items() if sign in there)
    below = rf"\multicolumn{{{len(head)}}}{{l}}{{\footnotesize {legend}}}"
    return tabular(head, rows).replace(r"\bottomrule", rf"\bottomrule{chr(10)}{below}")


_VERDICTS = {
    Answer.CAN: r"\checkmark",
    Answer.CANNOT: r"\times",
    Answer.OPEN: "?",
    Answer.INCOMPLETE: r"\dots",
}
_MARKS = {"sharper": "^{+}", "weaker": "^{-}", "corrected": "^{*}"}
_MEANS = {
    r"\checkmark": "weights exist", r"\times": "no weights do it", "?": "open", r"\dots": "left out here",
    "^{+}": "sharper than the papers", "^{-}": "weaker than the papers", "^{*}": "corrects the papers",
}  # fmt: skip


def _tex(cell: CellReport) -> str:
    order = order_in_tex((cell.formula.order if cell.formula else None) or "")
    mark = _MARKS.get((cell.formula.mark if cell.formula else None) or "", "")
    return f"${_VERDICTS[cell.verdict]}{chr(92) + ';' + order if order else ''}{mark}$"


def comma_separated(report: TableReport) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["row", "column", "task", "tokens", "architecture", "steps", "verdict", "order", "mark", "source"]
    )
    for row in report.rows:
        writer.writerows(
            _record(row, column, cell) for column, cell in zip(report.columns, row.cells, strict=True)
        )
    return out.getvalue().rstrip("\n")


def _record(row: RowReport, column: ColumnReport, cell: CellReport) -> list[object]:
    f = cell.formula
    formula = (f.order, f.mark, f.source) if f else ("", "", "")
    size = (cell.task, cell.tokens, row.architecture, row.steps)
    return [row.row, column.column, *size, cell.verdict.value, *formula]
