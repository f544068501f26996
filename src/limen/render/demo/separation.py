"""`limen demo separation` for people: stacks on one task and on a shorter one, in words and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.core.verdict import Answer
from limen.render.svg import circle, drawn, rect, text

if TYPE_CHECKING:
    from limen.commands.demo.separation import SeparationReport, Stacked

_STYLE = ".full{fill:#4269d0}.linear{fill:#c9ced6;stroke:#8a93a0}.thought{fill:#b8860b}.both{fill:#2f9e77}"
_STYLE += ".can{fill:#1b7f4d;font-weight:600}.cannot{fill:#b3261e;font-weight:600}.open{fill:#777}"
_DARK = ".linear{fill:#4a525e;stroke:#8a93a0}.can{fill:#5fd39b}.cannot{fill:#ff8a80}.open{fill:#aaa}"
_LEFT, _ROW, _BOX, _RIGHT = 330, 54, 22, 760


def lines_of(report: SeparationReport) -> list[str]:
    """The size, a line a stack with its reason below, and what to know about it."""
    lines = [
        f"{report.hops} hops at one size: {report.task}, {_tokens(report.tokens)} tokens",
        f"every full layer: {report.layer}; it passes {report.reply_bits:,} bits to a later token",
        f"every linear layer: {report.linear}; its state has {report.state_bits:,} bits",
        "",
    ]
    lines += [line for row in report.rows for line in _row(row)]
    lines += ["", _shorter(report), *(line for row in report.shorter for line in _row(row))]
    order = ["", _order(report)] if report.holds else []
    return [*lines, *order, *([""] if report.notes else []), *report.notes]


def _row(row: Stacked) -> list[str]:
    differs = "" if row.holds else f"   (the sources say {row.claimed.value.upper()})"
    return [f"{row.verdict.value.upper():7} {row.name}{differs}", f"        {row.reason}"]


def _order(report: SeparationReport) -> str:
    L = report.hops
    full = f"{L + 1} full layers do what {L - 1} with linear ones in each gap cannot"
    hybrid = f"{plural(L - 1, 'full layer')} behind a linear one {'does' if L == 2 else 'do'} what"
    return f"full > hybrid > linear: {full}; {hybrid} linear layers alone cannot"


def _shorter(report: SeparationReport) -> str:
    less = plural(report.hops - 1, "hop")
    return f"{less} with the same heads: {report.shorter_task}, {_tokens(report.shorter_tokens)} tokens"


def _tokens(n: int) -> str:
    return f"{n:,}" if n < 10**12 else f"about 2^{math.log2(n):.1f}"


def separation_picture(report: SeparationReport) -> str:
    """A row a stack: its layers from the first to the last, and the verdict."""
    body = [
        text(12, 24, f"{report.hops} hops at one size: {report.task}", class_="title"),
        text(12, 42, f"{_tokens(report.tokens)} tokens; every full layer {report.layer}"),
    ]
    for i, row in enumerate(report.rows):
        body += _strip(row, 64 + i * _ROW)
    below = 64 + len(report.rows) * _ROW
    body.append(text(12, below + 20, _shorter(report), class_="title"))
    for i, row in enumerate(report.shorter):
        body += _strip(row, below + 40 + i * _ROW)
    return drawn(_RIGHT + 120, below + 56 + len(report.shorter) * _ROW, body, _STYLE, _DARK)


def _strip(row: Stacked, y: int) -> list[str]:
    x, drawn_row = _LEFT, [text(12, y + 20, row.name)]
    kind = "both" if row.sees_later else "full"
    for layer in range(row.layers + 1):
        if linear := row.linear + (row.early if layer == 0 else 0):
            drawn_row += [
                rect(x, y + 6, 74, _BOX - 6, rx=3, class_="linear"),
                text(x + 5, y + 18, _many(linear)),
            ]
            x += 80
        if layer < row.layers:
            drawn_row.append(rect(x, y, _BOX, _BOX + 6, rx=3, class_=kind))
            x += _BOX + 6
    for _ in range(row.steps):
        drawn_row.append(circle(x + 8, y + 14, 6, class_="thought"))
        x += 18
    verdict = row.verdict.value.upper()
    style = {Answer.CAN: "can", Answer.CANNOT: "cannot"}.get(row.verdict, "open")
    return [*drawn_row, text(_RIGHT, y + 20, verdict, class_=style)]


def _many(layers: int) -> str:
    return f"{layers:,}×" if layers < 10**6 else f"2^{layers.bit_length() - 1}×"
