r"""What a class of tokens holds, exactly:  const + Σ (rows of small tables named by integer fields) + error.

    x[c] = const[c] + Σ_field table_field[value of the field][c] + e,       e in err[c] = [lo, hi]

A field is a name for an integer of a token (a digit of its id, of its place, of what it read).  Its table
lists every value that the integer may take: a statement about all rows is one about all tokens of all inputs.
All numbers are rationals; an error interval may be made wider, never narrower.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import ceil, gcd, lcm, prod
from operator import mul
from typing import Any, NamedTuple

from limen_check.files import need

Interval = tuple[Fraction, Fraction]
Matrix = Mapping[int, Mapping[int, Fraction]]  # column -> row -> what is not 0
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
        sizes = {"float64": (53, -1022, 1023), "float32": (24, -126, 127), "bfloat16": (8, -126, 127)}
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


@dataclass(eq=False)
class Column:
    """A column of a table: row i holds levels[at[i]], and the levels differ."""

    levels: tuple[Fraction, ...]
    at: Sequence[int]

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
        return cls((v,), bytes(rows))

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
        rows = list(zip(*(column.at for column, _ in vary), strict=True))
        scaled, sums = [[v * w for v in column.levels] for column, w in vary], {}
        for row in dict.fromkeys(rows):
            sums[row] = sum((levels[i] for levels, i in zip(scaled, row, strict=True)), moved)
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

    def column(self, c: int) -> Column:
        return self.columns.get(c) or Column.same(ZERO, len(self.keys))


@dataclass(eq=False)
class Form:
    """One number of a token: const + Σ_field (a row of the field's column) + an error in `err`."""

    const: Fraction = ZERO
    terms: Mapping[Hashable, Column] = field(default_factory=dict)
    err: Interval = NONE

    @classmethod
    def sum(cls, parts: Sequence[tuple[Form, Fraction]], err: Interval = NONE) -> Form:
        """Σ w·form and an error more, exactly.

        A column with one level in all of several rows is a constant; one row keeps its name.
        """
        const, (lo, hi), found = ZERO, err, dict[Hashable, list[tuple[Column, Fraction]]]()
        for form, w in parts:
            if form.const:
                const += form.const if w == 1 else form.const * w
            if form.err is not NONE:
                a, b = form.err[0] * w, form.err[1] * w
                lo, hi = lo + min(a, b), hi + max(a, b)
            for name, column in form.terms.items():
                found.setdefault(name, []).append((column, w))
        terms = {name: Column.sum(columns) for name, columns in found.items()}
        for name, column in list(terms.items()):
            if column.fixed and (len(column.at) > 1 or column.least == 0):
                const += terms.pop(name).least
        return cls(const, terms, (lo, hi) if lo or hi else NONE)

    @cached_property
    def is_0(self) -> bool:
        return not self.terms and not self.const and self.err == NONE

    @cached_property
    def values(self) -> tuple[list[Fraction], bool]:
        """All values without the error, or more; if they are many only the ends, and False."""
        sets = [column.levels for column in self.terms.values()]
        if prod(map(len, sets)) > MOST_VALUES:
            return [sum(map(end, sets), self.const) for end in (min, max)], False
        return [sum(v, self.const) for v in product(*sets)] if sets else [self.const], True

    @cached_property
    def ends(self) -> Interval:
        """The least and the largest value, error included."""
        values, (lo, hi) = self.values[0], self.err
        return min(values) + lo, max(values) + hi

    @cached_property
    def cap(self) -> Fraction:
        """The largest size, error included: 0 if an error takes all of it away."""
        return max(map(abs, self.ends))

    @cached_property
    def size(self) -> Fraction:
        """The largest size without the error."""
        return max(map(abs, self.values[0]))

    @cached_property
    def width(self) -> Fraction:
        """The largest size of the error."""
        return max(map(abs, self.err))

    @cached_property
    def step(self) -> Fraction | None:
        """A power of two of which it is surely a multiple; None if its values are not known exactly."""
        values, all_of_them = self.values
        if self.err != NONE or not all_of_them:
            return None
        need(all(v.denominator.bit_count() == 1 for v in values), "a number that no format has")
        return min((grain(v) for v in values if v), default=ONE)

    def rounded(self, f: Format) -> Form:
        """Rounding to the nearest is monotone: the ends of an interval go to the ends of its image."""
        (lo, hi), (values, all_of_them) = self.err, self.values
        if all_of_them and self.err is NONE:
            moved = [ZERO if (y := f.rn(v)) is v else y - v for v in values]
            low, high = min(moved), max(moved)
        elif all_of_them:
            low = min(f.rn(v + lo) - v for v in values)
            high = max(f.rn(v + hi) - v for v in values)
        else:
            need(self.cap * (1 + f.u) <= f.largest, "a number overflows")
            slack = above(f.u * self.cap) + f.tiny + power(f.least - f.t)
            low, high = lo - slack, hi + slack
        return self if (low, high) == self.err else Form(self.const, self.terms, (low, high))

    def relu(self) -> tuple[Hashable, Form]:
        """On all rows of the fields that it depends on, interval ends included: monotone.  Its new field."""
        fields = sorted(self.terms.items(), key=lambda item: repr(item[0]))
        need(prod(len(column.at) for _, column in fields) <= 1 << 16, "a ReLU reads too many rows")
        before = [sum(row, self.const) for row in product(*(column.rows() for _, column in fields))]
        levels = {v: max(ZERO, v) for v in before}
        lo = min(max(ZERO, v + self.err[0]) - y for v, y in levels.items())
        hi = max(max(ZERO, v + self.err[1]) - y for v, y in levels.items())
        after, err = Column.of([levels[v] for v in before]), (lo, hi) if lo or hi else NONE
        if not fields:
            return None, Form(after.least, {}, err)
        name = fields[0][0] if len(fields) == 1 else Joint(tuple(name for name, _ in fields))
        return name, Form.sum([(Form(ZERO, {name: after}), ONE)], err)


_NOTHING = Form()


def _product(parts: list[tuple[Form, Fraction]], f: Format) -> Form:
    """Σ w·form as it is computed: with the errors of the sum, to which what is surely 0 adds nothing.

    A column may be 0 by its error, -32 of 32: it is no summand, but its error is passed on.
    """
    used = [(form, w) for form, w in parts if form.cap]
    total = sum((form.cap * abs(w) for form, w in used), ZERO)
    if len(used) == 1 and grain(used[0][1]) == abs(used[0][1]):
        step = used[0][0].step
        e = ZERO if step and step * abs(used[0][1]) >= f.tiny else f.tiny  # times a power of two: exact
    else:
        steps = [form.step and form.step * grain(w) for form, w in used]
        e = f.inside(total, len(used), None if None in steps else min(filter(None, steps), default=None))
    need(total + e <= f.largest, "a sum overflows")  # nor does a part of it
    return Form.sum(parts, (-e, e) if e else NONE).rounded(f)


class Vec:
    """The numbers of a token by columns, and the rows of all fields.  A column that is not named is 0."""

    def __init__(self, forms: Mapping[int, Form], keys: Mapping[Hashable, tuple[Any, ...]]) -> None:
        self.forms, self.keys = {c: form for c, form in forms.items() if not form.is_0}, keys

    @classmethod
    def of(
        cls,
        const: Mapping[int, Fraction],
        terms: Mapping[Hashable, Rows] | None = None,
        err: Mapping[int, Interval] | None = None,
    ) -> Vec:
        """From constants, tables and errors."""
        terms, err, forms = terms or {}, err or {}, {}
        for c in {*const, *err, *(c for rows in terms.values() for c in rows.columns)}:
            columns = {name: rows.columns[c] for name, rows in terms.items() if c in rows.columns}
            forms[c] = Form.sum([(Form(const.get(c, ZERO), columns, err.get(c, NONE)), ONE)])
        return cls(forms, {name: rows.keys for name, rows in terms.items()})

    @cached_property
    def terms(self) -> dict[Hashable, Rows]:
        """The tables, field by field."""
        found: dict[Hashable, Rows] = {}
        for c, form in self.forms.items():
            for name, column in form.terms.items():
                found.setdefault(name, Rows(self.keys[name], {})).columns[c] = column
        return found

    @cached_property
    def const(self) -> dict[int, Fraction]:
        return {c: form.const for c, form in self.forms.items() if form.const}

    @cached_property
    def err(self) -> dict[int, Interval]:
        return {c: form.err for c, form in self.forms.items() if form.err != NONE}

    def form(self, c: int) -> Form:
        return self.forms.get(c, _NOTHING)

    def times(self, W: Matrix, f: Format) -> Vec:
        """x W, rounded."""
        forms = {c: [(self.forms[r], w) for r, w in col.items() if r in self.forms] for c, col in W.items()}
        return Vec({c: _product(parts, f) for c, parts in forms.items()}, self.keys)

    def plus(self, other: Vec, f: Format | None = None) -> Vec:
        """The sum, exactly; or rounded where there are two summands, each a number of the format."""
        forms, keys = self.forms | other.forms, dict(self.keys)
        for name, rows in other.keys.items():
            need(keys.setdefault(name, rows) == rows, "two tables of one field have different rows")
        for c in self.forms.keys() & other.forms.keys():
            both = Form.sum([(self.forms[c], ONE), (other.forms[c], ONE)])
            forms[c] = both.rounded(f) if f else both
        return Vec(forms, keys)

    def rounded(self, f: Format) -> Vec:
        return Vec({c: form.rounded(f) for c, form in self.forms.items()}, self.keys)

    def renamed(self, name: Callable[[Any], Hashable]) -> Vec:
        """The same with other names of its fields; two names may become one: their columns are added."""
        keys: dict[Hashable, tuple[Any, ...]] = {}
        for old in self.terms:
            need(keys.setdefault(name(old), self.keys[old]) == self.keys[old], "tables with different rows")
        forms = {}
        for c, form in self.forms.items():
            parts = [(Form(ZERO, {name(old): column}), ONE) for old, column in form.terms.items()]
            forms[c] = Form.sum([(Form(form.const), ONE), *parts], form.err)
        return Vec(forms, keys)

    def without(self, c: int, e: Interval) -> Vec:
        """The same, but one column is 0, up to an error."""
        return Vec(self.forms | {c: Form(ZERO, {}, e)}, self.keys)

    def shifted(self, by: int) -> Vec:
        """The same in other columns."""
        return Vec({c + by: form for c, form in self.forms.items()}, self.keys)

    def scaled(self, w: Fraction) -> Vec:
        """w times x, exactly."""
        return Vec({c: Form.sum([(form, w)]) for c, form in self.forms.items()}, self.keys)

    def relu(self) -> Vec:
        made = {c: form.relu() for c, form in self.forms.items()}
        keys = dict(self.keys)
        for name, _ in made.values():
            if isinstance(name, Joint) and name not in keys:
                keys[name] = tuple(product(*(self.keys[part] for part in name.fields)))
        return Vec({c: form for c, (_, form) in made.items()}, keys)


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
        (dq, a), (dk, b) = (_integers([side.columns[c] for c in shared]) for side in (q, k))
        self.den, self.pairs, self._sides = dq * dk, len(q.keys) * len(k.keys), (a, b)
        self.words = Words.of(a, b) if self.pairs > 1 << 10 else None

    @cached_property
    def q(self) -> list[tuple[int, ...]]:
        return list(_rows(self._sides[0]))

    @cached_property
    def k(self) -> list[tuple[int, ...]]:
        return list(_rows(self._sides[1]))

    @classmethod
    def of(cls, q: Rows, k: Rows) -> Table | None:
        """None if it is 0 throughout."""
        shared = sorted(q.columns.keys() & k.columns.keys())
        return cls(q, k, shared) if shared else None

    def best(self, B: Column) -> Best:
        """The highest ⟨q[a], k[b]⟩ + B[b]."""
        if self.words is not None and B.fixed:
            score, miss = self.words.top / self.den + B.least, self.words.cost / self.den
            return Best(self.words.choice, Column.same(score, len(self.words.choice)), miss)
        need(self.pairs <= MOST_PAIRS, "two tables have too many pairs of rows")
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
            return Column.same(self.words.top / self.den + B.most, len(self.words.choice))
        return self.best(B).top

    def all(self, asked: Sequence[Any], keys: Sequence[Any]) -> Iterator[tuple[Any, Any, Fraction]]:
        """Every score, with the names of its rows."""
        need(self.pairs <= 1 << 17, "two tables have too many pairs of rows")
        for (a, x), (b, y) in product(zip(asked, self.q, strict=True), zip(keys, self.k, strict=True)):
            yield a, b, Fraction(sum(map(mul, x, y)), self.den)


Side = list[tuple[list[int], Sequence[int]]]  # columns: what each holds, and which of it in every row


def _integers(columns: list[Column]) -> tuple[int, Side]:
    """A common denominator, and the columns times it."""
    den = lcm(*(v.denominator for column in columns for v in column.levels))
    return den, [([int(v * den) for v in column.levels], column.at) for column in columns]


def _rows(side: Sequence[tuple[Sequence[Any], Sequence[int]]]) -> Iterator[tuple[Any, ...]]:
    return zip(*(map(levels.__getitem__, at) for levels, at in side), strict=True)


class Words(NamedTuple):
    """R7: key rows that are words, all different, all of one length.  O(rows), not O(rows²)."""

    choice: tuple[int, ...]
    top: Fraction
    cost: Fraction

    @classmethod
    def of(cls, q: Side, k: Side) -> Words | None:
        """From the columns of the query's and of the key's table."""
        ends = [[(min(levels), max(levels)) for levels, _ in side] for side in (q, k)]
        c = next((Fraction(b - a, y - x) for (a, b), (x, y) in zip(*ends, strict=True) if y > x), ZERO)
        if c <= 0:
            return None
        up, down = c.numerator, c.denominator  # r is over `down`
        r = [b * down - up * y for (_, b), (_, y) in zip(*ends, strict=True)]
        index = {row: b for b, row in enumerate(_rows(k))}
        first = [next(iter(index))]
        flat = all(len({v * v for v in levels}) == 1 for levels, _ in k)  # then all rows are as long
        norms = {sum(map(mul, y, y)) for y in (first if flat else index)}
        along = {sum(map(mul, r, y)) for y in (index if any(r) else first)}
        if len(index) < len(k[0][1]) or len(norms) > 1 or len(along) > 1:
            return None
        asked = []  # (q - r)/c, in whole numbers where it is one
        for (levels, at), o in zip(q, r, strict=True):
            parts = [divmod(v * down - o, up) for v in levels]
            asked.append(([None if rest else whole for whole, rest in parts], at))
        choice = tuple(index.get(word, -1) for word in _rows(asked))
        if -1 in choice:
            return None
        g = gcd(*(v for levels, _ in k for v in levels))
        two = all(len(levels) <= 2 for levels, _ in k)
        δ = min((y - x for x, y in ends[1] if y > x), default=0) if two else 0
        cost = c * max(Fraction(g * g), Fraction(δ * δ, 2))
        return cls(choice, c * norms.pop() + Fraction(along.pop(), down), cost)
