"""What a class of tokens holds, exactly:  const + Σ (rows of small tables named by integer fields) + error.

A field is a name for an integer of a token (a digit of its id, of its place, of what it read).  Its table
lists every value that the integer may take: a statement about all rows is one about all tokens of all inputs.
All numbers are rationals; an error interval may be made wider, never narrower.
"""

from collections import namedtuple
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import chain, product
from math import ceil, prod
from typing import Any, NamedTuple

from limen_check.can.rational import Rational
from limen_check.files import need

Interval = tuple[Fraction, Fraction]
Matrix = Mapping[int, Mapping[int, Fraction]]  # column -> row -> what is not 0
ZERO: Fraction = Rational(0)
ONE: Fraction = Rational(1)
NONE: Interval = (ZERO, ZERO)
Joint = namedtuple("Joint", "fields")  # several plain fields at once: a row is a tuple of theirs
_VALUES = 1 << 10  # of a number that are looked at one by one
_ALONE, _LONGEST = 1 << 12, 1 << 11  # products with a weight that are remembered; bits of a number in them


def power(e: int) -> Fraction:
    return Rational(1 << e) if e >= 0 else Rational(1, 1 << -e)


def exponent(x: Fraction) -> int:
    """e with 2^e ≤ |x| < 2^(e+1)."""
    n, d = abs(x.numerator), x.denominator
    e = n.bit_length() - d.bit_length()
    return e - (n < d << e if e >= 0 else n << -e < d)


def above(x: Fraction) -> Fraction:
    """A number of at most 32 bits that is at least x ≥ 0: keeps denominators short."""
    e = exponent(x) - 31
    n, d = x.numerator << max(0, -e), x.denominator << max(0, e)
    return -(-n // d) * power(e)


_ROOTS = [power(-40) * (int(2 ** (40 + i / 32)) + 2) for i in range(32)]
assert all(root**32 >= power(i) for i, root in enumerate(_ROOTS))  # so root i is at least 2^(i/32)


def exp_above(x: Fraction) -> Fraction:
    """At least e^x, and down to e^-65536 at most 3 % more, since 1.4426950408 < log₂e < 1.4426950409."""
    x = max(x, Rational(-1 << 16))  # keeps numbers short
    whole, part = divmod(ceil(32 * x * Rational(14426950408 + (x > 0), 10**10)), 32)
    return power(whole) * _ROOTS[part]


def grain(x: Fraction) -> Fraction:
    """The largest power of two that divides the numerator of x ≠ 0, over its denominator: x is a multiple."""
    return Rational(x.numerator & -x.numerator, x.denominator)


class Format(NamedTuple):
    # Results are rounded to the nearest; sums inside one operation are accumulated in float32 or float64.
    t: int  # significant bits
    least: int  # normal exponent
    u: Fraction  # the relative error of a rounded result
    acc: Fraction  # and of an addition in the accumulator
    tiny: Fraction  # of which an accumulator's numbers are multiples
    largest: Fraction
    most: Fraction  # no sum up to here overflows in the accumulator

    @classmethod
    def named(cls, name: str) -> "Format":
        sizes = {"float64": (53, -1022), "float32": (24, -126), "bfloat16": (8, -126)}
        need(name in sizes, f"no rule speaks of the precision {name[:40]!r}")
        t, least = sizes[name]
        acc, top = max(t, 24), power(1 - least)
        return cls(t, least, power(-t), power(-acc), power(least - acc + 1), (2 - power(1 - t)) * top, top)

    def __hash__(self) -> int:
        return self.t  # at once: results are remembered by their format

    def rn(self, x: Fraction) -> Fraction:
        """The nearest number of the format, ties to even."""
        n, d, short = x.numerator.bit_length(), x.denominator.bit_length(), x.denominator.bit_count() == 1
        if short and n <= self.t and d <= self.t - self.least and n - d <= 1 - self.least:
            return x  # it is one
        e = max(exponent(x), self.least) - self.t + 1  # a multiple of 2^e
        n, d = x.numerator << max(0, -e), x.denominator << max(0, e)
        whole, rest = divmod(n, d)
        whole += 2 * rest > d or (2 * rest == d and whole & 1)
        y = Rational(whole << max(0, e), 1 << max(0, -e))
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


class Column:
    """A column of a table: row i holds levels[at[i]], and the levels differ."""

    def __init__(self, levels: Sequence[Fraction], at: Sequence[int]) -> None:
        self.levels, self.at, self.fixed = levels, at, len(levels) == 1

    @cached_property
    def least(self) -> Fraction:
        return min(self.levels)

    @cached_property
    def most(self) -> Fraction:
        return max(self.levels)

    @classmethod
    def of(cls, values: Sequence[Fraction]) -> "Column":
        number = dict[Fraction, int]()
        at = tuple(number.setdefault(v, len(number)) for v in values)  # each is hashed once
        return cls(tuple(number), at)

    @classmethod
    def sum(cls, parts: Sequence[tuple["Column", Fraction]]) -> "Column":
        """Σ w·column, row by row."""
        moved = sum((column.levels[0] * w for column, w in parts if column.fixed), ZERO)
        vary = [(column, w) for column, w in parts if not column.fixed]
        if len(vary) < 2:
            column, w = vary[0] if vary else (parts[0][0], ZERO)
            if w == ONE and not moved:
                return column
            return cls([v * w + moved for v in column.levels], column.at)
        rows = list(zip(*(column.at for column, _ in vary), strict=True))
        scaled = [[v * w for v in column.levels] for column, w in vary]
        sums = {r: sum((v[i] for v, i in zip(scaled, r, strict=True)), moved) for r in dict.fromkeys(rows)}
        number = dict[Fraction, int]()
        at = {row: number.setdefault(v, len(number)) for row, v in sums.items()}
        return cls(tuple(number), tuple(map(at.__getitem__, rows)))

    def plus(self, other: "Column", w: Fraction = ONE) -> "Column":
        return Column.sum([(self, ONE), (other, w)])

    def rows(self) -> list[Fraction]:
        return list(map(self.levels.__getitem__, self.at))


def level(v: Fraction, rows: int) -> Column:
    """The same in all rows."""
    return Column((v,), bytes(rows))


class Form:
    """One number of a token: const + Σ_field (a row of the field's column) + an error in `err`."""

    def __init__(
        self, const: Fraction, terms: Mapping[Hashable, Column] | None = None, err: Interval = NONE
    ) -> None:
        self.const, self.terms, self.err = const, terms or {}, err
        self.many = prod(len(column.levels) for column in self.terms.values()) > _VALUES

    @classmethod
    def sum(cls, parts: Sequence[tuple["Form", Fraction]], err: Interval = NONE) -> "Form":
        """Σ w·form and an error more, exactly.

        A column with one level in all of several rows is a constant; one row keeps its name.
        """
        if len(parts) == 1 and parts[0][1] == ONE and err == NONE and parts[0][0].whole:
            return parts[0][0]
        const, (lo, hi), found = ZERO, err, dict[Hashable, list[tuple[Column, Fraction]]]()
        for form, w in parts:
            const += form.const * w
            if form.err != NONE:
                a, b = sorted((form.err[0] * w, form.err[1] * w))
                lo, hi = lo + a, hi + b
            for name, column in form.terms.items():
                found.setdefault(name, []).append((column, w))
        terms = {name: Column.sum(columns) for name, columns in found.items()}
        for name, column in list(terms.items()):
            if column.fixed and (len(column.at) > 1 or column.least == 0):
                const += terms.pop(name).least
        return cls(const, terms, (lo, hi))

    @cached_property
    def whole(self) -> bool:
        """Whether no column is a constant in all of several rows, or 0: then a sum of it alone is itself."""
        return not any(x.fixed and (len(x.at) > 1 or x.levels[0] == 0) for x in self.terms.values())

    @cached_property
    def values(self) -> list[Fraction]:
        """All values without the error, or more; if they are `many` only the ends."""
        sets = [column.levels for column in self.terms.values()]
        if self.many:
            return [sum(map(end, sets), self.const) for end in (min, max)]
        return [sum(v, self.const) for v in product(*sets)]

    @cached_property
    def ends(self) -> Interval:
        """The least and the largest value, error included."""
        return min(self.values) + self.err[0], max(self.values) + self.err[1]

    @cached_property
    def cap(self) -> Fraction:
        """The largest size, error included: 0 if an error takes all of it away."""
        return max(map(abs, self.ends))

    @cached_property
    def step(self) -> Fraction | None:
        """A power of two of which it is surely a multiple; None if its values are not known exactly.

        Of `many` values one that divides every part: so it divides every sum of parts.
        """
        if self.err != NONE:
            return None
        if self.many:
            parts = [v for v in (self.const, *chain(*(x.levels for x in self.terms.values()))) if v]
            return min(map(grain, parts)) if all(v.denominator.bit_count() == 1 for v in parts) else None
        need(all(v.denominator.bit_count() == 1 for v in self.values), "a number that no format has")
        return min((grain(v) for v in self.values if v), default=ONE)

    def rounded(self, f: Format) -> "Form":
        """Rounding to the nearest is monotone: the ends of an interval go to the ends of its image.

        Multiples of a step, at most 2^t of them on either side of 0, are numbers of the format.
        """
        alone = not self.terms and _short(self.const, *self.err)
        return _rounded(self.const, self.err, f) if alone else self._rounded(f)

    def _rounded(self, f: Format) -> "Form":
        if self.err == NONE and all(f.rn(v) == v for v in self.values) and not self.many:
            return self
        low = min(f.rn(v + self.err[0]) - v for v in self.values)
        high = max(f.rn(v + self.err[1]) - v for v in self.values)
        if self.many:
            held = self.step is not None and f.u * self.cap <= self.step >= power(f.least - f.t + 1)
            slack = ZERO if held else above(f.u * self.cap) + f.tiny + power(f.least - f.t)
            low, high = self.err[0] - slack, self.err[1] + slack
        return self if (low, high) == self.err else Form(self.const, self.terms, (low, high))


def _summed(parts: Sequence[tuple[Form, Fraction]], f: Format) -> Form:
    """Σ w·form, rounded, with the error of the sum, to which what is surely 0 adds nothing.

    A form may be 0 by its error, -32 of 32: it is no summand, but its error is passed on.
    """
    used = [(form, w) for form, w in parts if form.cap]
    sizes = sum((form.cap * abs(w) for form, w in used), ZERO)
    steps = [form.step and form.step * grain(w) for form, w in used]
    step = None if None in steps else min(filter(None, steps), default=None)
    if len(used) == 1 and grain(used[0][1]) == abs(used[0][1]):  # times a power of two: exact
        e = ZERO if step and step >= f.tiny else f.tiny
    elif _one_hot(used) and step and step >= f.tiny:
        e = ZERO
    else:
        e = f.inside(sizes, len(used), step)
    need(sizes + e <= f.largest, "a sum overflows")  # nor does a part of it
    made = Form.sum(parts, (-e, e)).rounded(f)
    return made if made.err == NONE or made.terms else _at_least_one(made, parts, f)


def _short(*numbers: Fraction) -> bool:
    """Whether these may be remembered: exact errors grow with each layer, and a file may have thousands."""
    return all(max(x.numerator.bit_length(), x.denominator.bit_length()) <= _LONGEST for x in numbers)


@lru_cache(maxsize=_ALONE)
def _rounded(const: Fraction, err: Interval, f: Format) -> Form:
    """A number without a table, rounded; `_alone` says why it is remembered."""
    return Form(const, {}, err)._rounded(f)


@lru_cache(maxsize=_ALONE)
def _alone(const: Fraction, err: Interval, w: Fraction, f: Format) -> Form:
    """A number without a table times w, rounded: what averages leave in class after class, layer by layer."""
    return _summed([(Form(const, {}, err), w)], f)


def _one_hot(parts: Sequence[tuple[Form, Fraction]]) -> bool:
    """Whether in every row of one field one number at most is not 0, and that is 1: a sum picks a weight."""
    names = {name for form, _ in parts for name in form.terms}
    plain = all(form.err == NONE and not form.const and not form.many for form, _ in parts)
    if len(names) != 1 or not plain:
        return False
    (name,) = names
    columns = [form.terms[name] for form, _ in parts]
    ones = all({*column.levels} <= {ZERO, ONE} for column in columns)
    return ones and all(sum(row) <= 1 for row in zip(*(column.rows() for column in columns), strict=True))


def _at_least_one(made: Form, parts: Sequence[tuple[Form, Fraction]], f: Format) -> Form:
    """A sum, of which more is known if its parts are ≥ 0: none of them is above it."""
    lows = [min(w * end for end in form.ends) for form, w in parts]
    if min(lows, default=ZERO) < 0:
        return made
    least = f.rn(max(ZERO, max(lows) * (1 - 2 * f.acc) - f.tiny))
    return Form(made.const, {}, (max(least - made.const, made.err[0]), made.err[1]))


class Vec:
    """The numbers of a token by columns, and the rows of all fields.  A column that is not named is 0."""

    def __init__(self, forms: Mapping[int, Form], keys: Mapping[Hashable, tuple[Any, ...]]) -> None:
        self.forms = {c: x for c, x in forms.items() if x.terms or x.const or x.err != NONE}
        self.keys, self.const = keys, {c: x.const for c, x in self.forms.items() if x.const}
        self.exact = all(x.err == NONE for x in self.forms.values())

    @classmethod
    def of(cls, const: Mapping[int, Fraction], err: Mapping[int, Interval] | None = None) -> "Vec":
        """Constants, and errors."""
        err = err or {}
        return cls({c: Form(const.get(c, ZERO), {}, err.get(c, NONE)) for c in {*const, *err}}, {})

    @classmethod
    def table(cls, name: Hashable, keys: tuple[Any, ...], columns: Mapping[int, Column]) -> "Vec":
        """The rows of one field."""
        return cls({c: Form.sum([(Form(ZERO, {name: x}), ONE)]) for c, x in columns.items()}, {name: keys})

    @cached_property
    def terms(self) -> dict[Hashable, dict[int, Column]]:
        """The tables, field by field."""
        found: dict[Hashable, dict[int, Column]] = {}
        for c, form in self.forms.items():
            for name, column in form.terms.items():
                found.setdefault(name, {})[c] = column
        return found

    def __getitem__(self, c: int) -> Form:
        return self.forms[c] if c in self.forms else Form(ZERO)

    def each(self, change: Callable[[Form], Form]) -> "Vec":
        return Vec({c: change(form) for c, form in self.forms.items()}, self.keys)

    def times(self, W: Matrix, f: Format) -> "Vec":
        """x W, rounded; what no form adds to is 0."""
        forms = {}
        for c, column in W.items():
            parts = [(self.forms[r], w) for r, w in column.items() if r in self.forms]
            one, w = parts[0] if len(parts) == 1 else (None, ZERO)
            if one is not None and not one.terms and _short(one.const, *one.err, w):
                forms[c] = _alone(one.const, one.err, w, f)
            elif parts:
                forms[c] = _summed(parts, f)
        return Vec(forms, self.keys)

    def plus(self, other: "Vec", f: Format | None = None) -> "Vec":
        """The sum, exactly; or rounded where there are two summands, each a number of the format."""
        forms, keys = self.forms | other.forms, dict(self.keys)
        for name, rows in other.keys.items():
            need(keys.setdefault(name, rows) == rows, "two tables of one field have different rows")
        for c in self.forms.keys() & other.forms.keys():
            both = Form.sum([(self.forms[c], ONE), (other.forms[c], ONE)])
            forms[c] = both.rounded(f) if f else both
        return Vec(forms, keys)

    def renamed(self, name: Callable[[Any], Hashable]) -> "Vec":
        """The same with other names of its fields; two names may become one: their columns are added."""
        keys, forms = dict[Hashable, tuple[Any, ...]](), {}
        for old in self.terms:
            need(keys.setdefault(name(old), self.keys[old]) == self.keys[old], "tables with different rows")
        for c, form in self.forms.items():
            parts = [(Form(ZERO, {name(old): column}), ONE) for old, column in form.terms.items()]
            forms[c] = Form.sum([(Form(form.const), ONE), *parts], form.err)
        return Vec(forms, keys)

    def flat(self, names: Collection[Any]) -> tuple[tuple[Any, ...], list[tuple[Any, ...]]]:
        """The plain fields that some fields are made of, and all rows of these together."""
        if not any(isinstance(n, Joint) for n in names):
            return tuple(names), list(product(*(self.keys[n] for n in names)))
        fields = [n.fields if isinstance(n, Joint) else (n,) for n in names]
        rows = product(*(self.keys[n] if isinstance(n, Joint) else zip(self.keys[n]) for n in names))
        return tuple(chain.from_iterable(fields)), [tuple(chain.from_iterable(row)) for row in rows]

    def _varying(self, c: int) -> Mapping[Hashable, Column]:
        """The columns that a number depends on; all that it has where it depends on none."""
        terms = self[c].terms
        return {name: column for name, column in terms.items() if not column.fixed} or terms

    def rows(self, c: int) -> int:
        """How many rows the fields of a number have together: a function of it takes all of them."""
        return prod(len(column.at) for column in self._varying(c).values())

    def sums(self, c: int) -> int:
        """How many sums of levels it may be: they take most of the time."""
        return prod(len(column.levels) for column in self._varying(c).values())

    def relu(self) -> "Vec":
        return self.map(lambda lo, hi: (max(ZERO, lo), max(ZERO, hi)))

    def map(self, g: Callable[[Fraction, Fraction], Interval], columns: Iterable[int] = ()) -> "Vec":
        """A function of every number, and of 0 in `columns`: on all rows of the fields that it depends on.

        g takes the ends of an interval to ends of what may come out.
        """
        forms, keys, known = {}, dict(self.keys), lru_cache(None)(g)
        for c in {*self.forms, *columns}:
            form = self[c]
            vary = self._varying(c)
            base = sum((column.least for n, column in form.terms.items() if n not in vary), form.const)
            names = sorted(vary, key=repr)
            columns_ = [form.terms[n] for n in names]
            need(self.rows(c) <= 1 << 17, "a function reads too many rows")
            sums = {
                i: sum((x.levels[k] for x, k in zip(columns_, i, strict=True)), base)
                for i in product(*(range(len(x.levels)) for x in columns_))
            }
            level = {i: known(v, v)[0] for i, v in sums.items()}
            ends = [(known(v + form.err[0], v + form.err[1]), level[i]) for i, v in sums.items()]
            err = min(lo - y for (lo, _), y in ends), max(hi - y for (_, hi), y in ends)
            number = {v: i for i, v in enumerate(dict.fromkeys(level.values()))}
            at = {i: number[y] for i, y in level.items()}
            made = Column(tuple(number), tuple(at[i] for i in product(*(x.at for x in columns_))))
            name = names[0] if names else None
            if len(names) > 1:
                fields, rows = self.flat(names)
                name = Joint(fields)
                need(keys.setdefault(name, tuple(rows)) == tuple(rows), "fields in two orders")
            exact = Form(ZERO, {name: made}) if names else Form(made.least)
            forms[c] = Form.sum([(exact, ONE)], err)
        return Vec(forms, keys)
