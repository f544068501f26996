r"""What a class of tokens holds, exactly:  const + Σ (rows of small tables named by integer fields) + error.

    x[c] = const[c] + Σ_field table_field[value of the field][c] + e,       e in err[c] = [lo, hi]

A field is a name for an integer of a token (a digit of its id, of its place, of what it read).  Its table
lists every value that the integer may take: a statement about all rows is one about all tokens of all inputs.
All numbers are rationals; an error interval may be made wider, never narrower.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, gcd, lcm, prod
from operator import mul
from typing import Any, NamedTuple

from limen_check.files import need

Interval = tuple[Fraction, Fraction]
Matrix = Mapping[int, Mapping[int, Fraction]]  # row -> column -> what is not 0
ZERO, ONE = Fraction(0), Fraction(1)
NONE: Interval = (ZERO, ZERO)
MOST_VALUES, MOST_ROWS, MOST_PAIRS = 1 << 10, 1 << 21, 1 << 21


def power(e: int) -> Fraction:
    return Fraction(1 << e) if e >= 0 else Fraction(1, 1 << -e)


def exponent(x: Fraction) -> int:
    """e with 2^e ≤ |x| < 2^(e+1)."""
    e = abs(x.numerator).bit_length() - x.denominator.bit_length()
    return e - (abs(x) < power(e))


def above(x: Fraction) -> Fraction:
    """A number of at most 32 bits that is at least x ≥ 0: keeps denominators short."""
    if x == 0:
        return x
    unit = power(exponent(x) - 31)
    return ceil(x / unit) * unit


_ROOTS = [power(-40) * (int(2 ** (40 + i / 32)) + 2) for i in range(32)]
assert all(root**32 >= power(i) for i, root in enumerate(_ROOTS))  # so root i is at least 2^(i/32)


def exp_above(x: Fraction) -> Fraction:
    """At least e^x, and down to e^-65536 at most 3 % more, since 1.4426950408 < log₂e < 1.4426950409."""
    x = max(x, Fraction(-1 << 16))  # keeps numbers short
    whole, part = divmod(ceil(32 * x * Fraction(14426950408 + (x > 0), 10**10)), 32)
    return power(whole) * _ROOTS[part]


def grain(x: Fraction) -> Fraction:
    """The largest power of two that divides the numerator of x ≠ 0, over its denominator: x is a multiple."""
    return Fraction(x.numerator & -x.numerator, x.denominator)


@dataclass(frozen=True)
class Format:
    """t significant bits, least normal exponent, largest number; results are rounded to the nearest.

    Sums inside one operation are accumulated with relative errors of `acc` an addition, in any order: in
    float64, or for the shorter formats in float32, whose numbers are multiples of `tiny`.
    """

    t: int
    least: int
    top: int

    @classmethod
    def named(cls, name: str) -> Format:
        sizes = {
            "float64": (53, -1022, 1023),
            "float32": (24, -126, 127),
            "float16": (11, -14, 15),
            "bfloat16": (8, -126, 127),
        }
        need(name in sizes, f"no rule speaks of the precision {name[:40]!r}")
        return cls(*sizes[name])

    @cached_property
    def u(self) -> Fraction:
        """Relative error of a rounded result."""
        return power(-self.t)

    @cached_property
    def acc(self) -> Fraction:
        return power(-53 if self.t > 24 else -24)

    @cached_property
    def tiny(self) -> Fraction:
        return power(-1074 if self.t > 24 else -149)

    @cached_property
    def largest(self) -> Fraction:
        return (2 - power(1 - self.t)) * power(self.top)

    @cached_property
    def most(self) -> Fraction:
        """No sum up to here overflows in the accumulator."""
        return power(1023 if self.t > 24 else 127)

    def rn(self, x: Fraction) -> Fraction:
        """The nearest number of the format, ties to even."""
        n, d = x.numerator.bit_length(), x.denominator.bit_length()
        if x.denominator.bit_count() == 1 and n <= self.t and d <= self.t - self.least and n - d <= self.top:
            return x  # it is one
        unit = power(max(exponent(x), self.least) - self.t + 1)
        y = round(x / unit) * unit
        need(abs(y) <= self.largest, "a number overflows")
        return y

    def inside(self, total: Fraction, count: int, step: Fraction | None) -> Fraction:
        """The error of a sum of `count` products whose sizes sum to at most `total`.

        None if all of them are known exactly and are multiples of `step`, with total ≤ step/acc: then so is
        every partial sum, a number of the accumulator.  Else each product and each addition errs by acc.
        """
        if total == 0 or (step is not None and step >= self.tiny and total * self.acc <= step):
            return ZERO
        need(count * self.acc * 8 <= 1, "a sum is too long")
        return above(total * count * self.acc / (1 - count * self.acc)) + count * self.tiny


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: row i holds levels[at[i]], and the levels differ."""

    levels: tuple[Fraction, ...]
    at: tuple[int, ...]

    def rows(self) -> list[Fraction]:
        return list(map(self.levels.__getitem__, self.at))

    @cached_property
    def least(self) -> Fraction:
        return min(self.levels)

    @cached_property
    def most(self) -> Fraction:
        return max(self.levels)

    @property
    def fixed(self) -> bool:
        return len(self.levels) == 1

    @classmethod
    def same(cls, v: Fraction, rows: int) -> Column:
        return cls((v,), (0,) * rows)

    def plus(self, other: Column, w: Fraction = ONE) -> Column:
        return Column.sum([(self, ONE), (other, w)])

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> Column:
        number = {v: i for i, v in enumerate(dict.fromkeys(values))}
        return cls(tuple(number), tuple(map(number.__getitem__, values)))

    @classmethod
    def sum(cls, parts: Sequence[tuple[Column, Fraction]]) -> Column:
        """Σ w·column, row by row."""
        if len(parts) == 1:
            column, w = parts[0]
            return column if w == 1 else cls(tuple(v * w for v in column.levels), column.at)
        moved = sum((column.levels[0] * w for column, w in parts if column.fixed), ZERO)
        vary = [(column, w) for column, w in parts if not column.fixed]
        if len(vary) < 2:
            column, w = vary[0] if vary else parts[0]
            return cls(tuple(v * w + moved for v in column.levels) if vary else (moved,), column.at)
        rows = list(zip(*(column.at for column, _ in parts), strict=True))
        sums = {
            row: sum((c.levels[i] * w for i, (c, w) in zip(row, parts, strict=True)), ZERO)
            for row in dict.fromkeys(rows)
        }
        number = {v: i for i, v in enumerate(dict.fromkeys(sums.values()))}
        at = {row: number[v] for row, v in sums.items()}
        return cls(tuple(number), tuple(map(at.__getitem__, rows)))


@dataclass(frozen=True, eq=False)
class Rows:
    """A table: the values of its field, and what stands in the columns at each."""

    keys: tuple[Any, ...]
    columns: dict[int, Column]

    def same(self, other: Rows) -> bool:
        if self.keys != other.keys or self.columns.keys() != other.columns.keys():
            return False
        return all(column.rows() == other.columns[c].rows() for c, column in self.columns.items())

    def plus(self, other: Rows) -> Rows:
        """The sum of two tables of one field."""
        need(self.keys == other.keys, "two tables of one field have different rows")
        both = self.columns | other.columns
        for c in self.columns.keys() & other.columns.keys():
            both[c] = Column.sum([(self.columns[c], ONE), (other.columns[c], ONE)])
        return Rows(self.keys, both)


@dataclass(frozen=True, eq=False)
class Vec:
    """const + Σ terms + err, by columns.  A column that is not named is 0."""

    const: dict[int, Fraction] = field(default_factory=dict)
    terms: dict[Hashable, Rows] = field(default_factory=dict)
    err: dict[int, Interval] = field(default_factory=dict)
    _seen: dict[int, tuple[set[Fraction], bool]] = field(default_factory=dict, repr=False)

    def columns(self) -> set[int]:
        return {*self.const, *self.err, *(c for rows in self.terms.values() for c in rows.columns)}

    def of(self, c: int) -> dict[Hashable, Column]:
        """The fields that a column depends on."""
        return {f: rows.columns[c] for f, rows in self.terms.items() if c in rows.columns}

    def values(self, c: int) -> tuple[set[Fraction], bool]:
        """All values of a column without its error, or more; if they are many only the ends, and False."""
        if c not in self._seen:
            sets, base = [column.levels for column in self.of(c).values()], self.const.get(c, ZERO)
            if prod(map(len, sets)) > MOST_VALUES:
                ends = {base + sum(map(min, sets), ZERO), base + sum(map(max, sets), ZERO)}
                self._seen[c] = ends, False
            else:
                self._seen[c] = {base + sum(v, ZERO) for v in product(*sets)}, True
        return self._seen[c]

    def ends(self, c: int) -> Interval:
        """The least and the largest value of a column, error included."""
        values, (lo, hi) = self.values(c)[0], self.err.get(c, NONE)
        return min(values) + lo, max(values) + hi

    def cap(self, c: int) -> Fraction:
        """The largest size of a column, error included: 0 if an error takes all of it away."""
        return max(map(abs, self.ends(c)))

    def size(self, c: int) -> Fraction:
        """The largest size of a column without its error."""
        return max(map(abs, self.values(c)[0]))

    def width(self, c: int) -> Fraction:
        """The largest size of a column's error."""
        return max(map(abs, self.err.get(c, NONE)))

    def step(self, c: int, w: Fraction = ONE) -> Fraction | None:
        """A number of which w·(the column) is surely a multiple; None if its values are not known exactly."""
        values, all_of_them = self.values(c)
        if c in self.err or not all_of_them:
            return None
        need(all(v.denominator.bit_count() == 1 for v in values), "a number that no format has")
        return min((grain(v * w) for v in values if v), default=ONE)

    def times(self, W: Matrix, f: Format) -> Vec:
        """x W, rounded."""
        uses: dict[int, list[tuple[int, Fraction]]] = {}
        for r, row in W.items():
            for c, w in row.items():
                uses.setdefault(c, []).append((r, w))
        const, err, terms = {}, {}, {name: Rows(rows.keys, {}) for name, rows in self.terms.items()}
        for c, parts in uses.items():
            const[c] = sum((self.const[r] * w for r, w in parts if r in self.const), ZERO)
            for name, rows in self.terms.items():
                found = [(rows.columns[r], w) for r, w in parts if r in rows.columns]
                if found:
                    terms[name].columns[c] = Column.sum(found)
            err[c] = self._product_error(parts, f)
        return Vec(const, terms, err).tidy().rounded(f)

    def _product_error(self, parts: list[tuple[int, Fraction]], f: Format) -> Interval:
        """Errors that are passed on, and those of the sum, to which what is surely 0 adds nothing.

        A column may be 0 by its error, -32 of 32: it is no summand, but its error is passed on.
        """
        used = [(r, w) for r, w in parts if self.cap(r)]
        lo = sum((min(w * e for e in self.err[r]) for r, w in parts if r in self.err), ZERO)
        hi = sum((max(w * e for e in self.err[r]) for r, w in parts if r in self.err), ZERO)
        total = sum((self.cap(r) * abs(w) for r, w in used), ZERO)
        if len(used) == 1 and grain(used[0][1]) == abs(used[0][1]):
            e = ZERO if (self.step(*used[0]) or ZERO) >= f.tiny else f.tiny  # times a power of two: exact
        else:
            steps = [self.step(r, w) for r, w in used]
            e = f.inside(total, len(used), None if None in steps else min(filter(None, steps), default=None))
        need(total + e <= f.largest, "a sum overflows")  # nor does a part of it
        return lo - e, hi + e

    def tidy(self) -> Vec:
        """A column with one level in all of several rows is a constant; one row keeps its name."""
        const, terms = dict(self.const), {}
        for name, rows in self.terms.items():
            kept = {}
            for c, column in rows.columns.items():
                if len(column.levels) == 1 and (len(rows.keys) > 1 or column.levels[0] == 0):
                    const[c] = const.get(c, ZERO) + column.levels[0]
                else:
                    kept[c] = column
            if kept:
                terms[name] = Rows(rows.keys, kept)
        return Vec(
            {c: v for c, v in const.items() if v}, terms, {c: e for c, e in self.err.items() if any(e)}
        )

    def rounded(self, f: Format) -> Vec:
        """Rounding to the nearest is monotone: the ends of an interval go to the ends of its image."""
        err = {}
        for c in self.columns():
            (lo, hi), (values, all_of_them) = self.err.get(c, NONE), self.values(c)
            if all_of_them:
                low = min(f.rn(v + lo) - v for v in values)
                high = max(f.rn(v + hi) - v for v in values)
            else:
                need(self.cap(c) * (1 + f.u) <= f.largest, "a number overflows")
                slack = above(f.u * self.cap(c)) + f.tiny + power(f.least - f.t)
                low, high = lo - slack, hi + slack
            if low or high:
                err[c] = low, high
        return Vec(self.const, self.terms, err, self._seen)

    def joined(self, other: Vec) -> Vec:
        """The exact sum: nothing is rounded."""
        const, err, terms = dict(self.const), dict(self.err), dict(self.terms)
        for c, v in other.const.items():
            const[c] = const.get(c, ZERO) + v
        for c, (lo, hi) in other.err.items():
            err[c] = err.get(c, NONE)[0] + lo, err.get(c, NONE)[1] + hi
        for name, rows in other.terms.items():
            terms[name] = terms[name].plus(rows) if name in terms else rows
        return Vec(const, terms, err).tidy()

    def without(self, c: int, e: Interval) -> Vec:
        """The same, but one column is 0, up to an error."""
        terms = {
            n: Rows(r.keys, {k: x for k, x in r.columns.items() if k != c}) for n, r in self.terms.items()
        }
        return Vec({k: v for k, v in self.const.items() if k != c}, terms, self.err | {c: e}).tidy()

    def shifted(self, by: int) -> Vec:
        """The same in other columns."""
        terms = {n: Rows(r.keys, {c + by: x for c, x in r.columns.items()}) for n, r in self.terms.items()}
        return Vec(
            {c + by: v for c, v in self.const.items()}, terms, {c + by: e for c, e in self.err.items()}
        )

    def scaled(self, w: Fraction) -> Vec:
        """w ≠ 0 times x, exactly."""
        terms = {
            n: Rows(r.keys, {c: Column.sum([(x, w)]) for c, x in r.columns.items()})
            for n, r in self.terms.items()
        }
        err = {c: (min(a * w, b * w), max(a * w, b * w)) for c, (a, b) in self.err.items()}
        return Vec({c: v * w for c, v in self.const.items()}, terms, err)

    def plus(self, other: Vec, f: Format) -> Vec:
        """x + y, rounded."""
        return self.joined(other).rounded(f)

    def relu(self) -> Vec:
        """Column by column on all rows of the fields that it depends on, interval ends included: monotone."""
        out = Vec()
        for c in self.columns():
            fields = sorted(self.of(c).items(), key=lambda item: repr(item[0]))
            names, base, e = [name for name, _ in fields], self.const.get(c, ZERO), self.err.get(c, NONE)
            need(prod(len(column.at) for _, column in fields) <= 1 << 16, "a ReLU reads too many rows")
            before = [sum(row, base) for row in product(*(column.rows() for _, column in fields))]
            after = [max(ZERO, v) for v in before]
            levels = dict(zip(before, after, strict=True))
            lo = min(max(ZERO, v + e[0]) - y for v, y in levels.items())
            hi = max(max(ZERO, v + e[1]) - y for v, y in levels.items())
            keys = [self.terms[name].keys for name in names]
            if not fields:
                part = Vec({c: after[0]})
            elif len(fields) == 1:
                part = Vec({}, {names[0]: Rows(keys[0], {c: Column.of(after)})})
            else:
                part = Vec({}, {Joint(tuple(names)): Rows(tuple(product(*keys)), {c: Column.of(after)})})
            out = out.joined(Vec(part.const, part.terms, {c: (lo, hi)}))
        return out


@dataclass(frozen=True)
class Joint:
    """Several fields at once: a row is a tuple of rows."""

    fields: tuple[Hashable, ...]


@dataclass(frozen=True)
class Class:
    """Tokens start, start+step, … of a segment that begins at `first` in the text; ids in [low, high).

    A view asks as a token of its own, and is counted as a key in another class.
    """

    name: str
    first: int
    start: int
    step: int
    count: int
    low: int
    high: int
    view: bool = False

    @property
    def last(self) -> int:
        return self.start + self.step * (self.count - 1)

    def before(self, other: Class) -> bool:
        """Whether all of it stands at or before all of the other."""
        return self.first + self.last <= other.first + other.start

    def may_be_before(self, other: Class) -> bool:
        return self.first + self.start <= other.first + other.last


class Best(NamedTuple):
    """For each query row the key row that scores highest, its score, and by how much any other is behind."""

    choice: tuple[int, ...]
    top: Column
    miss: Fraction


class Table:
    """⟨q[a], k[b]⟩ for all rows a, b of two tables, in integers over one denominator."""

    def __init__(self, q: Rows, k: Rows, shared: Sequence[int]) -> None:
        columns = [(q.columns[c], k.columns[c]) for c in shared]
        dens = [lcm(*(v.denominator for pair in columns for v in pair[side].levels)) for side in (0, 1)]
        self.den = prod(dens)
        whole = [
            [([int(v * den) for v in column.levels], column.at) for column in side]
            for side, den in zip(zip(*columns, strict=True), dens, strict=True)
        ]
        rows = [zip(*(map(levels.__getitem__, at) for levels, at in side), strict=True) for side in whole]
        self.q, self.k = map(list, rows)
        long = len(self.q) * len(self.k) > 1 << 10
        self.words = (
            Words.of([[levels for levels, _ in side] for side in whole], self.q, self.k) if long else None
        )

    @classmethod
    def of(cls, q: Rows, k: Rows) -> Table | None:
        """None if it is 0 throughout."""
        shared = sorted(q.columns.keys() & k.columns.keys())
        return cls(q, k, shared) if shared else None

    def best(self, B: Column) -> Best:
        """The highest ⟨q[a], k[b]⟩ + B[b]."""
        if self.words is not None and B.fixed:
            score, miss = self.words.top / self.den + B.least, self.words.cost / self.den
            return Best(self.words.choice, Column.same(score, len(self.q)), miss)
        need(len(self.q) * len(self.k) <= MOST_PAIRS, "two tables have too many pairs of rows")
        scale = lcm(*(v.denominator for v in B.levels))
        adds = [int(v * scale) * self.den for v in B.levels]
        add, den, choice, top, misses = [adds[i] for i in B.at], self.den * scale, [], [], []
        for x in self.q:
            scores = [sum(map(mul, x, y)) * scale + z for y, z in zip(self.k, add, strict=True)]
            first = max(scores)
            choice.append(scores.index(first))
            top.append(first)
            del scores[choice[-1]]
            misses.append(first - max(scores, default=0))
        tops = Column.of(top)
        exact = Column(tuple(Fraction(v, den) for v in tops.levels), tops.at)
        return Best(tuple(choice), exact, Fraction(min(misses), den))

    def tops(self, B: Column) -> Column:
        """The highest score of each query row, or more."""
        if self.words is not None:
            return Column.same(self.words.top / self.den + B.most, len(self.q))
        return self.best(B).top

    def all(self, asked: Sequence[Any], keys: Sequence[Any]) -> Iterator[tuple[Any, Any, Fraction]]:
        """Every score, with the names of its rows."""
        need(len(self.q) * len(self.k) <= 1 << 17, "two tables have too many pairs of rows")
        for (a, x), (b, y) in product(zip(asked, self.q, strict=True), zip(keys, self.k, strict=True)):
            yield a, b, Fraction(sum(map(mul, x, y)), self.den)


class Words(NamedTuple):
    r"""Key rows that are words: all different, all of one length.  O(rows), not O(rows²).

    If q[a] = c·k[π(a)] + r for all a, |k[b]|² = R and ⟨r, k[b]⟩ = ρ for all b, then
    ⟨q[a], k[b]⟩ = c⟨k[π(a)], k[b]⟩ + ρ is cR + ρ at b = π(a), and elsewhere less by

        c(R - ⟨k, k'⟩) = c/2·|k - k'|² ≥ c·max(g², δ²/2):

    a positive multiple of g² if all entries are multiples of g, and k - k' has an entry of size δ or more if
    each column has at most two values, at least δ apart where they differ.
    """

    choice: tuple[int, ...]
    top: Fraction
    cost: Fraction

    @classmethod
    def of(cls, levels: list[list[list[int]]], q: list[Any], k: list[Any]) -> Words | None:
        """From the rows of q and k, and what their columns hold."""
        ends = [[(min(column), max(column)) for column in side] for side in levels]
        c = next((Fraction(b - a, y - x) for (a, b), (x, y) in zip(*ends, strict=True) if y > x), ZERO)
        up, down = c.numerator, c.denominator  # r is over `down`
        r = [b * down - up * y for (_, b), (_, y) in zip(*ends, strict=True)]
        flat = all(len({v * v for v in column}) == 1 for column in levels[1])  # then all rows are as long
        norms = {sum(map(mul, y, y)) for y in (k[:1] if flat else k)}
        along = {sum(map(mul, r, y)) for y in (k if any(r) else k[:1])}
        index = {row: b for b, row in enumerate(k)}
        if len(index) < len(k) or c <= 0 or len(norms) > 1 or len(along) > 1:
            return None
        asked: list[dict[int, Any]] = []
        for column, o in zip(levels[0], r, strict=True):
            parts = {v: divmod(v * down - o, up) for v in column}
            asked.append({v: None if rest else whole for v, (whole, rest) in parts.items()})
        words = zip(
            *(map(to.__getitem__, at) for to, at in zip(asked, zip(*q, strict=True), strict=True)),
            strict=True,
        )
        choice = tuple(index.get(word, -1) for word in words)
        if -1 in choice:
            return None
        g = gcd(*(v for column in levels[1] for v in column))
        two = all(len(column) <= 2 for column in levels[1])
        δ = min((y - x for x, y in ends[1] if y > x), default=0) if two else 0
        cost = c * max(Fraction(g * g), Fraction(δ * δ, 2))
        return cls(choice, c * norms.pop() + Fraction(along.pop(), down), cost)
