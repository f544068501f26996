"""Results as a notebook shows them: small HTML, readable in light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import msgspec

from limen.core.certificate import Certificate
from limen.core.renderers import as_it_stands
from limen.core.verdict import Answer
from limen.render import decide, design, fool, protocol
from limen.render.card import card
from limen.render.exchange import exchange_picture
from limen.render.front import front_picture
from limen.render.table import SIGN, short

if TYPE_CHECKING:
    from limen.adversary.report import FoolReport
    from limen.audits.report import AuditReport, AuditsReport
    from limen.commands.check import CheckReport
    from limen.conversation.play import ProtocolReport
    from limen.core.verdict import DecideReport
    from limen.designs.report import DesignReport
    from limen.tables.report import CellReport, TableReport

_COLOUR = {Answer.CAN: "#1b9e5a", Answer.CANNOT: "#d4452b", Answer.OPEN: "#8a8f98"}
_COLOUR |= {Answer.INCOMPLETE: _COLOUR[Answer.OPEN], Answer.CANNOT_EXACTLY: "#b8860b"}
_COLOUR |= {Answer.CANNOT_EXACT_LAST: _COLOUR[Answer.CANNOT_EXACTLY]}
_SHOWN = 120  # characters of a field of a certificate


def verdict(report: DecideReport) -> str:
    first, *others = decide.lines_of(report)
    head = _coloured(report.verdict, f"{SIGN[report.verdict]} {first}")
    return f"<div>{'<br>'.join([head, *(f'<small>{escape(line)}</small>' for line in others)])}</div>"


def certificate(evidence: Certificate) -> str:
    fields = msgspec.to_builtins(evidence)
    rows = "".join(f"<tr><th style='text-align:left'>{key}</th><td><code>{_cut(value)}</code></td></tr>"
                   for key, value in fields.items() if value not in (None, {}, ""))  # fmt: skip
    return f"<table>{rows}</table>"


def table(report: TableReport) -> str:
    head = "".join(f"<th>{escape(column.title)}</th>" for column in report.columns)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(row.name)}</th>"
        + "".join(f"<td>{_signed(cell)}</td>" for cell in row.cells)
        + "</tr>"
        for row in report.rows
    )
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def audit(report: AuditReport) -> str:
    return card([report])


def audits(report: AuditsReport) -> str:
    return card(report.models)


def stacks(report: DesignReport) -> str:
    return front_picture(report) + as_it_stands(design.lines_of(report))


def exchange(report: ProtocolReport) -> str:
    return exchange_picture(report) + as_it_stands(protocol.lines_of(report))


def fooled(report: FoolReport) -> str:
    return fool.fool_picture(report) + as_it_stands(fool.lines_of(report))


def checked(report: CheckReport) -> str:
    return f"<div>{escape(report.headline)}</div>"


def _signed(cell: CellReport) -> str:
    return f"<span title='{escape(cell.reason, quote=True)}'>{_coloured(cell.verdict, short(cell))}</span>"


def _coloured(answer: Answer, text: str) -> str:
    return f"<b style='color:{_COLOUR[answer]};white-space:nowrap'>{escape(text)}</b>"


def _cut(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")
