"""A design drawn as SVG: cache against the FLOPs of a token, both by their logarithms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10

from limen.designs import Design
from limen.designs.cost import Cost
from limen.designs.search import Row
from limen.designs.verdicts import Standing, bound_of

_LEFT, _TOP, _WIDTH, _HEIGHT = 84, 66, 660, 400
_STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#333}.title{font-size:13px;font-weight:600}"
    ".grid{stroke:#e2e2e2}.frame{fill:none;stroke:#999}.other{fill:#bbb}.killed{stroke:#c0392b;fill:none}"
    ".can{fill:#2e7d32}.open{fill:#1f5fbf}.shallow{fill:#c77c11}.number{font-weight:600}"
    ".limit{stroke:#c0392b;stroke-dasharray:5 4}.budget{stroke:#555;stroke-dasharray:2 3}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#333}.frame{stroke:#777}.other{fill:#555}"
    ".budget{stroke:#aaa}}"
)
_MEANS = (
    ("can", "every task: can"),
    ("open", "some open"),
    ("shallow", "some open, with fewer hops than the task has"),
)


@dataclass(frozen=True)
class _Axis:
    """Logarithms of a range of values, laid out from `start` over `length` (negative: upwards)."""

    low: float
    high: float
    start: int
    length: int

    @classmethod
    def of(cls, values: Iterable[int], start: int, length: int) -> _Axis:
        logs = [log10(max(1, value)) for value in values]
        room = max(0.06, 0.06 * (max(logs) - min(logs)))
        return cls(min(logs) - room, max(logs) + room, start, length)

    def at(self, value: float) -> float:
        return self.start + self.length * (log10(max(1, value)) - self.low) / (self.high - self.low)

    def ticks(self) -> list[int]:
        """1, 2 and 5 times powers of ten; powers alone over a wide range, tenths over a narrow one."""
        span = self.high - self.low
        tenths = (10,) if span > 4 else (10, 20, 50) if span > 0.5 else range(10, 100)
        powers = range(max(1, floor(self.low)), ceil(self.high) + 1)
        found = [step * 10 ** (power - 1) for power in powers for step in tenths]
        seen = [value for value in found if self.low <= log10(value) <= self.high]
        return seen[:: max(1, len(seen) // 8)]


def front_picture(found: Design) -> str:
    """All stacks as dots, the front numbered, what a theorem rules out crossed."""
    wish = found.wish
    prices = [priced.cost for priced in found.looked_at]
    floors = sorted(found.floors, key=lambda one: one.bits)[-1:]
    limits = [*(one.bytes for one in floors), *([wish.budget] if wish.budget else [])]
    x = _Axis.of([*(price.cache_bytes for price in prices), *limits], _LEFT, _WIDTH)
    y = _Axis.of([price.decode for price in prices], _TOP + _HEIGHT, -_HEIGHT)
    title = f"{wish.layers} layers of width {wish.width:,}, {wish.context:,} tokens"
    body = [
        f'<text class="title" x="12" y="22">{escape(" and ".join(map(str, wish.tasks)))}</text>',
        f'<text x="12" y="42">{title}; {len(prices):,} stacks looked at</text>',
        *_axes(x, y),
    ]
    dots = {(round(x.at(p.cache_bytes), 1), round(y.at(p.decode), 1)) for p in prices}
    body += [f'<circle class="other" cx="{a}" cy="{b}" r="1.6"/>' for a, b in sorted(dots)]
    body += [_cross(killed.cost, x, y) for killed in found.killed]
    body += _numbered(found.front, x, y)
    for one in floors:
        said = f"{bound_of(one.evidence).theorem}: no stack can keep less"
        body += _upright("limit", x.at(one.bytes), said)
    if wish.budget:
        body += _upright("budget", x.at(wish.budget), "budget")
    body += _key(found)
    width, height = _LEFT + _WIDTH + 24, _TOP + _HEIGHT + 112
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    drawn = "\n".join([f"<style>{_STYLE}</style>", *body])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{drawn}\n</svg>\n'


def _axes(x: _Axis, y: _Axis) -> list[str]:
    bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
    lines = []
    for value in x.ticks():
        at = x.at(value)
        lines.append(f'<line class="grid" x1="{at:.1f}" y1="{_TOP}" x2="{at:.1f}" y2="{bottom}"/>')
        lines.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{_tick(value)}B</text>')
    for value in y.ticks():
        at = y.at(value)
        lines.append(f'<line class="grid" x1="{_LEFT}" y1="{at:.1f}" x2="{right}" y2="{at:.1f}"/>')
        lines.append(f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{_tick(value)}</text>')
    middle = _TOP + _HEIGHT // 2
    return [
        *lines,
        f'<rect class="frame" x="{_LEFT}" y="{_TOP}" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text x="{_LEFT + _WIDTH // 2}" y="{bottom + 36}" text-anchor="middle">'
        "cache of one sequence</text>",
        f'<text x="16" y="{middle}" text-anchor="middle" transform="rotate(-90 16 {middle})">'
        "FLOPs of the last token</text>",
    ]


def _tick(value: int) -> str:
    power = min(6, int(log10(value)) // 3)
    return f"{value / 1000**power:g} {' kMGTPE'[power]}".rstrip() + (" " if power == 0 else "")


def _cross(price: Cost, x: _Axis, y: _Axis) -> str:
    a, b = x.at(price.cache_bytes), y.at(price.decode)
    return f'<path class="killed" d="M{a - 4:.1f} {b - 4:.1f} l8 8 m0 -8 l-8 8"/>'


def _numbered(rows: tuple[Row, ...], x: _Axis, y: _Axis) -> list[str]:
    """Dots with their numbers, each where no dot and no number stands yet."""
    places = [(x.at(row.cost.cache_bytes), y.at(row.cost.decode)) for row in rows]
    taken, lines = list(places), []
    for i, (row, (a, b)) in enumerate(zip(rows, places, strict=True), 1):
        label = next(
            ((a + p, b + q) for p, q in _BESIDE if _free(a + p, b + q, taken)), (a + _BESIDE[0][0], b)
        )
        taken.append(label)
        lines.append(
            f'<g><title>{escape(str(row.architecture))}</title><circle class="{_kind(row)}" cx="{a:.1f}" '
            f'cy="{b:.1f}" r="5"/><text class="number" x="{label[0]:.1f}" y="{label[1] + 4:.1f}" '
            f'text-anchor="middle">{i}</text></g>'
        )
    return lines


_BESIDE = [(sign * step, rise) for step in (14, 28) for rise in (0, -12, 12) for sign in (1, -1)]


def _free(a: float, b: float, taken: list[tuple[float, float]]) -> bool:
    return all(abs(a - c) > 11 or abs(b - d) > 9 for c, d in taken)


def _kind(row: Row) -> str:
    if Standing.SHALLOW in row.standings:
        return "shallow"
    return "open" if Standing.OPEN in row.standings else "can"


def _upright(kind: str, x: float, label: str) -> list[str]:
    top, bottom = _TOP, _TOP + _HEIGHT
    return [
        f'<line class="{kind}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{bottom}"/>',
        f'<text x="{x + 5:.1f}" y="{top + 14}">{escape(label)}</text>',
    ]


def _key(found: Design) -> list[str]:
    y, lines, at = _TOP + _HEIGHT + 62, [], _LEFT
    for kind, words in _MEANS:
        lines.append(f'<circle class="{kind}" cx="{at}" cy="{y}" r="6"/>')
        lines.append(f'<text x="{at + 12}" y="{y + 4}">{words}</text>')
        at += 48 + 6 * len(words)
    lines.append(f'<path class="killed" d="M{_LEFT - 4} {y + 20} l8 8 m0 -8 l-8 8"/>')
    ruled = f"would be on the front, but a theorem rules it out ({len(found.killed):,})"
    return [*lines, f'<text x="{_LEFT + 12}" y="{y + 28}">{ruled}; small dots: the other stacks</text>']
