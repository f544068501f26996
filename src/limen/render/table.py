"""`limen table` for people and scripts: the terminal, JSON, and the forms that papers take."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import msgspec

from limen.core.verdict import Answer
from limen.tables.cell import Cell, Evidence, Formula, Table
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS

SIGN = {Answer.CAN: "✓", Answer.CANNOT: "✗", Answer.OPEN: "?"}
CHECKED, ARGUED, BELIEVED = "∎", "ᵃ", "ᶜ"
MARK = {"sharper": "⁺", "weaker": "⁻", "corrected": "*", "confirmed": "", "": ""}
_COLOUR = {Answer.CAN: "green", Answer.CANNOT: "red", Answer.OPEN: "dim"}
_SHORT = {
    "composition": "L-Seq",
    "equality": "Equal",
    "disjointness": "Disj.",
    "nearest_neighbor": "Near.",
    "sparse_average": "Spars",
    "counting": "Count",
    "is_tree": "Tree",
}


def fields(table: Table) -> dict[str, Any]:
    """The JSON of a table."""
    cells = table.cells.values()
    open_, argued = [cell for cell in cells if cell.answer is Answer.OPEN], sum(cell.argued for cell in cells)
    return {
        "counts": {
            "can": sum(cell.answer is Answer.CAN for cell in cells),
            "cannot": sum(cell.answer is Answer.CANNOT for cell in cells),
            "conditional": (conditional := sum(bool(cell.believed) for cell in cells)),
            "open": len(open_) - argued - conditional,
            "argued": argued,
        },
        "full": table.full,
        "seconds": round(table.seconds, 2),
        "rows": [
            {
                "row": row,
                "name": ROWS[row].name,
                "architecture": ROWS[row].text,
                "steps": ROWS[row].steps,
                "cells": [_cell(table[row, column]) for column in table.columns],
            }
            for row in table.rows
        ],
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "column": cell.column,
        "task": cell.task,
        "verdict": cell.answer.value,
        "argued": cell.argued,
        "believed": cell.believed or None,
        "formula": cell.formula and _formula(cell.formula),
        "reason": cell.reason,
        "statement": cell.statement,
        "why": cell.why,
        "known": list(cell.known),
        "proof": cell.proof and {"form": cell.proof.form, "task": cell.proof.task},
        "machine_checked": cell.machine_checked,
        "evidence": [_evidence(e) for e in cell.evidence],
        "seconds": round(cell.seconds, 3),
    }


def _formula(formula: Formula) -> dict[str, str | None]:
    return {
        "order": formula.order,
        "of": formula.of,
        "inequality": formula.inequality,
        "source": formula.source,
        "mark": formula.mark or None,
        "paper": formula.paper or None,
        "note": formula.note or None,
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {
        "kind": evidence.kind,
        "says": evidence.says,
        "file": evidence.file,
        "numbers": evidence.numbers,
        "certificate": msgspec.to_builtins(evidence.certificate),
    }


def short(cell: Cell) -> str:
    """Sign, order and mark: what stands in a table of a paper."""
    order = cell.formula.order if cell.formula else None
    mark = MARK[cell.formula.mark] if cell.formula else ""
    sign = SIGN[cell.answer] + checked(cell)
    return f"{sign} {order}{mark}" if order else sign


def checked(cell: Cell) -> str:
    """A verdict that Coq has a proof of, weights whose proof nobody checked, or a conjecture that says no."""
    return CHECKED if cell.machine_checked else ARGUED if cell.argued else BELIEVED if cell.believed else ""


def lines(table: Table, width: int, colour: bool) -> list[str]:
    """The papers' own table with its orders, then all rows and columns by their signs, then a legend."""
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid

    out = io.StringIO()
    console = Console(file=out, width=width, force_terminal=colour, no_color=not colour, highlight=False)
    papers = [r for r in table.rows if ROWS[r].papers], [c for c in table.columns if COLUMNS[c].papers]
    if all(papers):
        grid = Grid(
            box=box.SIMPLE_HEAD,
            pad_edge=False,
            title="The papers' table, with evidence",
            title_justify="left",
        )
        grid.add_column()
        for column in papers[1]:
            grid.add_column(COLUMNS[column].title)
        for row in papers[0]:
            grid.add_row(
                ROWS[row].name,
                *(
                    _styled(table[row, c], f"{short(table[row, c])}\n  {powers(table[row, c].task)}")
                    for c in papers[1]
                ),
            )
        console.print(grid)
    grid = Grid(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0, 0, 1), title="All of it", title_justify="left"
    )
    grid.add_column()
    for column in table.columns:
        grid.add_column(_SHORT.get(column, COLUMNS[column].title), justify="center")
    for row in table.rows:
        grid.add_row(
            ROWS[row].name,
            *(
                _styled(table[row, c], SIGN[table[row, c].answer] + checked(table[row, c]))
                for c in table.columns
            ),
        )
    console.print(grid)
    console.print(_legend(table))
    return [line.rstrip() for line in out.getvalue().rstrip().splitlines()]


def _styled(cell: Cell, text: str) -> Any:
    from rich.text import Text

    return Text(text, style=_COLOUR[cell.answer])


def certificates(table: Table) -> int:
    """How many there are; cells may share a run of the same weights."""
    return len({e.file for c in table.cells.values() for e in c.evidence})


def powers(text: str) -> str:
    """Large powers of two written as such, as the text form also reads them."""
    return re.sub(r"(?<!\d)\d{5,}(?!\d)", lambda m: _power(int(m[0])), text)


def _power(number: int) -> str:
    return f"2^{number.bit_length() - 1}" if number & (number - 1) == 0 else str(number)


def _legend(table: Table) -> str:
    count = {answer: sum(c.answer is answer for c in table.cells.values()) for answer in Answer}
    evidence, argued = certificates(table), sum(cell.argued for cell in table.cells.values())
    believed = sum(bool(cell.believed) for cell in table.cells.values())
    return (
        f"✓ can, weights given ({count[Answer.CAN]})   ✗ cannot, proved ({count[Answer.CANNOT]})   "
        f"? open ({count[Answer.OPEN] - argued - believed})   ?{ARGUED} argued, not checked ({argued})   "
        f"?{BELIEVED} believed impossible ({believed})\n"
        "⁺ sharper than the papers   * corrected   "
        f"{CHECKED} machine-checked: of {count[Answer.CANNOT]} CANNOT {_proved(table)}\n"
        f"{len(table.cells)} cells, {evidence} certificates, all checked"
    )


def _proved(table: Table) -> str:
    """How many verdicts carry a proof that Coq checks, and how many more do at larger sizes."""
    here = sum(cell.machine_checked for cell in table.cells.values())
    larger = sum(cell.proof is not None for cell in table.cells.values()) - here
    return f"{here} carry a Coq proof" + (f", {larger} more at larger sizes" if larger else "")


def formatted(table: Table, form: str) -> str:
    """Markdown, LaTeX or CSV."""
    return {"markdown": _markdown, "latex": _latex, "csv": _csv}[form](table)


FORMATS = ("markdown", "latex", "csv")


def _markdown(table: Table) -> str:
    head = ["", *(COLUMNS[c].title for c in table.columns)]
    rows = [[ROWS[r].name, *(short(table[r, c]) for c in table.columns)] for r in table.rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _latex(table: Table) -> str:
    body = [
        " & ".join([ROWS[r].name, *(_tex(table[r, c]) for c in table.columns)]) + r" \\" for r in table.rows
    ]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'c' * len(table.columns)}}}",
            r"\hline",
            " & ".join(["", *(COLUMNS[c].title for c in table.columns)]) + r" \\",
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
        ]
    )


def _tex(cell: Cell) -> str:
    sign = {Answer.CAN: r"\checkmark", Answer.CANNOT: r"\times", Answer.OPEN: "?"}[cell.answer]
    order = (cell.formula.order if cell.formula else None) or ""
    for plain, tex in (
        ("Ω", r"\Omega"),
        ("log² ", r"\log^2 "),
        ("log³ ", r"\log^3 "),
        ("log ", r"\log "),
        ("n²", "n^2"),
        ("poly ", r"\mathrm{poly}\,"),
    ):
        order = order.replace(plain, tex)
    mark = {"sharper": "^{+}", "corrected": "^{*}"}.get(cell.formula.mark if cell.formula else "", "")
    return f"${sign}{chr(92) + ';' + order if order else ''}{mark}$"


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["row", "column", "task", "architecture", "steps", "verdict", "order", "mark", "source"])
    for row in table.rows:
        for column in table.columns:
            c = table[row, column]
            formula = (c.formula.order, c.formula.mark, c.formula.source) if c.formula else ("", "", "")
            writer.writerow([c.row, c.column, c.task, c.architecture, c.steps, c.answer.value, *formula])
    return out.getvalue().rstrip("\n")
