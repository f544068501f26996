"""Audits as one card, picture or HTML: layers as strips, the cache and the fixed state over the length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log2
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limen.core.quantities import in_bytes
from limen.errors import BadInput
from limen.files.folder import ready_file, write_whole
from limen.files.printable import printable
from limen.render.audit import LETTERS, answer_of, figures, lines_of
from limen.render.svg import FORMS, drawn, element, line, picture_ready, rect, save_picture, text
from limen.render.words import short

if TYPE_CHECKING:
    from limen.audits.report import AuditReport, AuditsReport, CachePoint

_WIDTH, _LEFT, _CELL = 1000, 20, 14
_MOST = 6  # models whose lines can still be told apart
_LINES = ("#1f5fbf", "#c77c11", "#2e7d32", "#8e44ad", "#c0392b", "#00838f")
_STYLE = (
    "text{font-size:12px}.title{font-size:16px}.head{font-size:13px;font-weight:600}"
    ".small{font-size:11px;fill:#666}.grid{stroke:#e4e4e4}.frame{fill:none;stroke:#aaa}.paper{fill:#fff}"
    ".context{stroke:#888;stroke-dasharray:3 3}.F{fill:#1f5fbf}.W{fill:#8fb4e8}.S{fill:#8e44ad}"
    ".L{fill:#e0a458}.K{fill:#e8d3a9}.H{fill:#2e7d32}.N{fill:#ccc}"
)
_DARK = ".small{fill:#aaa}.grid{stroke:#333}.paper{fill:#16191d}.frame{stroke:#666}.N{fill:#555}"

Curve = list[tuple[int, float | int]]


def card_ready(path: Path, models: int) -> None:
    """Refuses, before any work, a card that cannot be drawn or written."""
    if path.suffix not in (*FORMS, ".html"):
        raise BadInput(f"{path}: a card is an .svg, .png, .pdf or .html file")
    if models > _MOST:
        raise BadInput(f"a card shows at most {_MOST} models, got {models}")
    if path.suffix == ".html":
        ready_file(path)
    else:
        picture_ready(path)


def save_card(path: Path, reports: Sequence[AuditReport]) -> None:
    """Draws the card; the name says whether as a picture or in a page."""
    card_ready(path, len(reports))
    if path.suffix == ".html":
        write_whole(path, _page(reports, card(reports)).encode())
    else:
        save_picture(path, card(reports))


def one(report: AuditReport) -> Sequence[AuditReport]:
    """What a card of one model shows."""
    return (report,)


def page_of(report: AuditReport) -> dict[str, Any]:
    """The card, for a page, and above it whether what was asked for fits."""
    return {"picture": card([report]), "says": {"fits": answer_of(report)}}


def several(report: AuditsReport) -> Sequence[AuditReport]:
    """What a card of several models shows."""
    return report.models


def card(reports: Sequence[AuditReport]) -> str:
    """As SVG."""
    first = reports[0]
    several = "" if first.sequences == 1 else f" × {first.sequences} sequences"
    setting = f"{first.context:,} tokens{several}, engine {first.engine}"
    head = [
        text(_LEFT, 30, ", ".join(one.name for one in reports), class_="title"),
        text(_LEFT, 48, f"{setting}; all of it from config.json, no weights read", class_="small"),
    ]
    y, body = 72, []
    for one, colour in zip(reports, _LINES, strict=False):
        lines, y = _model(one, colour, y)
        body += lines
    body += _legend(reports, y)
    y += 34
    half = (_WIDTH - 3 * _LEFT) // 2
    cache = [_over(one, lambda point: point.cache_bytes) for one in reports]
    fixed = [_over(one, lambda point: point.fixed_bits) for one in reports]
    body += _chart("cache in bytes", cache, (_LEFT, y, half), first.context, "B")
    body += _chart("fixed-size state in bits per token", fixed, (2 * _LEFT + half, y, half), first.context)
    paper = rect(0, 0, _WIDTH, y + 300, class_="paper")
    return drawn(_WIDTH, y + 300, [paper, *head, *body], _STYLE, _DARK)


def _model(one: AuditReport, colour: str, y: int) -> tuple[list[str], int]:
    """Name, strip and figures; and where the next one begins."""
    per_line = (_WIDTH - 2 * _LEFT) // _CELL
    head = f"{one.name}: {one.model_type}, {len(one.strip)} layers"
    lines = [
        rect(_LEFT, y, 10, 10, rx=2, fill=colour),
        text(_LEFT + 16, y + 10, head, class_="head"),
    ]
    for i, kind in enumerate(one.strip):
        x, top = _LEFT + i % per_line * _CELL, y + 18 + i // per_line * (_CELL + 2)
        lines.append(rect(x, top, _CELL - 2, _CELL, rx=2, class_=_style(kind)))
    y += 18 + ceil(len(one.strip) / per_line) * (_CELL + 2) + 14
    for words in figures(one):
        lines.append(text(_LEFT, y, words))
        y += 17
    return lines, y + 10


def _style(kind: str) -> str:
    return "N" if kind == "·" else kind


def _legend(reports: Sequence[AuditReport], y: int) -> list[str]:
    used = {kind for one in reports for kind in one.strip}
    lines, x = [], _LEFT
    for kind, what in LETTERS.items():
        if kind in used:
            lines.append(rect(x, y, 11, 11, rx=2, class_=_style(kind)))
            lines.append(text(x + 16, y + 10, what, class_="small"))
            x += 30 + 6 * len(what)
    return lines


def _over(one: AuditReport, value: Callable[[CachePoint], float | int]) -> Curve:
    return [(point.tokens, value(point)) for point in one.cache_by_length if value(point) > 0]


def _chart(
    title: str, curves: list[Curve], place: tuple[int, int, int], context: int, unit: str = ""
) -> list[str]:
    """Both axes by their logarithms, gridded at powers of two (of 16 upwards)."""
    left, top, wide = place
    x0, y0, width, height = left + 62, top + 22, wide - 70, 220
    lines = [text(left, top + 8, title, class_="head")]
    points = [point for curve in curves for point in curve]
    if not points:
        return [*lines, text(x0, y0 + 20, "nothing: it has no such part", class_="small")]
    logs = [log2(v) for _, v in points]
    low, high = floor(min(logs) / 4) * 4, max(ceil(max(logs) / 4) * 4, floor(min(logs) / 4) * 4 + 4)
    first, last = log2(points[0][0]), log2(max(n for n, _ in points))

    def at(n: float | int, v: float | int) -> tuple[float, float]:
        return (
            x0 + width * (log2(n) - first) / (last - first),
            y0 + height * (1 - (log2(v) - low) / (high - low)),
        )

    for power in range(low, high + 1, 4):
        y = at(2**first, 2.0**power)[1]
        label = f"{2.0**power:g}" if power < 0 else in_bytes(2**power) if unit else short(2**power)
        lines.append(line(x0, y, x0 + width, y, class_="grid"))
        lines.append(text(x0 - 6, y + 4, label, class_="small", text_anchor="end"))
    for power in range(ceil(first), floor(last) + 1, 2):
        x = at(2**power, 2.0**low)[0]
        lines.append(line(x, y0, x, y0 + height, class_="grid"))
        lines.append(text(x, y0 + height + 16, short(2**power), class_="small", text_anchor="middle"))
    x = at(context, 2.0**low)[0]
    lines.append(line(x, y0, x, y0 + height, class_="context"))
    lines.append(rect(x0, y0, width, height, class_="frame"))
    for curve, colour in zip(curves, _LINES, strict=False):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(n, v) for n, v in curve))
        lines.append(element("polyline", points=path, fill="none", stroke=colour, stroke_width=2))
    middle = x0 + width / 2
    return [*lines, text(middle, y0 + height + 32, "tokens", class_="small", text_anchor="middle")]


def _page(reports: Sequence[AuditReport], svg: str) -> str:
    """The card and the words, in one file that needs no network."""
    words = "\n".join(f"<pre>{escape(chr(10).join(map(printable, lines_of(one))))}</pre>" for one in reports)
    style = (
        "body{font:14px system-ui,sans-serif;margin:1.5rem auto;max-width:1040px;padding:0 1rem;"
        "color-scheme:light dark}svg{max-width:100%;height:auto}"
        "pre{overflow-x:auto;padding:.8rem;border:1px solid #8885;border-radius:6px}"
    )
    title = escape(printable(", ".join(one.name for one in reports)))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Limen audit: {title}</title><style>{style}</style></head>\n"
        f"<body>\n{svg}{words}\n</body></html>\n"
    )
