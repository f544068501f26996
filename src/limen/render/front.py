"""A design drawn: cache against decode and cache against prefill, all by their logarithms."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, cos, floor, hypot, log10, pi, sin
from typing import TYPE_CHECKING

from limen.render.svg import circle, cross, drawn, element, line, rect, text

if TYPE_CHECKING:
    from limen.designs.report import DesignReport, Price, PricedStack

_LEFT, _TOP, _WIDTH, _HEIGHT, _APART = 70, 84, 470, 360, 92
_STYLE = (
    ".grid{stroke:#e2e2e2}.frame{fill:none;stroke:#999}.other{fill:#ccc}.killed{stroke:#c0392b;fill:none}"
    ".all{fill:#1b7f4d}.some{fill:#b8860b}.none{fill:#6b7280}.number{font-weight:600}"
    ".lead{stroke:#999;stroke-width:.7}.limit{stroke:#c0392b;stroke-dasharray:5 4}"
    ".budget{stroke:#555;stroke-dasharray:2 3}"
)
_DARK = ".grid{stroke:#333}.frame{stroke:#777}.other{fill:#555}.budget{stroke:#aaa}"
_MEANS = (
    ("all", "CAN: weights are known for every task"),
    ("some", "PARTLY: for some tasks, the rest is open"),
    ("none", "OPEN: for none"),
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
        candidates = [step * 10 ** (power - 1) for power in powers for step in tenths]
        seen = [value for value in candidates if self.low <= log10(value) <= self.high]
        return seen[:: max(1, len(seen) // 8)]


def front_picture(report: DesignReport) -> str:
    """Two panels, cache against decode and against prefill: the front numbered, what is ruled out crossed."""
    layers = f"{report.layers} layers of width {report.width:,}"
    size = f"{layers}, {report.kv_heads} KV heads, {report.context:,} tokens"
    body = [
        text(12, 22, " and ".join(report.tasks), class_="title"),
        text(12, 42, f"{size}; {report.looked_at:,} stacks compared. All axes are logarithmic."),
        *_panel(report, 0, "decode: FLOPs of the last token", _decode),
        *_panel(report, _WIDTH + _APART, "prefill: FLOPs of all tokens", _prefill),
        *_key(len(report.ruled_out), bool(report.budget)),
    ]
    return drawn(_LEFT + 2 * _WIDTH + _APART + 24, _TOP + _HEIGHT + 112, body, _STYLE, _DARK)


def _decode(price: Price) -> int:
    return price.decode_flops


def _prefill(price: Price) -> int:
    return price.prefill_flops


def _panel(report: DesignReport, shift: int, title: str, flops: Callable[[Price], int]) -> list[str]:
    floors = sorted(report.floors, key=lambda one: one.bits)[-1:]
    limits = [*(one.bytes for one in floors), *([report.budget] if report.budget else [])]
    x = _Axis.of([*(price.cache_bytes for price in report.prices), *limits], _LEFT + shift, _WIDTH)
    y = _Axis.of(map(flops, report.prices), _TOP + _HEIGHT, -_HEIGHT)
    dots = {(round(x.at(p.cache_bytes)), round(y.at(flops(p)))) for p in report.prices}  # many fall together
    crosses = [(x.at(one.cache_bytes), y.at(flops(one))) for one in report.ruled_out]
    body = [
        *_axes(x, y, title),
        *(circle(a, b, 1.6, class_="other") for a, b in sorted(dots)),
        *(cross(a, b, class_="killed") for a, b in crosses),
        *(_dot(row, x, y, flops) for row in report.beyond if row not in report.numbered),
        *_numbered(report.numbered, x, y, flops),
    ]
    for one in floors:
        body += _upright("limit", x.at(one.bytes), "no stack can keep less")
    if report.budget:
        body += _upright("budget", x.at(report.budget), "budget")
    return body


def _axes(x: _Axis, y: _Axis, title: str) -> list[str]:
    left, bottom, right = x.start, _TOP + _HEIGHT, x.start + _WIDTH
    lines = []
    for value in x.ticks():
        at = x.at(value)
        lines.append(line(at, _TOP, at, bottom, class_="grid"))
        lines.append(text(at, bottom + 16, f"{_tick(value)}B", text_anchor="middle"))
    for value in y.ticks():
        at = y.at(value)
        lines.append(line(left, at, right, at, class_="grid"))
        lines.append(text(left - 6, at + 4, _tick(value), text_anchor="end"))
    return [
        *lines,
        rect(left, _TOP, _WIDTH, _HEIGHT, class_="frame"),
        text(left + _WIDTH // 2, bottom + 36, "cache of one sequence", text_anchor="middle"),
        text(left, _TOP - 10, title),
    ]


def _tick(value: int) -> str:
    power = min(6, int(log10(value)) // 3)
    return f"{value / 1000**power:g} {' kMGTPE'[power]}".rstrip() + (" " if power == 0 else "")


def _numbered(rows: Sequence[PricedStack], x: _Axis, y: _Axis, flops: Callable[[Price], int]) -> list[str]:
    """Dots with their numbers, each at the nearest place that is free, with a line to its dot.

    The first rows are drawn last, so that no other hides them.
    """
    places = [(x.at(row.cache_bytes), y.at(flops(row))) for row in rows]
    taken, drawings = list(places), []
    for i, (row, (a, b)) in enumerate(zip(rows, places, strict=True), 1):
        spots = ((a + p, b + q) for p, q in _BESIDE if _inside(a + p, b + q, x))
        spot = next((at for at in spots if _free(*at, taken)), (a + _BESIDE[0][0], b + _BESIDE[0][1]))
        taken.append(spot)
        dot = circle(a, b, 5, class_=row.weights)
        number = text(spot[0], spot[1] + 4, i, class_="number", text_anchor="middle")
        lead = line(a, b, *spot, class_="lead") if hypot(spot[0] - a, spot[1] - b) > _NEAR else ""
        drawings.append((lead, element("g", element("title", escape(row.architecture)) + dot + number)))
    return [*(lead for lead, _ in drawings if lead), *(mark for _, mark in reversed(drawings))]


def _dot(row: PricedStack, x: _Axis, y: _Axis, flops: Callable[[Price], int]) -> str:
    """A stack beyond the budget: it has no number in the text, so none here."""
    dot = circle(x.at(row.cache_bytes), y.at(flops(row)), 5, class_=row.weights)
    return element("g", element("title", escape(row.architecture)) + dot)


_NEAR = 19  # a number that is nearer to its dot needs no line
# Round a dot, ring by ring.
_BESIDE = [
    (r * cos(pi * k / 8), r * sin(pi * k / 8)) for r in (14, 24, 34, 46, 58, 72, 88, 106) for k in range(16)
]


def _free(a: float, b: float, taken: list[tuple[float, float]]) -> bool:
    return all(abs(a - c) > 16 or abs(b - d) > 13 for c, d in taken)


def _inside(a: float, b: float, x: _Axis) -> bool:
    return x.start + 10 < a < x.start + _WIDTH - 10 and _TOP + 10 < b < _TOP + _HEIGHT - 10


def _upright(kind: str, x: float, label: str) -> list[str]:
    return [
        line(x, _TOP, x, _TOP + _HEIGHT, class_=kind),
        text(x + 5, _TOP + 14, label),
    ]


def _key(ruled_out: int, budget: bool) -> list[str]:
    y, lines, at = _TOP + _HEIGHT + 62, [], _LEFT
    for kind, words in _MEANS:
        lines += [circle(at, y, 6, class_=kind), text(at + 12, y + 4, words)]
        at += 48 + 6 * len(words)
    dear = "; no number: beyond the budget" if budget else ""
    legend = f"cheaper, but a theorem rules it out ({ruled_out:,}); small dots: the other stacks{dear}"
    return [*lines, cross(_LEFT, y + 24, class_="killed"), text(_LEFT + 12, y + 28, legend)]
