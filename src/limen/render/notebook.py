"""Tables, verdicts and certificates as a notebook shows them: small HTML, readable in light and dark."""

from __future__ import annotations

from html import escape

import msgspec

from limen.audits import Audit
from limen.core.certificate import Certificate
from limen.core.shown import draws
from limen.core.verdict import Answer, Verdict
from limen.render.audit import shown
from limen.render.card import card
from limen.render.table import SIGN, short
from limen.tables.cell import Cell, Table
from limen.tables.columns import COLUMNS
from limen.tables.rows import ROWS

_COLOUR = {Answer.CAN: "#1b9e5a", Answer.CANNOT: "#d4452b", Answer.OPEN: "#8a8f98"}
_SHOWN = 120  # characters of a field of a certificate


def register() -> None:
    """Whoever returns these to a notebook asks for them to be drawn."""
    draws(Verdict, verdict)
    draws(Certificate, certificate)
    draws(Table, table)
    draws(Audit, audit)


def verdict(found: Verdict) -> str:
    lines = [_coloured(found.answer, f"{SIGN[found.answer]} {found.answer.upper()}"), escape(found.reason)]
    lines += [f"<small>{escape(remark)}</small>" for remark in found.remarks]
    if found.flips is not None:
        lines.append(f"<small>ruled out from {found.flips.size} = {found.flips.at:,} on</small>")
    return f"<div>{'<br>'.join(lines)}</div>"


def certificate(found: Certificate) -> str:
    fields = msgspec.to_builtins(found)
    rows = "".join(f"<tr><th style='text-align:left'>{key}</th><td><code>{_cut(value)}</code></td></tr>"
                   for key, value in fields.items() if value not in (None, {}, ""))  # fmt: skip
    return f"<table>{rows}</table>"


def table(found: Table) -> str:
    head = "".join(f"<th>{escape(COLUMNS[c].title)}</th>" for c in found.columns)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(ROWS[r].name)}</th>"
        + "".join(f"<td>{_signed(found[r, c])}</td>" for c in found.columns)
        + "</tr>"
        for r in found.rows
    )
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def audit(found: Audit) -> str:
    return card([shown(found)])


def _signed(cell: Cell) -> str:
    return f"<span title='{escape(cell.reason, quote=True)}'>{_coloured(cell.answer, short(cell))}</span>"


def _coloured(answer: Answer, text: str) -> str:
    return f"<b style='color:{_COLOUR[answer]};white-space:nowrap'>{escape(text)}</b>"


def _cut(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")
