"""The cells of the table as the page opens them: every sentence of a cell, and its certificates."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import msgspec

from limen.core.certificate import encode
from limen.core.verdict import Answer
from limen.render.table import checked, powers

if TYPE_CHECKING:
    from limen.tables.report import CellReport, EvidenceReport, RowReport, TableReport

_KERNEL = {
    "bound",
    "exact_bound",
    "exact_ceiling",
    "table_bound",
    "machine",
}  # certificates that the kernel derives without a model's files


def page_of(report: TableReport) -> dict[str, Any]:
    """Rows and columns with their cells; a certificate stands in it once, under the name of its file."""
    files = {
        evidence.file: encode(evidence.certificate).decode()
        for cell in report.cells
        for evidence in cell.evidence
    }
    rows = [_row(row, " --full" if report.full else "") for row in report.rows]
    return {
        "report": {"columns": msgspec.to_builtins(report.columns), "rows": rows, "full": report.full},
        "says": {"certificates": files},
    }


def _row(row: RowReport, more: str) -> dict[str, Any]:
    about = {name: getattr(row, name) for name in ("row", "name", "architecture", "steps", "sees")}
    return {**about, "cells": [_cell(row, cell, more) for cell in row.cells]}


def _cell(row: RowReport, cell: CellReport, more: str) -> dict[str, Any]:
    """What stands in the square, and what opens under it."""
    order = cell.formula.order if cell.formula else None
    bits = cell.evidence[0].numbers if cell.evidence else {}
    steps = [f"--steps={row.steps}"] if row.steps else []
    word = "argued" if cell.argued else cell.verdict.value
    return {
        "column": cell.column,
        "verdict": cell.verdict.value,
        "mark": checked(cell),
        "badge": " ".join(filter(None, (word.upper(), order))),
        "task": powers(cell.task),
        "tokens": f"{cell.tokens:,} tokens",
        "statement": cell.statement,
        "why": cell.why,
        "needs": bits.get("needs_bits"),
        "has": bits.get("has_bits"),
        "lines": list(_lines(row, cell)),
        "evidence": [
            _evidence(evidence, f"--row {row.row} --column {cell.column}{more}") for evidence in cell.evidence
        ],
        "command": shlex.join(["limen", "decide", cell.task, row.architecture, *steps]),
    }


def _lines(row: RowReport, cell: CellReport) -> list[tuple[str, str]]:
    """What is said of a cell beside the theorem: a word, and a sentence."""
    lines = [("Verdict", powers(cell.reason)), ("Architecture", f"{row.architecture}. {row.sees}")]
    if row.steps:
        lines.append(("Thinking", f"Up to {row.steps:,} steps of chain of thought."))
    if (formula := cell.formula) is not None:
        which = "At least" if cell.verdict is Answer.CANNOT else "At most"
        exact = f": {powers(formula.inequality)}" if formula.inequality else ""
        lines.append((which, f"{formula.order or '–'} ({formula.of}), by {formula.source}{exact}"))
        if formula.paper:
            compared = " ".join(filter(None, (formula.mark and f"Here: {formula.mark}.", formula.note)))
            lines.append(("In the papers", f"{formula.paper}. {compared}".strip()))
    if cell.proof is not None:
        at = "" if cell.machine_checked else f", at larger sizes: {powers(cell.proof.task)}"
        lines.append(("Coq", f"Coq has checked a proof with these numbers ({cell.proof.form}){at}."))
    if cell.believed:
        lines.append(("Believed", cell.believed))
    known = "Known" if cell.verdict is Answer.OPEN else "Also known"
    lines += [(known, powers(one)) for one in cell.known]
    lines += [("Compared", str(one)) for one in cell.differences]
    if (trained := cell.trained) is not None:
        lines.append((
            "Measured, not proved",
            f"{trained}. It was judged at these sizes, on texts of {trained.tokens:,} tokens, and the "
            f"verdict is about texts of {trained.verdict_tokens:,} tokens: what is learned on short texts "
            "may be impossible on long ones.",
        ))  # fmt: skip
    if cell.fooled:
        lines.append(("Illustration", f"No proof about the architecture: {cell.fooled}"))
    return lines


def _evidence(evidence: EvidenceReport, cell: str) -> dict[str, Any]:
    """A certificate in words; of two inputs that are confused also their tokens, by players.

    Its command needs nothing but Limen: it makes the cell with its certificates, and checks this one.
    """
    certificate: Any = evidence.certificate
    pair = evidence.players and {
        "left": [*certificate.left, *certificate.suffix],
        "right": [*certificate.right, *certificate.suffix],
        "players": evidence.players,
        "answers": [evidence.numbers["left_answer"], evidence.numbers["right_answer"]],
        "says": "The model gives both the same output.",
    }
    return {
        "kind": evidence.kind,
        "says": powers(evidence.says),
        "file": evidence.file,
        "kernel": evidence.kind in _KERNEL,
        "pair": pair,
        "command": f"limen table {cell} --out limen-cell && limen check limen-cell/{evidence.file}",
    }
