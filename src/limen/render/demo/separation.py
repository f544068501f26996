"""`limen demo separation` for people: five stacks on one task, in words and as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

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
    for row in report.rows:
        differs = "" if row.holds else f"   (the sources say {row.claimed.value.upper()})"
        lines += [f"{row.verdict.value.upper():7} {row.name}{differs}", f"        {row.reason}"]
    return [*lines, *([""] if report.notes else []), *report.notes]


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
    return drawn(_RIGHT + 120, 80 + len(report.rows) * _ROW, body, _STYLE, _DARK)


def _strip(row: Stacked, y: int) -> list[str]:
    x, drawn_row = _LEFT, [text(12, y + 20, row.name)]
    kind = "both" if row.sees_later else "full"
    for layer in range(row.layers + 1):
        if row.linear:
            drawn_row += [
                rect(x, y + 6, 74, _BOX - 6, rx=3, class_="linear"),
                text(x + 5, y + 18, _many(row.linear)),
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
