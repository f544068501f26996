"""Results as a notebook shows them: small HTML, readable in light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import msgspec

from limen.core.certificate import Certificate
from limen.core.renderers import draws
from limen.core.verdict import Answer
from limen.files.printable import printable
from limen.render import (
    average,
    bound,
    check,
    compare,
    concentration,
    decide,
    decomposition,
    depth,
    design,
    fool,
    hierarchy,
    latex,
    laws,
    machine,
    protocol,
    results,
    separation,
    show,
    solve,
    sparse,
    sweep,
    training,
)
from limen.render.card import card
from limen.render.exchange import exchange_picture
from limen.render.front import front_picture
from limen.render.table import SIGN, short
from limen.render.table import latex as table_latex

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from limen.audits.report import AuditReport, AuditsReport
    from limen.commands.check import CheckReport
    from limen.conversation.play import ProtocolReport
    from limen.core.verdict import DecideReport
    from limen.designs.report import DesignReport
    from limen.tables.report import CellReport, TableReport

_COLOUR = {Answer.CAN: "#1b9e5a", Answer.CANNOT: "#d4452b", Answer.OPEN: "#8a8f98"}
_COLOUR |= {Answer.INCOMPLETE: _COLOUR[Answer.OPEN]}
_SHOWN = 120  # characters of a field of a certificate


def register() -> None:
    """Whoever returns results to a notebook asks for them to be drawn."""
    draws("Certificate", certificate)
    draws("DecideReport", verdict, latex.verdict)
    draws("BoundReport", _text(bound.lines_of), latex.bound)
    draws("TableReport", table, table_latex)
    draws("AuditReport", audit)
    draws("AuditsReport", audits)
    draws("DesignReport", stacks)
    draws("ProtocolReport", exchange)
    draws("FoolReport", _text(fool.lines_of))
    draws("CheckReport", checked)
    draws("FolderReport", _text(check.folder_lines))
    draws("DecomposeReport", _text(decomposition.lines_of))
    draws("CompareReport", _text(compare.lines_of))
    draws("DepthReport", _text(depth.lines_of))
    draws("SolveReport", _text(solve.lines_of))
    draws("LeastReport", _text(solve.least_lines))
    draws("RangeReport", _text(solve.range_lines))
    draws("FrontierReport", _text(solve.frontier_lines))
    draws("SeparationReport", _text(separation.lines_of))
    draws("ConcentrationReport", _text(concentration.lines_of))
    draws("OrthogonalReport", _text(show.orthogonal_lines))
    draws("TrainReport", _text(training.lines_of))
    draws("SweepReport", _text(sweep.lines_of))
    draws("ResultsReport", _text(results.lines_of))
    draws("MachineReport", _text(machine.lines_of))
    draws("HierarchyReport", _text(hierarchy.lines_of))
    draws("AverageReport", _text(average.lines_of))
    draws("SparseReport", _text(sparse.lines_of))
    draws("LawsReport", _text(laws.lines_of))
    draws("TaskReport", _text(show.task_lines))
    draws("EntryReport", _text(show.entry_lines))
    draws("StackReport", _text(show.stack_lines))
    draws("CatalogueReport", _text(lambda said: show.catalogue_lines(said, proofs=False)))


def _text(lines: Callable[..., Sequence[str]]) -> Callable[[object], str]:
    """What the command line prints, as it stands there."""
    return lambda said: f"<pre>{escape(chr(10).join(map(printable, lines(said))))}</pre>"


def verdict(said: DecideReport) -> str:
    first, *others = decide.lines_of(said)
    head = _coloured(said.verdict, f"{SIGN[said.verdict]} {first}")
    return f"<div>{'<br>'.join([head, *(f'<small>{escape(line)}</small>' for line in others)])}</div>"


def certificate(found: Certificate) -> str:
    fields = msgspec.to_builtins(found)
    rows = "".join(f"<tr><th style='text-align:left'>{key}</th><td><code>{_cut(value)}</code></td></tr>"
                   for key, value in fields.items() if value not in (None, {}, ""))  # fmt: skip
    return f"<table>{rows}</table>"


def table(said: TableReport) -> str:
    head = "".join(f"<th>{escape(column.title)}</th>" for column in said.columns)
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(row.name)}</th>"
        + "".join(f"<td>{_signed(cell)}</td>" for cell in row.cells)
        + "</tr>"
        for row in said.rows
    )
    return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"


def audit(said: AuditReport) -> str:
    return card([said])


def audits(said: AuditsReport) -> str:
    return card(said.models)


def stacks(said: DesignReport) -> str:
    return front_picture(said) + _text(design.lines_of)(said)


def exchange(said: ProtocolReport) -> str:
    return exchange_picture(said) + _text(protocol.lines_of)(said)


def checked(said: CheckReport) -> str:
    return f"<div>{escape(said.headline)}</div>"


def _signed(cell: CellReport) -> str:
    return f"<span title='{escape(cell.reason, quote=True)}'>{_coloured(cell.verdict, short(cell))}</span>"


def _coloured(answer: Answer, text: str) -> str:
    return f"<b style='color:{_COLOUR[answer]};white-space:nowrap'>{escape(text)}</b>"


def _cut(value: object) -> str:
    text = str(value)
    return escape(text if len(text) <= _SHOWN else f"{text[:_SHOWN]} …")
