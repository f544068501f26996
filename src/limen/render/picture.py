"""The attention of a construction on one input, drawn as SVG: where each position looks, layer by layer."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.construction import Construction
from limen.core.errors import BadInput
from limen.core.task import Tokens
from limen.mixers.softmax import Softmax
from limen.model.model import Model, Place, at_once

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

MOST = 96  # tokens that can still be told apart in a picture
_SIDE, _GAP, _LEFT = 320, 44, 190
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:13px;font-weight:600}"
    ".frame{fill:none;stroke:#999}.weight{fill:#1f5fbf}.part{fill:#dfe8f5;stroke:#8aa4c8}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.frame{stroke:#777}.weight{fill:#7db0ff}"
    ".part{fill:#24344d;stroke:#6c86ad}}"
)


def attention_picture(construction: Construction, model: Model, tokens: Tokens) -> str:
    """A heat map a head, and the named parts of the residual stream beside them."""
    if construction.steps:
        written = model.decode(torch.as_tensor(tokens), construction.steps)
        tokens = torch.cat([torch.as_tensor(tokens), written]).numpy()
    n = len(tokens)
    if n > MOST:
        raise BadInput(f"a picture shows at most {MOST} tokens, {construction.task} has {n}")
    maps = attention(model, torch.as_tensor(tokens))
    columns = max(1, min(3, len(maps)))
    rows = -(-len(maps) // columns)
    width = _LEFT + columns * (_SIDE + _GAP)
    height = max(80 + rows * (_SIDE + _GAP + 18), 70 + 26 * len(construction.columns.sizes))
    body = [
        f'<text class="title" x="12" y="22">{escape(f"{construction.task} by {construction}")}</text>',
        f'<text x="12" y="40">{n} tokens; row: who looks, column: at whom; width {model.frame.width}</text>',
        *_stream(construction),
    ]
    for i, (title, α) in enumerate(maps):
        x, y = _LEFT + i % columns * (_SIDE + _GAP), 92 + i // columns * (_SIDE + _GAP + 18)
        body += _heat_map(title, α, [str(t) for t in tokens], x, y)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    drawn = "\n".join(body)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n<style>{_STYLE}</style>\n{drawn}\n</svg>\n'


def attention(model: Model, tokens: torch.Tensor) -> list[tuple[str, torch.Tensor]]:
    """(title, (n, n) weights) of every softmax head, on one input."""
    maps = []

    def mix(place: Place, seen: torch.Tensor) -> torch.Tensor:
        if isinstance(place.mixer, Softmax):
            for head, α in enumerate(place.mixer.attention(place.weights, seen).unbind(-3)):
                maps.append((f"layer {place.layer + 1}, head {head + 1}", α))
        return at_once(place, seen)

    model.through(model.embedded(tokens), mix)
    return maps


def _stream(construction: Construction) -> list[str]:
    """The parts of the residual stream, top to bottom."""
    lines = ['<text class="title" x="12" y="72">residual stream</text>']
    for i, (name, size) in enumerate(construction.columns.sizes):
        y = 82 + 26 * i
        lines.append(f'<rect class="part" x="12" y="{y}" width="150" height="22" rx="3"/>')
        lines.append(f'<text x="20" y="{y + 15}">{escape(name)}: {size}</text>')
    return lines


def _heat_map(title: str, α: torch.Tensor, labels: list[str], x: float, y: float) -> list[str]:
    n = len(labels)
    cell = _SIDE / n
    lines = [f'<text class="title" x="{x}" y="{y - 20}">{title}</text>']
    for i, row in enumerate(α.tolist()):
        for j, weight in enumerate(row):
            if weight > 1 / 256:
                lines.append(
                    f'<rect class="weight" x="{x + j * cell:.2f}" y="{y + i * cell:.2f}" width="{cell:.2f}" '
                    f'height="{cell:.2f}" fill-opacity="{weight:.2f}"/>'
                )
    lines.append(f'<rect class="frame" x="{x}" y="{y}" width="{_SIDE}" height="{_SIDE}"/>')
    if n <= 32:
        for i, label in enumerate(labels):
            middle = (i + 0.5) * cell
            lines.append(f'<text x="{x + middle:.1f}" y="{y - 4}" text-anchor="middle">{label}</text>')
            lines.append(f'<text x="{x - 4}" y="{y + middle + 4:.1f}" text-anchor="end">{label}</text>')
    return lines
