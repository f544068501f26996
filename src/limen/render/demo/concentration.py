"""`limen demo concentration` for people: bounds beside measured weights, in a table and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from limen.render.svg import circle, cross, drawn, line, text

if TYPE_CHECKING:
    from limen.commands.demo.concentration import ConcentrationReport, HeadSeen

_STYLE = ".axis{stroke:#999}.bound{stroke:#4269d0;stroke-width:1.5;fill:none}.seen{fill:#d4572b}"
_STYLE += ".slide{stroke:#2f9e77;stroke-width:1.5;stroke-dasharray:5 4;fill:none}"
_DARK = ".axis{stroke:#777}.bound{stroke:#8fb3e8}.seen{fill:#ff9b73}.slide{stroke:#6fd3ad}"
_LEAST = -120.0  # log₁₀ of a weight that is drawn at the bottom
_WIDTH, _HEIGHT, _GAP = 300, 220, 90


def lines_of(report: ConcentrationReport) -> list[str]:
    """A line a head and length, then what to know."""
    head = f"{'head':26} {'n':>5} {'gap':>8}   {'weight on wrong tokens':^34}   "
    head += f"{'weight on one wrong token':^34}"
    under = f"{'':26} {'':>5} {'':>8}   {'slide ≤':>10} {'gap ≤':>11} {'seen':>11}   "
    under += f"{'slide ≤':>10} {'gap ≤':>11} {'seen':>11}"
    return [report.task, "", head, under, *map(_row, report.rows), "", *report.notes]


def _row(row: HeadSeen) -> str:
    off = f"{_small(row.off_slide):>10} {_small(row.off_bound):>11} {_small(row.off_seen):>11}"
    other = f"{_small(row.other_slide):>10} {_small(row.other_bound):>11} {_small(row.other_seen):>11}"
    return f"{row.head:26} {row.n:>5} {row.gap:>8.1f}   {off}   {other}"


def _small(x: float) -> str:
    return "0" if x == 0 else f"{x:.1e}"


def concentration_picture(report: ConcentrationReport) -> str:
    """For each head the weight of one other token: the slide's bound, the gap's, and what was seen."""
    heads = list(dict.fromkeys(row.head for row in report.rows))
    body = [text(12, 22, f"{report.task}: the largest weight of a wrong token", class_="title")]
    body.append(text(12, 40, "line: bound by the gap; dashed: the slide's n^(-log n); point: seen; cross: 0"))
    for i, head in enumerate(heads):
        body += _panel([row for row in report.rows if row.head == head], 60 + i * (_WIDTH + _GAP), 80)
    return drawn(60 + len(heads) * (_WIDTH + _GAP), _HEIGHT + 130, body, _STYLE, _DARK)


def _panel(rows: list[HeadSeen], x: int, y: int) -> list[str]:
    at = [x + 20 + i * (_WIDTH - 40) / max(1, len(rows) - 1) for i in range(len(rows))]
    body = [text(x, y - 8, rows[0].head), line(x, y, x, y + _HEIGHT, class_="axis")]
    body.append(line(x, y + _HEIGHT, x + _WIDTH, y + _HEIGHT, class_="axis"))
    body += [text(x - 8, y + 4, "1", text_anchor="end")]
    body += [text(x - 8, y + _HEIGHT, f"10^{_LEAST:.0f}", text_anchor="end")]
    for kind, values in (("bound", [r.other_bound for r in rows]), ("slide", [r.other_slide for r in rows])):
        for i in range(len(rows) - 1):
            ends = at[i], _y(values[i], y), at[i + 1], _y(values[i + 1], y)
            body.append(line(*ends, class_=kind))
    for row, where in zip(rows, at, strict=True):
        height = _y(row.other_seen, y)
        body.append(circle(where, height, 3.5, class_="seen") if row.other_seen else cross(where, height))
        body.append(text(where, y + _HEIGHT + 16, f"n={row.n}", text_anchor="middle"))
    return body


def _y(weight: float, top: int) -> float:
    log = max(_LEAST, math.log10(weight)) if weight > 0 else _LEAST
    return top + _HEIGHT * log / _LEAST
