"""R6: logits of a token, from its vector: the answer in binary, or a linear map; right minus best wrong."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

from limen_check.can.rational import Rational
from limen_check.can.state import State
from limen_check.can.tasks import Class, Decision, Number, Piece
from limen_check.can.vectors import ONE, ZERO, Form, Format, Interval, Joint, Vec, level
from limen_check.files import Refused, expect, need
from limen_check.text import parse_call

_ROWS = 1 << 20  # of all fields that an answer reads, times the columns
At = dict[Hashable, Any]  # a row of every field
Also = Mapping[Hashable, Iterable[Any]]  # fields on which an answer depends, with their rows


def margin(state: State, c: Class) -> Fraction:
    """R6: the margin of the answer of the tokens of class c, in one of the ways that the task says it."""
    need(state.header["answers"] == state.spec.answers, "other answers than the task has")
    if state.header["readout"] == "linear":
        return _linear(state, c)
    digits, ways = Digits.of(state.header), [w for w in state.spec.answer if isinstance(w, Decision)]
    if ways:
        return digits.decided(state, c, ways)
    pieces, least = digits.pieces(state, c)
    right = [[(0, state.plain(way, c))] for way in state.spec.answer if isinstance(way, Number)]
    spelled = [(p.start, p.number) for p in pieces]
    need(spelled in right or (not spelled and state.spec.answers == 1), "another number is written")
    return least


class Digits(NamedTuple):
    # The readout: digit i of the answer, or of the token to write, stands in column first + i.
    first: int
    bits: int

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> "Digits":
        call = parse_call(header["readout"])
        need(call.name == "binary" and call.arguments.keys() == {"first", "bits"}, "no such readout")
        first, bits = call.number("first", 0), call.number("bits", 1, 1 << 10)
        expect(first + bits <= header["width"], "binary: beyond the width")
        need(header["answers"] <= 1 << bits, "answers that cannot be written")
        return cls(first, bits)

    def margin(self, ends: list[Fraction], f: Format) -> Fraction:
        """logit_a = Σ_i (2a_i - 1)y_i, y_i = 2x_i - 1; `ends` are the y_i, times the sign that is right.

        Two answers differ in a digit, by 2y_i or more, but for the roundings of two sums of `bits` numbers.
        """
        if set(ends) == {ONE} and self.bits * f.u <= 1:
            return Rational(2)  # whole numbers up to `bits`: exact
        logit = self.bits * max(map(abs, ends))
        error = f.inside(logit, self.bits, None)
        need(2 * logit <= f.largest, "a logit overflows")
        return 2 * min(ends) - 2 * (error + f.u * (logit + error))

    def decided(self, state: State, c: Class, ways: list[Decision]) -> Fraction:
        """By the first of some ways to decide of which all numbers are read."""
        x = state.x[c.name]
        named = {state.plain(n, c): n for n in x.terms if isinstance(n, Number)}
        way = next((way for way in ways if {*way.numbers} <= named.keys()), None)
        if way is None:
            raise Refused("the digits do not read what decides")
        numbers, right = [named[n] for n in way.numbers], way.right
        return self.by_rows(
            x, state.f, {n: x.keys[n] for n in numbers}, lambda at: right(tuple(at[n] for n in numbers))
        )

    def by_rows(self, x: Vec, f: Format, also: Also, right: Callable[[At], int]) -> Fraction:
        """Where the answer is a function of rows."""
        ends = []
        for i in range(self.bits):
            ends += self.ends(i, x, f, also, lambda at, i=i: right(at) >> i & 1)  # type: ignore[misc]
        return self.margin(ends, f)

    def ends(self, i: int, x: Vec, f: Format, also: Also, right: Callable[[At], int]) -> list[Fraction]:
        """y_i, times the sign that is right, on all rows: digit i is 0 or 1 as a function of them."""
        ends = []
        for at, [(lo, hi)] in readings(x, [self.first + i], also):
            ends += [(2 * right(at) - 1) * f.rn(2 * v - 1) for v in (lo, hi)]
        return ends

    def pieces(self, state: State, c: Class) -> tuple[tuple[Piece, ...], Fraction]:
        """The numbers whose bits stand in the digits one after the other; digits that are 0 may follow."""
        runs, ends, pieces = list[list[tuple[int, Number, int]]](), list[Fraction](), list[Piece]()
        for i in range(self.bits):
            x = state.x[c.name][self.first + i]
            ends += [(2 * v - 1) * state.f.rn(2 * (v + e) - 1) for v in (0, 1) for e in x.err]
            for n, bit in _bit(state.x[c.name], self.first + i, f"digit {i}"):
                at, low, j = runs[-1][-1] if runs else (-2, n, 0)
                full = bit == 0 and n.of == low.of and n.div == low.div << j + 1 and low.mod == 2 << j
                if i == at + 1 and (full or (n == low and bit == j + 1)):  # behind the next lower bit
                    runs[-1].append((i, n, bit))
                else:
                    need(bit == 0, f"digit {i} is a bit without those below it")
                    runs.append([(i, n, bit)])
        for run, stop in zip(runs, [*(run[0][0] for run in runs[1:]), self.bits], strict=bool(runs)):
            (start, low, _), (_, high, _) = run[0], run[-1]
            number = state.plain(Number(low.of, low.div, high.div // low.div * high.mod), c)
            need(state.span(number, c)[1] <= 1 << len(run), "a number has more bits than are written")
            pieces.append(Piece(start, stop - start, number))
        return tuple(pieces), self.margin(ends, state.f)


def _bit(x: Vec, column: int, where: str) -> Iterator[tuple[Number, int]]:
    """The number and its bit that a column is in every row, without its error; nothing if it is 0."""
    terms = x[column].terms
    fields = [n for n, col in terms.items() if not col.fixed]
    base = sum((col.least for col in terms.values() if col.fixed), x[column].const)
    need(len(fields) <= 1 and (bool(fields) or base == 0), f"{where} mixes fields, or is constant")
    for n in fields:
        need(isinstance(n, Number), f"{where} mixes fields")
        levels = [{ZERO: 0, ONE: 1}.get(base + v) for v in terms[n].levels]
        rows = list(zip(x.keys[n], map(levels.__getitem__, terms[n].at), strict=True))
        bits = [j for j in range(62) if all(v == r >> j & 1 for r, v in rows)]
        need(len(bits) > 0, f"{where} is no bit of a number")
        yield n, bits[0]  # type: ignore[misc]


def readings(x: Vec, columns: Iterable[int], also: Also) -> Iterator[tuple[At, list[Interval]]]:
    """All rows of the fields that some columns depend on, and of some more, with the columns' intervals."""
    forms, keys = [x[c] for c in columns], {n: dict.fromkeys(values) for n, values in also.items()}
    where = {}
    for name in {name: None for form in forms for name in form.terms}:
        fields, rows = x.flat([name])
        where[name] = fields, {row: i for i, row in enumerate(rows)}
        for i, n in enumerate(fields):
            if n not in also:
                keys.setdefault(n, {}).update(dict.fromkeys(row[i] for row in rows))
    need(len(forms) * prod(map(len, keys.values())) <= _ROWS, "the answer reads too many rows")
    for picked in product(*keys.values()):
        at, ends = dict(zip(keys, picked, strict=True)), []
        for form in forms:
            v = form.const
            for name, column in form.terms.items():
                i = where[name][1].get(tuple([at[n] for n in where[name][0]]), -1)
                need(i >= 0, "a row is missing")
                v += column.levels[column.at[i]]
            ends.append((v + form.err[0], v + form.err[1]))
        yield at, ends


def _linear(state: State, c: Class) -> Fraction:
    """The task decides by some numbers: all of them are read, and what else is read may be anything."""
    logits = (
        state.x[c.name].times(state.matrix("readout.U"), state.f).plus(state.vector("readout.u"), state.f)
    )
    if c.name in state.spec.wrong:
        return logits[0].ends[0] - max(logits[a].ends[1] for a in range(1, state.spec.answers))
    fields = [n for name in logits.terms for n in (name.fields if isinstance(name, Joint) else (name,))]
    named = {state.plain(n, c): n for n in fields if isinstance(n, Number)}
    ways = [way for way in state.spec.answer if isinstance(way, Decision) and {*way.numbers} <= named.keys()]
    need(ways, "the logits do not read what decides")
    numbers, margins = [named[n] for n in ways[0].numbers], []
    if ways[0].rises:
        return _compared(logits, *numbers)
    for at, ends in readings(logits, range(state.spec.answers), {}):
        right = ways[0].right(tuple(at[n] for n in numbers))
        margins.append(ends[right][0] - max(hi for a, (_, hi) in enumerate(ends) if a != right))
    return min(margins)


def _compared(logits: Vec, count: Number, threshold: Number) -> Fraction:
    """1 iff κ ≥ k: logit 1 less logit 0 is A[κ] + B[k] + an interval, A rises: κ = k and k - 1 are worst."""
    need(logits.terms.keys() == {count, threshold}, "something else is read")
    apart = Form.sum([(logits[1], ONE), (logits[0], -ONE)])
    A, B = (apart.terms.get(n, level(ZERO, len(logits.keys[n]))).rows() for n in (count, threshold))
    need(
        logits.keys[count] == tuple(range(len(A))) and sorted(A) == A, "a count is missing, or does not rise"
    )
    thresholds = list(zip(logits.keys[threshold], B, strict=True))
    need(all(1 <= k < len(A) for k, _ in thresholds), "a threshold that no count meets")
    lo, hi = apart.const + apart.err[0], apart.const + apart.err[1]
    yes, no = min(b + A[k] for k, b in thresholds) + lo, -max(b + A[k - 1] for k, b in thresholds) - hi
    return Rational(min(yes, no))
