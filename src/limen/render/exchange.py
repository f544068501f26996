"""A conversation drawn: players on a line in the order of the text, messages as arcs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from math import log2
from typing import TYPE_CHECKING

from limen.render.svg import circle, drawn, element, line, text

if TYPE_CHECKING:
    from limen.conversation.play import CountedMessage, ProtocolReport
    from limen.core.protocol import Holder

_LEFT, _STEP, _ROW, _DROP, _RADIUS = 150, 130, 166, 84, 17
_HEAD = (
    '<defs><marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="12" markerHeight="12" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="context-stroke" '
    'style="fill:context-stroke"/></marker></defs>'
)
_ASKED = "#8a8a8a"  # step 1, which is free
COLOURS = {"sums": "#1f5fbf", "state": "#b3541e", "block": "#3d7d3d", "opened": "#8a3fa0"}
_MEANS = {
    "sums": "sums for the receiver's queries",
    "state": "the state handed over",
    "block": "messages of blocks",
    "opened": "blocks opened",
}
_STYLE = ".who{fill:#dfe8f5;stroke:#8aa4c8}.line{stroke:#bbb}path{fill:none}"
_DARK = ".who{fill:#24344d;stroke:#6c86ad}.line{stroke:#555}"


def exchange_picture(report: ProtocolReport) -> str:
    """One row a layer; the width of an arc grows with the logarithm of its bits."""
    rows: dict[int, list[CountedMessage]] = defaultdict(list)
    for message in report.messages:
        rows[message.layer].append(message)
    x = {player.name: _LEFT + i * _STEP for i, player in enumerate(report.players)}
    kinds = [kind for kind in COLOURS if any(m.what == kind for m in report.messages)]
    top = 70 + len(rows) * _ROW
    body = [
        _HEAD,
        text(12, 22, f"{report.task} by {report.architecture}", class_="title"),
        text(12, 42, f"{len(report.messages)} messages, {_bits(report.messages)}"),
    ]
    for i, (layer, messages) in enumerate(sorted(rows.items())):
        y = 70 + i * _ROW + _DROP
        body += [text(12, y + 4, f"layer {layer}"), text(12, y + 20, _bits(messages))]
        body.append(line(_LEFT, y, max(x.values()), y, class_="line"))
        body += [_question_path(m, x[m.receiver], x[m.sender], y) for m in messages if m.what == "sums"]
        body += [_arc(m, x[m.sender], x[m.receiver], y) for m in messages]
        known = {k.player: k.bits for epoch in report.epochs if epoch.layer == layer for k in epoch.known}
        body += [part for who in report.players for part in _who(who, x[who.name], y, known.get(who.name))]
    for i, kind in enumerate(kinds):
        y = top + 10 + 24 * i
        body.append(element("path", d=f"M {_LEFT} {y} h 40", stroke=COLOURS[kind], stroke_width=3))
        body.append(text(_LEFT + 50, y + 4, _MEANS[kind]))
    if any(m.what == "sums" for m in report.messages):
        y = top + 10 + 24 * len(kinds)
        body.append(element("path", d=f"M {_LEFT} {y} h 40", stroke=_ASKED, stroke_dasharray="4 4"))
        body.append(text(_LEFT + 50, y + 4, "step 1: all that the asking player knows, X_i (free)"))
        top += 24
    width = max(560, _LEFT + len(report.players) * _STEP)
    return drawn(width, top + 24 * len(kinds) + 30, body, _STYLE, _DARK)


def _bits(messages: Iterable[CountedMessage]) -> str:
    return f"{sum(m.bits for m in messages):,} bits"


def _arc(message: CountedMessage, start: int, end: int, y: int) -> str:
    """States pass below the line, everything else above it."""
    lift = min(_DROP - 12, 20 + (end - start) // 8)
    end -= _RADIUS  # the arrow's head stands at the edge of the circle
    side = 1 if message.what == "state" else -1
    label = f"{message.sender} to {message.receiver}: {message.numbers} numbers, {message.bits:,} bits"
    return element(
        "path",
        element("title", escape(label)),
        d=f"M {start} {y} Q {(start + end) // 2} {y + side * 2 * lift} {end} {y}",
        stroke=COLOURS[message.what],
        stroke_width=1 + log2(1 + message.bits) / 4,
        stroke_opacity=0.75,
        marker_end="url(#to)",
    )


def _question_path(message: CountedMessage, start: int, end: int, y: int) -> str:
    """Step 1 of an epoch, from who asks to who answers, below the line."""
    lift = min(_DROP - 24, 12 + (start - end) // 10)
    d = f"M {start} {y} Q {(start + end) // 2} {y + 2 * lift} {end + _RADIUS} {y}"
    label = f"step 1: {message.receiver} sends X to {message.sender}, free"
    look = {"stroke": _ASKED, "stroke_dasharray": "4 4", "marker_end": "url(#to)"}
    return element("path", element("title", escape(label)), d=d, **look)


def _who(player: Holder, x: int, y: int, known: int | None) -> list[str]:
    """A player, its tokens and, after an epoch, the bits of its information state."""
    state = [] if known is None else [text(x, y + 66, f"X {known:,} bits", text_anchor="middle")]
    return [
        circle(x, y, _RADIUS, class_="who"),
        text(x, y + 4, player.name, text_anchor="middle"),
        text(x, y + 32, f"{player.tokens} tok.", text_anchor="middle"),
        *state,
    ]
