"""A conversation drawn as SVG: players on a line in the order of the text, messages as arcs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from html import escape
from math import log2

from limen.core.architecture import Architecture
from limen.core.certificate import Message, Transcript
from limen.core.task import Player, Task

_LEFT, _STEP, _ROW, _DROP, _RADIUS = 150, 130, 150, 84, 17
_HEAD = (
    '<marker id="to" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="12" markerHeight="12" '
    'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="context-stroke" '
    'style="fill:context-stroke"/></marker>'
)
_COLOURS = {"sums": "#1f5fbf", "state": "#b3541e", "block": "#3d7d3d", "opened": "#8a3fa0"}
_MEANS = {
    "sums": "sums for the receiver's queries",
    "state": "the state handed over",
    "block": "messages of blocks",
    "opened": "blocks opened",
}
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:13px;font-weight:600}"
    ".who{fill:#dfe8f5;stroke:#8aa4c8}.line{stroke:#bbb}path{fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.who{fill:#24344d;stroke:#6c86ad}.line{stroke:#555}}"
)


def whose(said: Transcript) -> str:
    """The task and the stack as people write them, defaults left out."""
    return f"{Task.parse(said.task)} by {Architecture.parse(said.architecture)}"


def exchange_picture(said: Transcript, players: tuple[Player, ...]) -> str:
    """One row a layer; the width of an arc grows with the logarithm of its bits."""
    rows: dict[int, list[Message]] = defaultdict(list)
    for message in said.messages:
        rows[message.layer].append(message)
    x = {player.name: _LEFT + i * _STEP for i, player in enumerate(players)}
    width = max(560, _LEFT + len(players) * _STEP)
    height = 70 + len(rows) * _ROW + 24 * len({m.what for m in said.messages}) + 30
    body = [
        f'<text class="title" x="12" y="22">{escape(whose(said))}</text>',
        f'<text x="12" y="42">{len(said.messages)} messages, {_bits(said.messages)}</text>',
    ]
    for i, (layer, messages) in enumerate(sorted(rows.items())):
        y = 70 + i * _ROW + _DROP
        body.append(f'<text x="12" y="{y + 4}">layer {layer}</text>')
        body.append(f'<text x="12" y="{y + 20}">{_bits(messages)}</text>')
        body.append(f'<line class="line" x1="{_LEFT}" y1="{y}" x2="{max(x.values())}" y2="{y}"/>')
        body += [_arc(m, x[m.sender], x[m.receiver], y) for m in messages]
        body += [_who(p, x[p.name], y) for p in players]
    top = 70 + len(rows) * _ROW + 10
    for i, kind in enumerate(k for k in _COLOURS if any(m.what == k for m in said.messages)):
        y = top + 24 * i
        body.append(f'<path d="M {_LEFT} {y} h 40" stroke="{_COLOURS[kind]}" stroke-width="3"/>')
        body.append(f'<text x="{_LEFT + 50}" y="{y + 4}">{_MEANS[kind]}</text>')
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    drawn = "\n".join([f"<style>{_STYLE}</style>", f"<defs>{_HEAD}</defs>", *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{drawn}\n</svg>\n'


def _bits(messages: Iterable[Message]) -> str:
    return f"{sum(m.bits for m in messages):,} bits"


def _arc(message: Message, start: int, end: int, y: int) -> str:
    """States pass below the line, everything else above it."""
    lift = min(_DROP - 12, 20 + (end - start) // 8)
    end -= _RADIUS  # the arrow's head stands at the edge of the circle
    side = 1 if message.what == "state" else -1
    thick = 1 + log2(1 + message.bits) / 4
    label = f"{message.sender} to {message.receiver}: {message.numbers} numbers, {message.bits:,} bits"
    return (
        f'<path d="M {start} {y} Q {(start + end) // 2} {y + side * 2 * lift} {end} {y}" '
        f'stroke="{_COLOURS[message.what]}" stroke-width="{thick:.1f}" stroke-opacity="0.75" '
        f'marker-end="url(#to)">'
        f"<title>{escape(label)}</title></path>"
    )


def _who(player: Player, x: int, y: int) -> str:
    name = escape(player.name)
    return (
        f'<circle class="who" cx="{x}" cy="{y}" r="{_RADIUS}"/>'
        f'<text x="{x}" y="{y + 4}" text-anchor="middle">{name}</text>'
        f'<text x="{x}" y="{y + 32}" text-anchor="middle">{len(player.tokens)} tok.</text>'
    )
