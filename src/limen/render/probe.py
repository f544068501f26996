"""Draws the answers of `limen probe`: tables as text, copying and perplexity over k as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.render.svg import circle, drawn, line, rect, text

if TYPE_CHECKING:
    from limen.probes.report import CutRow, LayersReport, ProbeReport, ProbeRow


def lines_of(report: ProbeReport) -> list[str]:
    shared = "each context run once for all its questions" if report.shared else "each text run by itself"
    lines = [
        f"{report.model}: measured, not proved   ({shared}; seed {report.seed}, {report.seconds:.0f} CPU s)",
        *_table(report.rows),
        "",
        report.gate,
    ]
    lines += [f"left out: {one}" for one in report.left_out]
    if not report.whole:
        lines.append("stopped by the budget: the same command continues")
    if report.proved:
        lines += ["", "Proved of any model of this shape (limen audit), not of these weights:"]
        lines += [f"  {one}" for one in report.proved]
    return lines


def _table(rows: Sequence[ProbeRow]) -> list[str]:
    head = [
        "task",
        "n",
        "hops",
        "right",
        "[95 %]",
        "free",
        "blind",
        "same",
        "by place",
        "questions",
        "tokens",
        "format",
    ]
    table = [head, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    aligned = [
        "  ".join(f"{cell:{w}}" for cell, w in zip(one, widths, strict=True)).rstrip() for one in table
    ]
    lines = [f"  {aligned[0]}"]
    for one, row in zip(aligned[1:], rows, strict=True):
        lines += [f"  {one}", f"      {row.says}"]
    return lines


def _cells(row: ProbeRow) -> list[str]:
    thirds = "–" if row.thirds is None else " ".join(f"{100 * part:.0f}" for part in row.thirds)
    hops = f"{row.hops} of {row.depth}" if row.depth > 1 else str(row.hops)
    return [
        row.task + (", links" if row.link else "") + (", thinking" if row.thinking else ""),
        str(row.n),
        hops,
        f"{row.accuracy:.1%}",
        f"[{100 * row.low:.1f}, {100 * row.high:.1f}]",
        "–" if row.free is None else f"{row.free:.1%}",
        f"{row.blind:.1%}",
        f"{row.same:.0%}",
        thirds,
        f"{row.count} in {row.contexts}",
        str(row.tokens),
        f"{row.format} (best of {row.tried})" if row.tried > 1 else row.format,
    ]


def layer_lines(report: LayersReport) -> list[str]:
    lines = [
        f"{report.model}: {plural(len(report.layers), 'attention layer')}; all but k have a window of "
        f"{report.window} tokens and {plural(report.sinks, 'sink')}; measured, nothing was retrained",
        f"copying of {report.n} words, said three times; the copy is up to {report.period} tokens back; "
        f"{plural(report.contexts, 'list')}   (seed {report.seed}, {report.seconds:.0f} CPU s)",
    ]
    if report.ranking:
        top = ", ".join(f"{one.layer} ({one.rise:+.2f})" for one in report.ranking[:8])
        lines.append(f"loss rises most when one layer alone is windowed (nats a word): {top}")
    head = ["k", "chosen", "copied", "[95 %]", "loss", "perplexity", "full layers"]
    lines += _aligned([head, *map(_cut_cells, report.rows)])
    lines += ["", report.recommendation, *(f"  not said: {one}" for one in report.silent)]
    lines += _head_lines(report)
    return lines if report.whole else [*lines, "stopped by the budget: the same command continues"]


def _aligned(table: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  " + "  ".join(f"{cell:{w}}" for cell, w in zip(one, widths, strict=True)).rstrip() for one in table
    ]


def _head_lines(report: LayersReport) -> list[str]:
    """The heads of the recommended layers: each alone, and some of each layer together."""
    if not report.heads:
        return []
    layers = list(dict.fromkeys(one.layer for one in report.heads))
    each = len(report.heads) // len(layers)
    lines = [
        "",
        f"a single one of the {each} heads full in a layer, these other layers full: loss (nats a word)",
    ]
    for layer in layers:
        own = [one for one in report.heads if one.layer == layer][:_BEST]
        told = ", ".join(f"head {one.head} ({one.loss:.2f})" for one in own)
        lines.append(f"  layer {layer}: {told}{', …' if each > _BEST else ''}")
    head = ["heads", "chosen", "copied", "[95 %]", "loss", "perplexity", "full heads (layer.head)"]
    lines += _aligned([head, *map(_head_cells, report.head_rows)])
    if report.keys is not None and report.keys < each:
        shared = each // report.keys
        lines.append(f"  {shared} heads share keys and values: their cache grows if one of them is full")
    return lines


def _head_cells(row: CutRow) -> list[str]:
    _, _, *figures, _ = _cut_cells(row)
    full = ", ".join(f"{layer}.{head}" for layer, head in row.heads) if len(row.heads) <= _LISTED else ""
    return [str(len(row.heads)), row.chosen, *figures, full]


def _cut_cells(row: CutRow) -> list[str]:
    chosen = f"control, window {row.window}" if row.chosen == "control" else row.chosen
    return [
        str(row.k),
        chosen,
        f"{row.accuracy:.1%}",
        f"[{100 * row.low:.1f}, {100 * row.high:.1f}]",
        f"{row.loss:.2f}",
        f"{row.perplexity:.1f}",
        ", ".join(map(str, row.full)) if len(row.full) <= _LISTED else "",
    ]


_LISTED = 16
_BEST = 3  # heads of a layer that are shown
_COLOURS = {
    "all": "#333333", "none": "#333333", "control": "#777777", "top": "#4269d0", "greedy": "#2f9e77",
    "even": "#d4572b", "first": "#b8860b", "last": "#a463c9", "random": "#9aa0a6",
    "without the top": "#c2438a",
}  # fmt: skip
_W, _H, _LEFT, _TOP, _BETWEEN = 300, 240, 60, 60, 70


def layers_picture(report: LayersReport) -> str:
    """Copying and perplexity over k, a colour a way of choosing; below, the layers in the order of need."""
    count = len(report.layers)
    panels = [
        _panel(report, _LEFT, "copied", lambda row: row.accuracy, 1.0, count),
        _panel(
            report,
            _LEFT + _W + _BETWEEN,
            "perplexity on English",
            lambda row: row.perplexity,
            1.05 * max((row.perplexity for row in report.rows), default=1.0),
            count,
        ),
    ]
    title = f"{report.model}: all attention layers but k have a window of {report.window}"
    body = [text(12, 24, title, class_="title"), *(one for panel in panels for one in panel)]
    body += _legend(report, _TOP + _H + 56)
    body += _strip(report, _TOP + _H + 96)
    return drawn(
        2 * _W + _LEFT + _BETWEEN + 40, _TOP + _H + 190, body, ".axis{stroke:#999}", ".axis{stroke:#777}"
    )


def _panel(report: LayersReport, x: int, title: str, value, most: float, count: int) -> list[str]:  # type: ignore[no-untyped-def]
    """Dots at (k, value), with the interval where it is of copying."""
    lines = [text(x, _TOP - 12, title, class_="title"), rect(x, _TOP, _W, _H, fill="none", class_="axis")]
    for share in (0, 0.25, 0.5, 0.75, 1.0):
        label = f"{share:.0%}" if most == 1.0 else f"{share * most:.0f}"
        lines.append(text(x - 6, _TOP + _H * (1 - share) + 4, label, text_anchor="end"))
    for k in sorted({0, count, *(row.k for row in report.rows)}):
        lines.append(text(x + _W * k / count, _TOP + _H + 16, k, text_anchor="middle"))
    lines.append(text(x + _W / 2, _TOP + _H + 34, "full layers k", text_anchor="middle"))
    for row in report.rows:
        at, colour = x + _W * row.k / count, _COLOURS[row.chosen]
        height = _TOP + _H * (1 - value(row) / most)
        if most == 1.0:
            low, high = (_TOP + _H * (1 - end) for end in (row.low, row.high))
            lines.append(line(at, low, at, high, stroke=colour, stroke_opacity=0.5))
        lines.append(circle(at, height, 4, fill=colour))
    return lines


def _legend(report: LayersReport, y: int) -> list[str]:
    lines: list[str] = []
    for i, chosen in enumerate(dict.fromkeys(row.chosen for row in report.rows)):
        x = _LEFT + 68 * i
        lines += [circle(x, y, 4, fill=_COLOURS[chosen]), text(x + 8, y + 4, chosen)]
    return lines


def _strip(report: LayersReport, y: int) -> list[str]:
    """The layers in a row, darker the more the loss rises without them."""
    if not report.ranking:
        return []
    most = max(max(one.rise for one in report.ranking), 1e-9)
    side = min(24.0, (2 * _W + _BETWEEN) / len(report.layers))
    places = {layer: i for i, layer in enumerate(report.layers)}
    lines = [text(_LEFT, y, "rise of the loss when a layer alone is windowed", class_="title")]
    for one in report.ranking:
        x = _LEFT + side * places[one.layer]
        shade = f"{max(0.0, one.rise) / most:.2f}"
        lines.append(rect(x, y + 10, side - 2, 22, fill="#4269d0", fill_opacity=shade, class_="axis"))
        lines.append(text(x + side / 2 - 1, y + 48, one.layer, text_anchor="middle"))
    return lines
