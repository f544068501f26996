"""A design drawn: cache against the FLOPs of a token, both by their logarithms."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

from limen.core.verdict import Answer
from limen.render.svg import circle, cross, drawn, element, line, rect, text

if TYPE_CHECKING:
    from limen.designs.report import DesignReport, PricedStack

_LEFT, _TOP, _WIDTH, _HEIGHT = 84, 66, 660, 400
_STYLE = (
    ".grid{stroke:#e2e2e2}.frame{fill:none;stroke:#999}.other{fill:#bbb}.killed{stroke:#c0392b;fill:none}"
    ".done{fill:#2e7d32}.open{fill:#1f5fbf}.shallow{fill:#c77c11}.number{font-weight:600}"
    ".limit{stroke:#c0392b;stroke-dasharray:5 4}.budget{stroke:#555;stroke-dasharray:2 3}"
)
_DARK = ".grid{stroke:#333}.frame{stroke:#777}.other{fill:#555}.budget{stroke:#aaa}"
_MEANS = (
    ("done", "every task: can"),
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


def front_picture(said: DesignReport) -> str:
    """All stacks as dots, the front numbered, what a theorem rules out crossed."""
    floors = sorted(said.floors, key=lambda one: one.bits)[-1:]
    limits = [*(one.bytes for one in floors), *([said.budget] if said.budget else [])]
    x = _Axis.of([*(price.cache_bytes for price in said.prices), *limits], _LEFT, _WIDTH)
    y = _Axis.of([price.decode_flops for price in said.prices], _TOP + _HEIGHT, -_HEIGHT)
    title = f"{said.layers} layers of width {said.width:,}, {said.context:,} tokens"
    dots = {(round(x.at(p.cache_bytes), 1), round(y.at(p.decode_flops), 1)) for p in said.prices}
    body = [
        text(12, 22, " and ".join(said.tasks), class_="title"),
        text(12, 42, f"{title}; {said.looked_at:,} stacks looked at"),
        *_axes(x, y),
        *(circle(a, b, 1.6, class_="other") for a, b in sorted(dots)),
        *(cross(x.at(one.cache_bytes), y.at(one.decode_flops), class_="killed") for one in said.ruled_out),
        *_numbered([*said.front, *said.beyond], x, y),
    ]
    for one in floors:
        limit = f"{one.certificate.theorem}: no stack can keep less"
        body += _upright("limit", x.at(one.bytes), limit)
    if said.budget:
        body += _upright("budget", x.at(said.budget), "budget")
    body += _key(len(said.ruled_out))
    return drawn(_LEFT + _WIDTH + 24, _TOP + _HEIGHT + 112, body, _STYLE, _DARK)


def _axes(x: _Axis, y: _Axis) -> list[str]:
    bottom, right, middle = _TOP + _HEIGHT, _LEFT + _WIDTH, _TOP + _HEIGHT // 2
    lines = []
    for value in x.ticks():
        at = x.at(value)
        lines.append(line(at, _TOP, at, bottom, class_="grid"))
        lines.append(text(at, bottom + 16, f"{_tick(value)}B", text_anchor="middle"))
    for value in y.ticks():
        at = y.at(value)
        lines.append(line(_LEFT, at, right, at, class_="grid"))
        lines.append(text(_LEFT - 6, at + 4, _tick(value), text_anchor="end"))
    upwards = f"rotate(-90 16 {middle})"
    return [
        *lines,
        rect(_LEFT, _TOP, _WIDTH, _HEIGHT, class_="frame"),
        text(_LEFT + _WIDTH // 2, bottom + 36, "cache of one sequence", text_anchor="middle"),
        text(16, middle, "FLOPs of the last token", text_anchor="middle", transform=upwards),
    ]


def _tick(value: int) -> str:
    power = min(6, int(log10(value)) // 3)
    return f"{value / 1000**power:g} {' kMGTPE'[power]}".rstrip() + (" " if power == 0 else "")


def _numbered(rows: Sequence[PricedStack], x: _Axis, y: _Axis) -> list[str]:
    """Dots with their numbers, each where no dot and no number stands yet."""
    places = [(x.at(row.cache_bytes), y.at(row.decode_flops)) for row in rows]
    taken, lines = list(places), []
    for i, (row, (a, b)) in enumerate(zip(rows, places, strict=True), 1):
        label = next(
            ((a + p, b + q) for p, q in _BESIDE if _free(a + p, b + q, taken)), (a + _BESIDE[0][0], b)
        )
        taken.append(label)
        dot = circle(a, b, 5, class_=_kind(row))
        number = text(label[0], label[1] + 4, i, class_="number", text_anchor="middle")
        lines.append(element("g", element("title", escape(row.architecture)) + dot + number))
    return lines


_BESIDE = [(sign * step, rise) for step in (14, 28) for rise in (0, -12, 12) for sign in (1, -1)]


def _free(a: float, b: float, taken: list[tuple[float, float]]) -> bool:
    return all(abs(a - c) > 11 or abs(b - d) > 9 for c, d in taken)


def _kind(row: PricedStack) -> str:
    if any(one.shallow for one in row.verdicts):
        return "shallow"
    return "done" if all(one.verdict is Answer.CAN for one in row.verdicts) else "open"


def _upright(kind: str, x: float, label: str) -> list[str]:
    return [
        line(x, _TOP, x, _TOP + _HEIGHT, class_=kind),
        text(x + 5, _TOP + 14, label),
    ]


def _key(ruled_out: int) -> list[str]:
    y, lines, at = _TOP + _HEIGHT + 62, [], _LEFT
    for kind, words in _MEANS:
        lines += [circle(at, y, 6, class_=kind), text(at + 12, y + 4, words)]
        at += 48 + 6 * len(words)
    ruled = f"would be on the front, but a theorem rules it out ({ruled_out:,})"
    said = f"{ruled}; small dots: the other stacks"
    return [*lines, cross(_LEFT, y + 24, class_="killed"), text(_LEFT + 12, y + 28, said)]
