"""What is known of every class of tokens while a model runs: its vector, and what its fields may be (R0)."""

from collections import Counter
from collections.abc import Callable, Mapping
from copy import copy
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, chain
from math import gcd, lcm
from operator import mul
from typing import Any, Self

from limen_check.can.rational import Rational
from limen_check.can.tasks import PLACE, TOKEN, Cell, Class, Number, Read, Spec
from limen_check.can.vectors import Column, Format, Matrix, Vec, above, exp_above
from limen_check.files import Model, Refused, expect, need, typed
from limen_check.text import Call

_ROWS, _CODED = 1 << 21, 1 << 24  # of a table; numbers of all codes, class by class
_WORK, _SUM = 3 << 24, 16  # of all position-wise functions: rows, and what a sum takes beside a row
Vecs = dict[str, Vec]  # by class
Shapes = dict[str, tuple[int, ...]]  # of weights


def rounded(model: Model, name: str, number: Callable[[float], Fraction]) -> Matrix:
    """A weight as it is used, rounded: column -> row -> what is not 0.  A vector is row 0."""
    columns, (shape, numbers) = dict[int, dict[int, Fraction]](), model.weights[name]
    for i, v in enumerate(numbers):
        if v and number(v):
            columns.setdefault(i % shape[-1], {})[i // shape[-1]] = number(v)
    return columns


def cut(W: Matrix, first: int, size: int) -> Matrix:
    """So many columns of a matrix, from the first on."""
    return {c - first: column for c, column in W.items() if first <= c < first + size}


def projections(call: Call, width: int) -> Shapes:
    """The shapes of h heads with keys and values of their own."""
    h, d = call.number("h"), call.number("d")
    keys = h * call.number("d_k", default=d)
    return {"Q": (width, keys), "K": (width, keys), "V": (width, h * d), "O": (h * d, width)}


def growth(f: Format, length: int) -> tuple[bool, Fraction]:
    """Whether sums of so many numbers ≥ 0 are within 1/8, and the factor that they are within."""
    room, n, log = length * f.acc, Rational(length), length.bit_length()  # e^log > n
    short = room * 8 <= 1
    return short, 1 / (1 - room) if short else min(n, exp_above(min(room, Rational(log))))


class State:
    """`x` holds the vector of each class after the layers so far; hints, untrusted, say where classes look.

    R0, the embedding: a token is the sum of its codes, each added and rounded; code (of, div, table) is row
    (value // div) % rows, so a field.  Its possible values follow from the class's ids and places.
    """

    def __init__(self, model: Model, spec: Spec, f: Format, hints: Mapping[str, Any]) -> None:
        self.model, self.spec, self.f, self.hints, self.header = model, spec, f, hints, model.header
        self.classes = {c.name: c for c in spec.classes}
        self.text = [c for c in spec.classes if not c.view]  # each token once
        self._long(sum(c.count for c in self.text))
        self.number = lru_cache(None)(lambda v: f.rn(Rational(v)))
        self.matrix, self._table = lru_cache(None)(self._matrix), lru_cache(64)(self._columns)
        looks, self.recode = hints.get("looks", []), hints.get("recode", {})
        typed(looks, [[int | str]], "hints: looks")
        typed(self.recode, {str: [int]}, "hints: recode")
        well = all([*map(type, look[:5])] == [int, int, int, str, str] and len(look) >= 6 for look in looks)
        expect(well, "hints: a look is [layer, part, head, class, rule, …]")
        well = all(0 < len(radices) <= 64 and min(radices) > 1 for radices in self.recode.values())
        expect(well, "hints: radices are integers above 1")
        self.looks = {(f"{look[0]}.{look[1]}", *look[2:4]): look[4:] for look in looks}
        self.work = 0
        self.x = self._embedded()

    def _long(self, length: int) -> None:
        need(length > 0, "an empty input")
        self.length = length
        self.short, self.grown = growth(self.f, length)
        self.dust = above(2 * length * self.grown * self.f.tiny)  # of subnormal products

    def of_length(self, length: int) -> Self:
        """The same where sums are over so many tokens."""
        few = copy(self)
        few._long(length)
        return few

    def looked_at(self, units: Vec, W: Matrix) -> None:
        """Refuses too much work before it begins: each unit's rows and sums, once more a weight behind it."""
        behind = Counter(chain.from_iterable(W.values()))
        self.work += sum((units.rows(c) + _SUM * units.sums(c)) * (1 + behind[c]) for c in units.forms)
        need(self.work <= _WORK, "functions of too many rows")

    def _matrix(self, name: str) -> Matrix:
        return rounded(self.model, name, self.number)

    def vector(self, name: str) -> Vec:
        return Vec.of({c: column[0] for c, column in self.matrix(name).items()})

    def span(self, of: Any, c: Class) -> tuple[int, int]:
        """[low, high) of an expression of a token of class c."""
        match of:
            case "place" | "token":
                return (c.start, c.last + 1) if of == PLACE else (c.low, c.high)
            case Number(inner, div, mod):
                low, high = self.span(inner, c)
                low, last = low // div, (high - 1) // div
                if not mod or low // mod == last // mod:  # it does not begin anew
                    return (low % mod, last % mod + 1) if mod else (low, last + 1)
                return 0, mod
            case Read("at" | "nearest", where, _, inner):
                return self.span(inner, self.classes[where])
            case Read("back", _, _, inner):
                ends = [self.span(inner, e) for e in self.text]
                return min(low for low, _ in ends), max(high for _, high in ends)
            case Read("found", _, _, number):
                return 0, number.mod + 1
            case Cell(_, size):
                return 0, size
        raise Refused("a number of which no range is known")

    def rows(self, number: Number, c: Class) -> tuple[int, ...]:
        """The values that a number may take in class c: all of them, perhaps more."""
        if number.of == PLACE and number.div == 1 and c.step > 1:
            period = number.mod // gcd(number.mod, c.step) if number.mod else c.count
            values = {
                (c.start + i * c.step) % (number.mod or c.last + 1) for i in range(min(c.count, period))
            }
            return tuple(sorted(values))
        if number.of == TOKEN and c.name in self.spec.ids:
            values = {i // number.div for i in self.spec.ids[c.name]}
            return tuple(sorted({i % number.mod for i in values} if number.mod else values))
        low, high = self.span(number, c)
        need(high - low <= _ROWS, "a field has too many values")
        return tuple(range(low, high))

    def plain(self, number: Number, c: Class) -> Number:
        """The same number in its one normal form: no modulus where it does nothing."""
        of, div, mod = number.of, number.div, number.mod
        if mod and (self.span(of, c)[1] - 1) // div < mod:
            mod = 0
        return self.plain(of, c) if isinstance(of, Number) and div == 1 and not mod else Number(of, div, mod)

    def _embedded(self) -> Vecs:
        """R0: the vector of each class, the sum of its codes."""
        e, width, counts = self.header["embedding"], self.header["width"], dict[int, int]()
        expect(e["width"] == width, "the embedding has another width than the model")
        sizes = {name: (rows, columns) for name, rows, columns in e["tables"]}
        expect(len(sizes) == len(e["tables"]), "two tables have one name")
        for c in sorted(self.text, key=lambda c: c.first):
            counts[c.first] = counts.get(c.first, 0) + c.count
        expected = [*counts.values(), *self.spec.later]
        need([s["count"] for s in e["segments"]] == expected, "other segments than the task's")
        x, coded = dict.fromkeys(self.classes, Vec.of({})), 0
        for first, segment in zip(counts, e["segments"], strict=False):
            for code in segment["codes"]:
                expect(code["table"] in sizes and code["of"] in ("token", "place"), "a code is unknown")
                rows, columns = sizes[code["table"]]
                fits = 0 <= code["column"] <= width - columns and code["div"] >= 1 and rows >= 1
                expect(fits, "a code does not fit")
                for c in (c for c in self.classes.values() if c.first == first):
                    coded += columns * min(rows, c.count if code["of"] == PLACE else c.high - c.low)
                    coded += len(x[c.name].keys) + len(x[c.name].forms)  # which are copied
                    need(coded <= _CODED, "too many codes to look at")
                    x[c.name] = x[c.name].plus(self._code(code, rows, c), self.f)
        return x

    def _piece(self, n: Number, c: Class) -> Number:
        """Bits of a written token as bits of the number that stands there."""
        low, size = n.div.bit_length() - 1, n.mod.bit_length() - 1
        need(n.div == 1 << low and n.mod == 1 << size, "no bits of a written token")
        for piece in self.spec.written[c.name]:
            if (low, size) == (piece.start, piece.bits) and isinstance(piece.number.of, Cell):
                return Number(
                    *piece.number
                )  # of others it is a digit, as tables of one name have the same rows
            if piece.start <= low and low + size <= piece.start + piece.bits:
                return Number(piece.number, 1 << low - piece.start, n.mod)
        raise Refused("bits of a written token that are no number")

    def _code(self, code: Mapping[str, Any], size: int, c: Class) -> Vec:
        """A table as a term; a constant where it has one row."""
        field = Number(code["of"], code["div"], size)
        if field.of == TOKEN and c.name in self.spec.written:
            field = self._piece(field, c)
        keys, radices = self.rows(field, c), self.recode.get(code["table"])
        columns = dict(enumerate(self._table(code["table"], keys), code["column"]))
        if size == 1:
            return Vec.of({i: column.least for i, column in columns.items()})
        if radices and keys == tuple(range(len(keys))) and len(keys) > radices[0]:
            return _recoded(field, columns, len(keys), radices)
        return Vec.table(field, keys, columns)

    def _columns(self, name: str, keys: tuple[int, ...]) -> list[Column]:
        """Some rows of a table, column by column, rounded."""
        (_, width), numbers = self.model.weights[f"embedding.{name}"]
        columns, whole = [], keys == tuple(range(keys[0], keys[-1] + 1))
        for i in range(width):
            raw = list(numbers[keys[0] * width + i : (keys[-1] + 1) * width : width])
            raw = raw if whole else [raw[r - keys[0]] for r in keys]
            level = {v: k for k, v in enumerate(dict.fromkeys(map(self.number, set(raw))))}
            at = {v: level[self.number(v)] for v in set(raw)}
            packed = bytes if len(level) <= 256 else tuple  # a byte a row, where it does
            columns.append(Column(tuple(level), packed(map(at.__getitem__, raw))))
        return columns


def _recoded(field: Number, columns: dict[int, Column], size: int, radices: list[int]) -> Vec:
    """T[r] = T[0] + Σ_i (T[d_i·w_i] - T[0]), d_i the digits of r of weights w_i: seen row by row."""
    weights = list(accumulate(radices, mul, initial=1))
    need(weights[-1] >= size, "the radices do not reach")
    digits = {Number(field, w, radix): w for w, radix in zip(weights, radices, strict=False) if w < size}
    const, parts = dict[int, Fraction](), {n: dict[int, Column]() for n in digits}
    keys = {n: tuple(range(min(n.mod, -(-size // w)))) for n, w in digits.items()}
    for c, column in columns.items():
        den = lcm(*(v.denominator for v in column.levels))
        values = list(map([int(v * den) for v in column.levels].__getitem__, column.at))
        made, const[c] = values[:1], Rational(values[0], den)
        for n, w in digits.items():
            more = [values[i * w] - values[0] for i in keys[n]]
            made = [low + high for high in more for low in made]  # row low + i·w, low below w
            parts[n][c] = Column.of([Rational(v, den) for v in more])
        need(made[:size] == values, "a table is no sum over digits")
    out = Vec.of(const)
    for n, part in parts.items():
        out = out.plus(Vec.table(n, keys[n], part))
    return out
