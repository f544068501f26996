"""Audits as one card, SVG or HTML: the layers as strips, the cache and the fixed state over the length."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from math import ceil, floor, log2
from pathlib import Path
from typing import TYPE_CHECKING

from limen.core.errors import BadInput
from limen.core.folder import ready_file, write_whole
from limen.render.words import in_bytes, short

if TYPE_CHECKING:
    from limen.render.audit import Shown

_WIDTH, _LEFT, _CELL = 1000, 20, 14
_MOST = 6  # models whose lines can still be told apart
_LINES = ("#1f5fbf", "#c77c11", "#2e7d32", "#8e44ad", "#c0392b", "#00838f")
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#333}.title{font-size:16px;font-weight:600}"
    ".head{font-size:13px;font-weight:600}.small{font-size:11px;fill:#666}"
    ".grid{stroke:#e4e4e4}.frame{fill:none;stroke:#aaa}.paper{fill:#fff}"
    ".context{stroke:#888;stroke-dasharray:3 3}.F{fill:#1f5fbf}.W{fill:#8fb4e8}.S{fill:#8e44ad}"
    ".L{fill:#e0a458}.K{fill:#e8d3a9}.H{fill:#2e7d32}.N{fill:#ccc}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.small{fill:#aaa}.grid{stroke:#333}.paper{fill:#16191d}"
    ".frame{stroke:#666}.N{fill:#555}}"
)


def card_ready(path: Path, models: int) -> None:
    """Refuses, before any work, a card that cannot be drawn or written."""
    if path.suffix not in (".svg", ".html"):
        raise BadInput(f"{path}: a card is an .svg or an .html file")
    if models > _MOST:
        raise BadInput(f"a card shows at most {_MOST} models, got {models}")
    ready_file(path)


def save_card(path: Path, shown: list[Shown]) -> None:
    """Draws the card; the name says whether as SVG or in a page."""
    card_ready(path, len(shown))
    drawn = card(shown)
    write_whole(path, (drawn if path.suffix == ".svg" else _page(shown, drawn)).encode())


def card(shown: list[Shown]) -> str:
    """As SVG."""
    request = shown[0].audit.request
    several = "" if request.sequences == 1 else f" × {request.sequences} sequences"
    names = ", ".join(one.name for one in shown)
    body = [
        f'<text class="title" x="{_LEFT}" y="30">{escape(names)}</text>',
        f'<text class="small" x="{_LEFT}" y="48">{request.context:,} tokens{several}, engine '
        f"{request.engine}; all of it from config.json, no weights read</text>",
    ]
    y = 72
    for i, one in enumerate(shown):
        lines, y = _model(one, _LINES[i], y)
        body += lines
    body += _legend(shown, y)
    y += 34
    half = (_WIDTH - 3 * _LEFT) // 2
    lengths = sorted({2**i for i in range(9, 21)} | {request.context})
    cache = [_over(lengths, one.audit.cache_bytes_after) for one in shown]
    fixed = [_over(lengths, one.audit.held_bits_per_token) for one in shown]
    body += _chart("cache in bytes", cache, (_LEFT, y, half), request.context, "B")
    body += _chart("fixed-size state in bits per token", fixed, (2 * _LEFT + half, y, half), request.context)
    height = y + 300
    size = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    paper = f'<rect class="paper" width="{_WIDTH}" height="{height}"/>'
    drawn = "\n".join([f"<style>{_STYLE}</style>", paper, *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{drawn}\n</svg>\n'


def _model(one: Shown, colour: str, y: int) -> tuple[list[str], int]:
    """Name, strip and figures; and where the next one begins."""
    found, strip = one.audit, one.strip
    per_line = (_WIDTH - 2 * _LEFT) // _CELL
    head = f"{one.name}: {found.stack.model_type}, {len(strip)} layers"
    lines = [
        f'<rect x="{_LEFT}" y="{y}" width="10" height="10" rx="2" fill="{colour}"/>',
        f'<text class="head" x="{_LEFT + 16}" y="{y + 10}">{escape(head)}</text>',
    ]
    for i, kind in enumerate(strip):
        x, top = _LEFT + i % per_line * _CELL, y + 18 + i // per_line * (_CELL + 2)
        style = "N" if kind == "·" else kind
        lines.append(f'<rect class="{style}" x="{x}" y="{top}" width="{_CELL - 2}" height="{_CELL}" rx="2"/>')
    y += 18 + ceil(len(strip) / per_line) * (_CELL + 2) + 14
    for line in one.figures:
        lines.append(f'<text x="{_LEFT}" y="{y}">{escape(line)}</text>')
        y += 17
    return lines, y + 10


def _legend(shown: list[Shown], y: int) -> list[str]:
    from limen.render.audit import LETTERS

    used = {kind for one in shown for kind in one.strip}
    lines, x = [], _LEFT
    for kind, what in LETTERS.items():
        if kind in used:
            style = "N" if kind == "·" else kind
            lines.append(f'<rect class="{style}" x="{x}" y="{y}" width="11" height="11" rx="2"/>')
            lines.append(f'<text class="small" x="{x + 16}" y="{y + 10}">{what}</text>')
            x += 30 + 6 * len(what)
    return lines


def _over(lengths: list[int], value: Callable[[int], float | int]) -> list[tuple[int, float | int]]:
    return [(n, v) for n in lengths if (v := value(n)) > 0]


def _chart(
    title: str,
    curves: list[list[tuple[int, float | int]]],
    place: tuple[int, int, int],
    context: int,
    unit: str = "",
) -> list[str]:
    """Both axes by their logarithms, gridded at powers of two (of 16 upwards)."""
    left, top, wide = place
    x0, y0, width, height = left + 62, top + 22, wide - 70, 220
    lines = [f'<text class="head" x="{left}" y="{top + 8}">{title}</text>']
    points = [point for curve in curves for point in curve]
    if not points:
        return [*lines, f'<text class="small" x="{x0}" y="{y0 + 20}">nothing: it has no such part</text>']
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
        lines.append(f'<line class="grid" x1="{x0}" y1="{y:.1f}" x2="{x0 + width}" y2="{y:.1f}"/>')
        lines.append(f'<text class="small" x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>')
    for power in range(ceil(first), floor(last) + 1, 2):
        x = at(2**power, 2.0**low)[0]
        lines.append(f'<line class="grid" x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + height}"/>')
        below = f'x="{x:.1f}" y="{y0 + height + 16}" text-anchor="middle"'
        lines.append(f'<text class="small" {below}>{short(2**power)}</text>')
    x = at(context, 2.0**low)[0]
    lines.append(f'<line class="context" x1="{x:.1f}" y1="{y0}" x2="{x:.1f}" y2="{y0 + height}"/>')
    lines.append(f'<rect class="frame" x="{x0}" y="{y0}" width="{width}" height="{height}"/>')
    for curve, colour in zip(curves, _LINES, strict=False):
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (at(n, v) for n, v in curve))
        lines.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    middle = x0 + width / 2
    lines.append(
        f'<text class="small" x="{middle}" y="{y0 + height + 32}" text-anchor="middle">tokens</text>'
    )
    return lines


def _page(shown: list[Shown], drawn: str) -> str:
    """The card and the words, in one file that needs no network."""
    words = "\n".join(f"<pre>{escape(chr(10).join(one.lines))}</pre>" for one in shown)
    style = (
        "body{font:14px system-ui,sans-serif;margin:1.5rem auto;max-width:1040px;padding:0 1rem;"
        "color-scheme:light dark}svg{max-width:100%;height:auto}"
        "pre{overflow-x:auto;padding:.8rem;border:1px solid #8885;border-radius:6px}"
    )
    title = escape(", ".join(one.name for one in shown))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>Limen audit: {title}</title><style>{style}</style></head>\n"
        f"<body>\n{drawn}{words}\n</body></html>\n"
    )
