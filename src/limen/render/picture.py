"""The attention of a construction on one input, drawn: where each position looks, layer by layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.render.svg import drawn, rect, text

if TYPE_CHECKING:
    from limen.model.attention import HeadMap
    from limen.solutions.look import LookReport

_SIDE, _GAP, _LEFT = 320, 44, 190
_STYLE = ".frame{fill:none;stroke:#999}.weight{fill:#1f5fbf}.part{fill:#dfe8f5;stroke:#8aa4c8}"
_DARK = ".frame{stroke:#777}.weight{fill:#7db0ff}.part{fill:#24344d;stroke:#6c86ad}"
_FAINT = 1 / 256  # weights up to which nothing is drawn
_LABELLED = 32  # tokens whose ids are still to be read


def attention_picture(seen: LookReport) -> str:
    """A heat map a head, and the named parts of the residual stream beside them."""
    tokens = seen.tokens + seen.thoughts
    columns = max(1, min(3, len(seen.maps)))
    rows = -(-len(seen.maps) // columns)
    width = _LEFT + columns * (_SIDE + _GAP)
    height = max(80 + rows * (_SIDE + _GAP + 18), 70 + 26 * len(seen.columns))
    title = f"{seen.task} by {seen.construction}"
    words = f"{len(tokens)} tokens; rows attend to columns; width {seen.width}"
    body = [text(12, 22, title, class_="title"), text(12, 40, words), *_stream(seen)]
    for i, one in enumerate(seen.maps):
        x, y = _LEFT + i % columns * (_SIDE + _GAP), 92 + i // columns * (_SIDE + _GAP + 18)
        body += _heat_map(one, tokens, x, y)
    return drawn(width, height, body, _STYLE, _DARK)


def _stream(seen: LookReport) -> list[str]:
    """The parts of the residual stream, top to bottom."""
    lines = [text(12, 72, "residual stream", class_="title")]
    for i, (name, size) in enumerate(seen.columns):
        y = 82 + 26 * i
        lines += [rect(12, y, 150, 22, rx=3, class_="part"), text(20, y + 15, f"{name}: {size}")]
    return lines


def _heat_map(one: HeadMap, tokens: tuple[int, ...], x: int, y: int) -> list[str]:
    cell = _SIDE / len(tokens)
    lines = [text(x, y - 20, one.title, class_="title")]
    for i, row in enumerate(one.weights):
        for j, weight in enumerate(row):
            if weight > _FAINT:
                place = x + j * cell, y + i * cell, cell, cell
                lines.append(rect(*place, class_="weight", fill_opacity=f"{weight:.2f}"))
    lines.append(rect(x, y, _SIDE, _SIDE, class_="frame"))
    for i, token in enumerate(tokens if len(tokens) <= _LABELLED else ()):
        middle = (i + 0.5) * cell
        lines.append(text(x + middle, y - 4, token, text_anchor="middle"))
        lines.append(text(x - 4, y + middle + 4, token, text_anchor="end"))
    return lines
