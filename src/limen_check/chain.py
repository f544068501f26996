"""Chains of thought (R13): by induction over the written tokens, each is what the model says it is.

The token that is written is the one with the highest logit.  If on every text that begins as it should the
right next token is ahead of all others, the chain is right from its first token to its last, and so is the
answer that is read at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise, product
from math import prod
from operator import mul
from typing import Any, NamedTuple

from limen_check.attention import Ask, Gain, Match, Scores, moved, relation
from limen_check.automata import PROGRAMS, Cell, head_of, time
from limen_check.files import Malformed, Refused, expect, need, typed
from limen_check.pooling import On, exists
from limen_check.state import State
from limen_check.tasks import NO_FACTS, PLACE, TOKEN, Equal, Exists, Number, Part, Piece, Spec, spec
from limen_check.text import parse_call, parse_stack
from limen_check.vectors import NONE, ONE, ZERO, Class, Column, Format, Interval, Joint, Rows, Vec

_ROWS = 1 << 16  # of all fields that an answer reads
_PLACES = 1 << 18  # that are looked at one by one

At = dict[Hashable, Any]  # a row of every field
Also = Mapping[Hashable, Iterable[Any]]  # fields on which an answer depends, with their rows
Forward = Callable[[Spec], State]  # a model's run over all classes of a text


def margin(
    task: str, steps: int, forward: Forward, header: Mapping[str, Any], hints: Mapping[str, Any]
) -> Fraction:
    """The least margin of all written tokens and of the answer."""
    call, digits = parse_call(task), Digits.of(header)
    mixers = [part for layer in parse_stack(header["architecture"]) for part in layer]
    ahead = any(part.arguments.get("bidirectional", False) for part in mixers)
    if call.name == "composition":
        return _composition(spec(task), steps, forward, digits)
    need(not ahead, "who writes sees tokens that are not yet there")  # these run the whole text at once
    sizes: dict[str, Any] = call.arguments
    for name, value in sizes.items():
        expect(name == "program" or (type(value) is int and 2 <= value < 1 << 32), f"{call.name}: {name}")
    if call.name == "turing" and sizes.keys() == {"n", "program"}:
        return _turing(steps, forward, digits, **sizes)
    if call.name == "three_sum" and sizes.keys() == {"n", "M"}:
        return _three_sum(steps, forward, digits, hints.get("blocks"), **sizes)
    raise Refused(f"no rule speaks of a chain of thought for {call.name}")


class Digits(NamedTuple):
    """The readout: digit i of the answer, or of the token to write, stands in column first + i."""

    first: int
    bits: int

    @classmethod
    def of(cls, header: Mapping[str, Any]) -> Digits:
        call = parse_call(header["readout"])
        need(call.name == "binary" and call.arguments.keys() == {"first", "bits"}, "a chain without digits")
        first, bits = (call.arguments[key] for key in ("first", "bits"))
        if type(first) is not int or type(bits) is not int or not 1 <= bits <= 62:
            raise Malformed("binary: first and bits are numbers")
        expect(0 <= first <= header["width"] - bits, "binary: beyond the width")
        need(header["answers"] == 1 << bits, "tokens that cannot be written")
        return cls(first, bits)

    def margin(self, ends: list[Fraction], f: Format) -> Fraction:
        """logit_a = Σ_i (2a_i - 1)y_i, y_i = 2x_i - 1; `ends` are the y_i, times the sign that is right.

        Two answers differ in a digit, by 2y_i or more, but for the roundings of two sums of `bits` numbers.
        """
        if set(ends) == {ONE} and self.bits * f.u <= 1:
            return Fraction(2)
        logit = self.bits * max(map(abs, ends))
        error = f.inside(logit, self.bits, None)
        need(2 * logit <= f.largest, "a logit overflows")
        least = 2 * min(ends) - 2 * (error + f.u * (logit + error))
        need(least > 0, "no positive margin at some token of the chain")
        return least

    def by_rows(self, x: Vec, f: Format, also: Also, right: Callable[[At], int]) -> Fraction:
        """R6 where the answer is a function of rows."""
        ends = []
        for i in range(self.bits):
            for at, (lo, hi) in readings(x, self.first + i, also):
                sign = 2 * (right(at) >> i & 1) - 1
                ends += [sign * f.rn(2 * v - 1) for v in (lo, hi)]
        return self.margin(ends, f)


def readings(x: Vec, column: int, also: Also) -> Iterator[tuple[At, Interval]]:
    """All rows of the fields that a column depends on, and of some more, with its interval."""
    terms, keys = x.of(column), {field: dict.fromkeys(values) for field, values in also.items()}
    for field in terms:
        for key in x.terms[field].keys:
            for base, value in _apart(field, key).items():
                if base not in also:
                    keys.setdefault(base, {})[value] = None
    need(prod(map(len, keys.values())) <= _ROWS, "the answer reads too many rows")
    where = {field: {key: i for i, key in enumerate(x.terms[field].keys)} for field in terms}
    base, (lo, hi) = x.const.get(column, ZERO), x.err.get(column, NONE)
    for picked in product(*keys.values()):
        at, v = dict(zip(keys, picked, strict=True)), base
        for field, values in terms.items():
            i = where[field].get(_together(field, at), -1)
            need(i >= 0, "a row is missing")
            v += values.levels[values.at[i]]
        yield at, (v + lo, v + hi)


def _apart(field: Hashable, key: Any) -> At:
    """The rows of plain fields that a row of a field stands for."""
    if not isinstance(field, Joint):
        return {field: key}
    return {b: v for part, k in zip(field.fields, key, strict=True) for b, v in _apart(part, k).items()}


def _together(field: Hashable, at: At) -> Any:
    return tuple(_together(part, at) for part in field.fields) if isinstance(field, Joint) else at[field]


def _composition(asked: Spec | None, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """Token after token: what the last one writes are the digits of some numbers, in its own words.

    The token behind it consists of these numbers, said in its words: as numbers of the token before it.
    """
    if asked is None or not 1 <= steps <= len(asked.classes):
        raise Refused("no chain of so many steps")
    (answer,), length = asked.answer, sum(asked.segments)
    new = [Class(f"step{k}", length + k - 1, 0, 1, 1, 0, 1 << digits.bits) for k in range(1, steps + 1)]
    c, least, written = next(c for c in asked.classes if c.name == "w"), [], dict[str, tuple[Piece, ...]]()
    if not isinstance(answer, Number):
        raise Refused("the answer is no number")
    for k in range(steps + 1):
        text = replace(asked, segments=(*asked.segments, *(1,) * k), classes=(*asked.classes, *new[:k]))
        state = forward(replace(text, written=written, later=(1,) * (steps - k)))
        pieces, gap = _pieces(state, c, state.x[c.name], digits)
        least.append(gap)
        if k < steps:
            written[new[k].name] = tuple(p._replace(number=_behind(p.number, c, new[k])) for p in pieces)
            c, answer = new[k], _behind(answer, c, new[k])
    need([(p.start, p.number) for p in pieces] == [(0, answer)], "another answer")
    return min(least)


def _behind(n: Number, c: Class, behind: Class) -> Number:
    """A number of the one token of class c, in the words of the one token of a class behind it."""
    (said,) = moved(Vec({}, {n: Rows((0,), {})}), c, NO_FACTS, behind).terms
    if not isinstance(said, Number):
        raise Refused("several numbers at once are written")
    return said


def _pieces(state: State, c: Class, x: Vec, digits: Digits) -> tuple[tuple[Piece, ...], Fraction]:
    """The numbers whose bits stand in the digits one after the other; digits that are 0 may follow them."""
    runs: list[list[tuple[int, Number, int]]] = []  # position, field, bit: consecutive bits of one number
    ends: list[Fraction] = []
    for i in range(digits.bits):
        ends += [
            (2 * v - 1) * state.f.rn(2 * (v + e) - 1)
            for v in (0, 1)
            for e in x.err.get(digits.first + i, NONE)
        ]
        found = _bit(x, digits.first + i, f"digit {i}")
        if found is None:
            continue
        if runs and _follows(runs[-1][-1], i, *found):
            runs[-1].append((i, *found))
        else:
            need(found[1] == 0, f"digit {i} is a bit without those below it")
            runs.append([(i, *found)])
    need(bool(runs), "nothing is written")
    pieces, stops = [], [*(run[0][0] for run in runs[1:]), digits.bits]
    for run, stop in zip(runs, stops, strict=True):
        (start, low, _), (_, high, _) = run[0], run[-1]
        number = state.plain(Number(low.of, low.div, high.div // low.div * high.mod), c)
        need(state.span(Part(number), c)[1] <= 1 << len(run), "a number has more bits than are written")
        pieces.append(Piece(start, stop - start, number))
    return tuple(pieces), digits.margin(ends, state.f)


def _bit(x: Vec, column: int, where: str) -> tuple[Number, int] | None:
    """The number and its bit that a column is in every row, without its error; None if it is 0."""
    fields = {n: col for n, col in x.of(column).items() if len(col.levels) > 1}
    base = x.const.get(column, ZERO)
    base += sum((col.levels[0] for col in x.of(column).values() if len(col.levels) == 1), ZERO)
    if not fields:
        need(base == 0, f"{where} is constant")
        return None
    need(len(fields) == 1, f"{where} mixes fields")
    for n, col in fields.items():
        rows: list[tuple[Any, Fraction]] = list(zip(x.terms[n].keys, col.rows(), strict=True))
        for j in range(62) if isinstance(n, Number) else ():
            if isinstance(n, Number) and all(base + v == (r >> j & 1) for r, v in rows):
                return n, j
    raise Refused(f"{where} is no bit of a number")


def _follows(before: tuple[int, Number, int], i: int, n: Number, bit: int) -> bool:
    """Whether a bit stands right behind the next lower one: in the same field, or the field below is full."""
    at, low, j = before
    same = n == low and bit == j + 1
    return i == at + 1 and (
        same or (bit == 0 and n.of == low.of and n.div == low.div << j + 1 and low.mod == 2 << j)
    )


def _turing(steps: int, forward: Forward, digits: Digits, n: int, program: Any) -> Fraction:
    """Each token after the first is an act: write a symbol, move, go to a state.

    The digits of the word are acts, too ("write this, go right, in state 0"), so before the first act that
    the model writes, the head is on the blank behind the word.  At every act the rules give the head's cell
    and the cell written (`head_of`), and the symbol that now stands in the head's cell (`latest`).  The next
    token must be what the table says for this state and this symbol.  After enough acts the machine has
    halted, and keeps writing the symbol under its head: the last digit of that token is the answer.
    """
    need(program in PROGRAMS, "no rule speaks of this program")
    table = PROGRAMS[program]
    need(time(program, n) <= steps < 1 << 32, "the machine may not have halted")
    code = {
        (q, a): to[1] | to[2] << 2 | to[0] << 4
        for q in range(table.halt + 1)
        for a in range(3)
        for to in [table.step(q, a)]
    }
    ids, bits = frozenset({0, 1, *code.values()}), 4 + table.halt.bit_length()
    need(digits.bits == bits, "tokens of another size")
    token, size = Number(TOKEN, 1, 1 << bits), 1 << (n + 1).bit_length()
    classes = Class("first", 0, 0, 1, 1, 2, 3), Class("later", 1, 0, 1, n + steps, 0, 1 << bits)
    text = Spec(
        (1, n + steps), classes, ("later",), 2, (), machine=head_of(size, Number(TOKEN)), ids={"later": ids}
    )
    state = forward(text)
    read = Number(Cell("read", 3))
    also: Also = {token: sorted(ids), read: range(3)}
    return digits.by_rows(state.x["later"], state.f, also, lambda at: code[at[token] >> 4, at[read]])


def latest(ask: Ask, d: Class, blank: Class) -> Vec:
    """The symbol in the head's cell: of the latest token of d that wrote there, or else the blank's.

    Keys and queries agree in all digits iff the cell written is the head's.  Every score is a sum without
    error, which is rounded once or not at all, all scores alike.  Whoever agrees scores `base` and what its
    place adds, which rises from place to place: the latest is ahead of the others who agree, of all who do
    not, and of the blank; if nobody agrees, the blank is ahead of all.  This is seen on exact scores and on
    rounded ones (rounding is monotone, so the ends suffice).  Then L3.
    """
    state, scores, there = ask.state, ask.scores(d), ask.scores(blank)
    m, machine = Match.of(scores), state.spec.machine
    if machine is None or not {"head", "wrote"} <= machine.cells.keys():
        raise Refused("there is no tape")
    head, wrote = (Number(machine.cells[i]) for i in ("head", "wrote"))
    need(relation(state, m, ask.c, d) == {Equal(wrote, head)}, "it does not look for the head's cell")
    need(
        ask.c == d and {*ask.seen} == {d, blank} and blank.count == 1 and ask.before(blank), "no blank alone"
    )
    fixed = [*there.B.values(), *there.A.values(), *m.gain.values()]
    exact = scores.rounded_once and there.rounded_once and not there.S
    need(exact and all(len(set(levels)) == 1 for levels in fixed), "scores that vary")
    base = scores.s + sum((gain[0] for gain in m.gain.values()), ZERO)
    none = there.s + sum((levels[0] for levels in fixed[: -len(m.gain) or None]), ZERO)
    adds = _added({y: b for y, b in scores.B.items() if y not in {z for _, z, _ in m.pairs}}, scores, d)
    stray = []
    for done in (Fraction, ask.f.rn):  # as it is, or rounded
        agree, blanks = [done(base + v) for v in adds], done(none)
        miss = done(base + max(adds) - (m.cost or ZERO))
        behind = [ask.weight(d.count, min(b - a for a, b in pairwise(agree)))] if d.count > 1 else []
        behind += [ask.weight(d.count, agree[0] - miss), ask.weight(1, agree[0] - blanks)]
        stray += [sum(behind, ZERO), ask.weight(d.count, blanks - miss)]
    return ask.blurred(_symbols(ask.head.value[d.name], ask.head.value[blank.name]), max(stray))


def _added(free: Mapping[Hashable, list[Fraction]], scores: Scores, d: Class) -> list[Fraction]:
    """What each place adds to a score; nothing else does."""
    need(d.count <= _PLACES and d.step == 1, "too many places to look at")
    adds = [ZERO] * d.count
    for y, b in free.items():
        if len(set(b)) == 1:
            adds = [v + b[0] for v in adds]
            continue
        if not isinstance(y, Number) or y.of != PLACE or not y.mod:
            raise Refused("more than the place changes scores")
        row = dict(zip(scores.k.terms[y].keys, b, strict=True))
        adds = [v + row[(d.start + i) // y.div % y.mod] for i, v in enumerate(adds)]
    return adds


def _symbols(v: Vec, none: Vec) -> Vec:
    """The value as a function of the symbol, of tokens and of the blank, whose symbol is 2."""
    need(len(v.terms) <= 1 and not v.err and not none.err, "values of several numbers, or not exact")
    columns: dict[int, dict[int, Fraction]] = {}
    for c in v.columns() | none.columns():
        blank = none.const.get(c, ZERO) + sum((col.levels[0] for col in none.of(c).values()), ZERO)
        need(len(none.values(c)[0]) == 1, "the blank's value varies")
        columns[c] = {2: blank}
        for n, rows in v.terms.items():
            need(isinstance(n, Number) and n.of == TOKEN and n.div == 1 and n.mod % 4 == 0, "no symbols")
            values = rows.columns[c].rows() if c in rows.columns else [ZERO] * len(rows.keys)
            for key, value in zip(rows.keys, values, strict=True):
                if not isinstance(key, int):
                    raise Refused("no symbols")
                got = v.const.get(c, ZERO) + value
                need(columns[c].setdefault(key % 4, got) == got, "a symbol has two values")
        need(columns[c].keys() == {0, 1, 2}, "a symbol has no value")
    made = {c: Column.of([values[a] for a in range(3)]) for c, values in columns.items()}
    return Vec({}, {Number(Cell("read", 3)): Rows((0, 1, 2), made)}).tidy()


def _three_sum(steps: int, forward: Forward, digits: Digits, blocks: Any, n: int, M: int) -> Fraction:
    """x_0 … x_{n-1}, q, then s_0 … s_{n-1}:  s_t = 2·E(x_t, q) + [there is a hit at some j < t].

    E writes the sums of two numbers' blocks of bits side by side, each with a bit more.  A hit at j is a
    k ≠ j with x_j + x_k + q ≡ 0 modulo M.  At q and at s_t the rules give q and the x that is next, x_0 and
    x_{(t+1) mod n} (`pair`), and at s_t whether there is a hit at t (`hit`).  The next token must be what
    this says, so at s_{n-1} its last digit says whether there was any hit.
    """
    typed(blocks, [int], "hints: blocks")
    D = (M - 1).bit_length()
    need(steps == n and M >= 3 and len(blocks) <= D and all(g >= 1 for g in blocks), "no chain of n steps")
    need(
        n <= _ROWS and sum(blocks) == D <= 8 and digits.bits == 1 + D + len(blocks),
        "other blocks than its digits",
    )
    starts = list(accumulate(blocks, initial=0))[:-1]

    def beside(sums: Iterable[int]) -> int:
        return sum(s << b + i for i, (s, b) in enumerate(zip(sums, starts, strict=True)))

    rows = list(product(*(range((2 << g) - 1) for g in blocks)))
    total = {beside(row): sum(s << b for s, b in zip(row, starts, strict=True)) for row in rows}
    x, q, s = (
        Class("x", 0, 0, 1, n, 0, M),
        Class("q", n, 0, 1, 1, 0, M),
        Class("s", n + 1, 0, 1, n, 0, 1 << digits.bits),
    )
    ids = frozenset(2 * e + flag for e in total for flag in (0, 1))
    state = forward(Spec((n, 1, n), (x, q, s), ("s",), 2, (), ids={"s": ids}))
    partner = tuple((e, -total[e] % M) for e in sorted(total))
    facts: Any = frozenset({("hit", Number(TOKEN, 2), partner)})
    found = Number(TOKEN, 1, 2), Number(Exists("x", facts))
    following = tuple((t, (t + 1) % n) for t in range(n))
    first, then = Cell(("at", "x", None, 0), M), Cell(("at", "x", Number(PLACE), following), M)
    least = []
    for name, summand, flags in (("q", first, ()), ("s", then, found)):
        pair = Number(summand, 1, 1 << D), Number(Cell("q", M), 1, 1 << D)

        def right(at: At, pair: tuple[Number, ...] = pair, flags: tuple[Number, ...] = flags) -> int:
            sums = [sum((at[i] >> b) % (1 << g) for i in pair) for b, g in zip(starts, blocks, strict=True)]
            return 2 * beside(sums) + any(at[i] for i in flags)

        also: Also = dict.fromkeys(pair, range(M)) | dict.fromkeys(flags, (0, 1))
        least.append(digits.by_rows(state.x[name], state.f, also, right))
    return min(least)


class Asked(NamedTuple):
    """The key number asked for: by rows (query number, key number) of `by`; or by nobody, always `rows`."""

    by: Number | None
    rows: Any
    cost: Fraction
    base: Fraction
    gain: Gain


def _asked(ask: Ask, scores: Scores, d: Class, of: Any, skip: frozenset[Hashable]) -> Asked:
    """The digit that scores best, for every digit of a number: by rows of one field, or always the same."""
    m, base, digits = Match.of(scores, skip), scores.s, list[tuple[Number, Any, Any]]()
    costs = [m.cost] if m.cost is not None else []
    for y, b in scores.B.items():
        coupled, ranked = [(x, π) for x, z, π in m.pairs if z == y], sorted(b)
        if y in skip or (not coupled and ranked[0] == ranked[-1]):
            base += ZERO if y in skip else b[0]
            continue
        if not isinstance(y, Number) or y.of != of:
            raise Refused("another number is asked for")
        if coupled:
            digits.append((y, *coupled[0]))
        else:
            digits.append((y, None, scores.k.terms[y].keys[b.index(ranked[-1])]))
            costs.append(ranked[-1] - ranked[-2])
            base += ranked[-1]
    digits.sort(key=lambda digit: digit[0].div)
    weights = list(accumulate((y.mod for y, _, _ in digits), mul, initial=1))
    need([y.div for y, _, _ in digits] == weights[:-1], "a digit is left out")
    need(ask.state.plain(Number(of, 1, weights[-1]), d).mod == 0, "a digit is left out")
    need(min(costs, default=ZERO) > 0, "nothing is asked for")
    fields = {x for _, x, _ in digits if x is not None}
    need(len(fields) <= 1, "several fields ask for one number")
    for x in fields:
        need(isinstance(x, Number), "several numbers at once ask")
        keys = ask.q.terms[x].keys
        rows = tuple((a, sum((b if z is None else b[a]) * y.div for y, z, b in digits)) for a in keys)
        return Asked(ask.state.plain(x, ask.c), rows, min(costs), base, m.gain)
    return Asked(None, sum(b * y.div for y, _, b in digits), min(costs), base, m.gain)


def pair(ask: Ask, d: Class, e: Class) -> Vec:
    """Half of THE token of d at the place asked for, half of the one of e: they score the same, exactly.

    Both weigh e^0 = 1, and 2 and the means of their values are exact in any sum, so L3 holds with their mean
    for v and 2σ for σ: a sum that holds one of them, or both, errs by no more than what else is in it, so the
    normaliser is 2 ≤ Z ≤ 2 + 4σ', the others add 4σ' of the largest value to a sum of values, and 1/Z is
    rounded to 1/2 where it was to 1.  The cell that is read says the class, who asks, and for which places.
    """
    scores, other = ask.scores(d), ask.scores(e)
    asked = _asked(ask, scores, d, PLACE, frozenset())
    numbers = [asked.rows] if asked.by is None else [b for _, b in asked.rows]
    there = min(numbers) >= 0 and max(numbers) < d.count and (d.start, d.step) == (0, 1)
    need(there, "there is no such token")
    need(ask.before(d) and ask.before(e) and e.count == 1 and not other.S, "it may come later")
    apart, same = asked.base - other.s - sum((b[0] for b in other.B.values()), ZERO), True
    for x, gain in asked.gain.items():
        levels = set(map(Fraction.__sub__, gain, other.A[x]))
        apart, same = apart + min(levels), same and len(levels) == 1
    same = same and all(len(set(b)) == 1 for b in other.B.values()) and not scores.err and not other.err
    need(same and apart == 0, "two tokens do not score the same")
    stray = ask.others({d, e}, asked.base, asked.gain, ZERO)
    stray += ask.weight(d.count - 1, asked.cost) if d.count > 1 else ZERO
    for column in ask.head.columns:
        values = [v for v in (ask.head.value[d.name], ask.head.value[e.name]) if v.cap(column)]
        steps, total = [v.step(column) for v in values], sum((v.cap(column) for v in values), ZERO)
        known = total == 0 or None not in steps
        step = min(filter(None, steps), default=ONE)
        need(known and not ask.f.inside(total / 2, 2, step / 2), "sums not exact")
    half, read = Vec(), Cell(("at", d.name, asked.by, asked.rows), d.high)
    for name, cell in ((d.name, read), (e.name, Cell(e.name, e.high))):
        half = half.joined(_halved(ask.head.value[name], cell))
    return ask.blurred(half, 2 * stray)


def _halved(v: Vec, cell: Cell) -> Vec:
    """Half of a value that depends on the token's id, which is known as a cell."""
    need(not v.err, "values that are not exact")
    terms: dict[Hashable, Rows] = {}
    for n, rows in v.terms.items():
        if not isinstance(n, Number) or n.of != TOKEN:
            raise Refused("something else than ids is read")
        half = {c: Column(tuple(a / 2 for a in col.levels), col.at) for c, col in rows.columns.items()}
        terms[replace(n, of=cell)] = Rows(rows.keys, half)
    return Vec({c: a / 2 for c, a in v.const.items()}, terms)


def hit(ask: Ask, d: Class, blank: Class) -> Vec:
    """R2 and R9 where a token asks for an id by rows of a table, at another place than its own."""
    need({d, blank} <= {*ask.seen}, "a class that is not seen")
    return exists(ask, d, blank, _elsewhere)


def _elsewhere(ask: Ask, d: Class, blank: Fraction) -> On:
    """By all digits of the place: what they score at its own, more at another one at least, and at most.

    A digit of the place meets itself alone: no other field of the query speaks to it, and it speaks to no
    other field of the key.  So a score is what the digits of the id add (`_asked`) and what these add.  They
    are digits in mixed radix, and all of them: two places differ in one.
    """
    scores, c, own = ask.scores(d), ask.c, dict[Hashable, tuple[Fraction, Fraction, Fraction]]()
    need((c.start, c.step, c.count) == (d.start, d.step, d.count) == (0, 1, d.count), "other places")
    pairs = [x for x, y in scores.S if x == y and isinstance(x, Number) and x.of == PLACE]
    need(all(x == y or not {x, y} & {*pairs} for x, y in scores.S), "a place and other fields meet")
    weight = 1
    for x in sorted(pairs, key=lambda x: x.div):
        need(x.div == weight and x.mod > 1, "a digit of the place is left out")
        asks, keys = scores.q.terms[x].keys, scores.k.terms[x].keys
        A, B = (dict(zip(*side, strict=True)) for side in ((asks, scores.A[x]), (keys, scores.B[x])))
        scored = [(a == b, A[a] + B[b] + v) for a, b, v in scores.S[x, x].all(asks, keys)]
        here, apart = ({v for same, v in scored if same is there} for there in (True, False))
        need(len(here) == 1 and min(apart, default=ZERO) > min(here), "its own place is not excluded")
        own[x], weight = (min(here), min(apart) - min(here), max(apart)), weight * x.mod
    whole = ask.state.plain(Number(PLACE, 1, weight), c).mod == 0
    need(bool(own) and whole, "a digit of the place is left out")
    asked = _asked(ask, scores, d, TOKEN, frozenset(own))
    gain = asked.gain | {x: [ZERO] * len(scores.A[x]) for x in own}  # it is in `own`
    same, most = (sum((scored[i] for scored in own.values()), asked.base) for i in (0, 2))
    facts: Any = frozenset({("hit", asked.by, asked.rows)})
    low, off = same + min(more for _, more, _ in own.values()), max(most - asked.cost, same)
    return On(facts, low, off, gain, scores.err, even=False)


RULES = {"latest": latest, "pair": pair, "hit": hit}
