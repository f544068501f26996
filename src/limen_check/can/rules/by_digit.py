"""Numbers of tokens that depend on their kind and on one digit of their place: sums, as they are rounded."""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from limen_check.can.rules.automaton_paths import Kind
from limen_check.can.vectors import ONE, ZERO, Format, Interval, Matrix, grain
from limen_check.files import need

_WORK = 3 << 21  # a unit takes about 2 µs, at worst 5
NOTHING: Interval = (ZERO, ZERO)
Digit = tuple[int, int]  # (w, R): place // w % R
Value = tuple[Digit | None, tuple[Interval, ...]]  # one row for each value of a digit, or one for all places
Box = dict[int, Value]  # of a token: what is not surely 0
Boxes = dict[Kind, Box]
T = TypeVar("T")


class Before(NamedTuple):
    # What all earlier tokens add to a known one, by state; the sizes of its parts together, and their unit.
    of: dict[Any, Fraction]
    sizes: Fraction
    unit: Fraction


class Sums:
    """Products and sums, each rounded."""

    def __init__(self, f: Format) -> None:
        self.f, self.work = f, 0

    def spend(self, work: int) -> None:
        """Counts what is looked at, and refuses where it is too much."""
        self.work += work
        need(self.work <= _WORK, "too many numbers to look at")

    def added(self, x: Value, y: Value) -> Value:
        """x + y, rounded."""
        self.spend(len(x[1]) + len(y[1]))
        f, sums = self.f, (zip(*row, strict=True) for row in rows([x, y]))
        return value(digit([x, y]), [(f.rn(a + b), f.rn(c + d)) for (a, b), (c, d) in sums])

    def total(self, parts: list[tuple[Value, Fraction]], before: Before | None, state: Any) -> Value:
        """Σ w·v, rounded; with what earlier tokens add it has to be exact, in whatever order."""
        f, weights, made = self.f, [w for _, w in parts], list[Interval]()
        base, more = (before.of[state], before.sizes) if before else (ZERO, ZERO)
        for row in rows([v for v, _ in parts]):
            self.spend(1 + len(row))
            some = [_scaled(ends, w) for ends, w in zip(row, weights, strict=True) if ends != NOTHING]
            lows, highs = [lo for lo, _ in some], [hi for _, hi in some]
            sizes, exact = sum((max(-lo, hi) for lo, hi in some), more), lows == highs
            need(2 * sizes <= f.largest, "a sum overflows")
            self.spend(len(row) * (sizes.numerator.bit_length() + sizes.denominator.bit_length() >> 9))
            step, lo, hi = (
                min(map(grain, lows), default=ONE) if exact else None,
                sum(lows, base),
                sum(highs, base),
            )
            if before:
                well = step and sizes * f.acc <= min(step, before.unit) >= f.tiny
                need(well, "a sum over earlier tokens is not exact")
            else:  # each end with its own error; a sum of numbers ≥ 0 is not below one of them
                low, high = (f.inside(sum(map(abs, ends), ZERO), len(some), step) for ends in (lows, highs))
                lo, hi, part = lo - low, hi + high, max(lows, default=ZERO)
                if min(lows, default=ZERO) >= 0:
                    lo = max(lo, part if f.rn(part) == part else ZERO)
            made.append((f.rn(lo), f.rn(hi)))
        return value(digit(v for v, _ in parts), made)

    def times(self, x: Box, W: Matrix, told: Mapping[int, Before] = {}, state: Any = None) -> Box:
        """x W, and in some columns what all tokens before this state add."""
        self.spend(1 + sum(map(len, W.values())))
        parts = {c: [(x[r], w) for r, w in column.items() if r in x] for c, column in W.items()}
        some = {c: part for c, part in parts.items() if part or c in told}
        return used({c: self.total(part, told.get(c), state) for c, part in some.items()})

    def all_times(self, boxes: Boxes, W: Matrix) -> Boxes:
        return each(lambda x: self.times(x, W), boxes)

    def plus(self, x: Box, y: Box) -> Box:
        """Rounded where both have the column."""
        self.spend(len(x) + len(y))
        return used(x | y | {c: self.added(x[c], y[c]) for c in x.keys() & y.keys()})


def value(at: Digit | None, some: list[Interval]) -> Value:
    """In its one form: a digit that changes nothing is not named."""
    return (None, (some[0],)) if all(ends == some[0] for ends in some) else (at, tuple(some))


def digit(values: Iterable[Value]) -> Digit | None:
    """The one digit that some numbers depend on."""
    digits = {at for at, _ in values} - {None}
    need(len(digits) < 2, "a number that depends on two digits")
    return next(iter(digits), None)


def rows(values: list[Value]) -> list[list[Interval]]:
    """Row by row of their digit."""
    at = digit(values)
    return [[ends[i % len(ends)] for _, ends in values] for i in range(at[1] if at else 1)]


def chain(digits: Iterable[Digit]) -> tuple[int, int] | None:
    """From which weight to which digits go, one behind the other, each once; None if there are none."""
    first = at = None
    for w, R in sorted(digits):
        need(at in (None, w), "digits with a gap, or twice")
        first, at = w if first is None else first, w * R
    return None if first is None or at is None else (first, at)


def each(make: Callable[..., Box], *boxes: Boxes) -> Boxes:
    """What is made of every kind's boxes: once where they are the same; equal ones are then the same."""
    made, equal, out = dict[tuple[int, ...], Box](), dict[Any, Box](), Boxes()
    for kind in boxes[0]:
        some = [every[kind] for every in boxes]
        at = tuple(map(id, some))
        if at not in made:
            box = make(*some)
            made[at] = equal.setdefault(tuple(sorted(box.items())), box)
        out[kind] = made[at]
    return out


def apart(some: Iterable[T]) -> list[T]:
    """Each object once."""
    return list({id(x): x for x in some}.values())


def constants(column: Mapping[int, Mapping[int, Fraction]]) -> Box:
    """A bias."""
    return {c: (None, ((v[0], v[0]),)) for c, v in column.items()}


def relu(x: Box) -> Box:
    return used(
        {c: value(at, [(max(ZERO, lo), max(ZERO, hi)) for lo, hi in some]) for c, (at, some) in x.items()}
    )


def used(x: Box) -> Box:
    return {c: v for c, v in x.items() if v[1] != (NOTHING,)}


def cap(boxes: Iterable[Box], c: int) -> Fraction:
    """The largest size of a column."""
    return max((max(-lo, hi) for x in boxes if c in x for lo, hi in x[c][1]), default=ZERO)


def _scaled(ends: Interval, w: Fraction) -> Interval:
    lo, hi = ends[0] * w, ends[1] * w
    return (lo, hi) if w > 0 else (hi, lo)
