"""A class of tokens asks a softmax head whether there is such a token, which, how many (R2, R8, R9, R10)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

from limen_check.attention import Ask, Gain, Match, Scores, mapped, relation
from limen_check.files import Refused, need
from limen_check.state import State
from limen_check.tasks import PLACE, TOKEN, Among, Count, Exists, Facts, Found, Number, Other
from limen_check.vectors import NONE, ONE, ZERO, Class, Column, Interval, Rows, Vec, above, power


class On(NamedTuple):
    """Who satisfies the facts scores gain + low or more, any other token of the class gain + off or less."""

    facts: Facts
    low: Fraction
    off: Fraction
    gain: Gain
    err: Fraction
    even: bool  # those that satisfy the facts score the same, exactly


Reads = Callable[[State, Match, Class, Class], Facts]  # what it says that all digits agree


def _asked(ask: Ask, d: Class, blank: Fraction, facts_of: Reads) -> On:
    """Who of d is asked for, where the blank scores so much: by digits, R9, or by the keys alone."""
    scores = ask.scores(d)
    if not scores.S:
        return _among(ask, scores, d, blank)
    own = _own_place(ask, scores, d)
    m = Match.of(scores, own)
    facts, low, off = facts_of(ask.state, m, ask.c, d), scores.s + m.low, scores.s + m.high
    need(m.cost is not None, "the keys do not vary")
    if not own:
        return On(facts, low, off - (m.cost or ZERO), m.gain, scores.err, not scores.err and low == off)
    here, _, most = (sum(column, ZERO) for column in zip(*own.values(), strict=True))
    low += here + min(apart for _, apart, _ in own.values())
    off = max(off - (m.cost or ZERO) + most, off + here)  # another digit, or its own place
    err, gain = scores.err, sum((g.least for g in m.gain.values()), ZERO)
    if scores.rounded_once and all(g.fixed for g in m.gain.values()):  # and rounding is monotone
        err, low = ZERO, min(low, ask.f.rn(low + gain) - gain)
        off = max(off, ask.f.rn(off + gain) - gain)
    return On(facts | {Other()}, low, off, m.gain, err, even=False)


def _own_place(ask: Ask, scores: Scores, d: Class) -> dict[Hashable, tuple[Fraction, Fraction, Fraction]]:
    """R9, digits of the place: the score on one's own, what another gains at least, the highest score."""
    found: dict[Hashable, tuple[Fraction, Fraction, Fraction]] = {}
    weight, whole, c = 1, False, ask.c
    if (c.start, c.step, c.count) != (d.start, d.step, d.count):
        return {}
    pairs = [x for x, y in scores.S if x == y and isinstance(x, Number) and x.of == PLACE]
    for name in sorted(pairs, key=lambda x: x.div):
        asks, keys = scores.q.terms[name].keys, scores.k.terms[name].keys
        sides = (asks, scores.A[name].rows()), (keys, scores.B[name].rows())
        A, B = (dict(zip(*side, strict=True)) for side in sides)
        all_of = [(a == b, A[a] + B[b] + v) for a, b, v in scores.S[name, name].all(asks, keys)]
        same, other = {v for here, v in all_of if here}, [v for here, v in all_of if not here]
        if len(same) != 1 or not other or min(other) <= min(same):
            return {}
        need(name.div == weight, "a digit of the place is left out")
        weight, whole = weight * name.mod, not ask.state.plain(Number(PLACE, 1, weight * name.mod), c).mod
        found[name] = min(same), min(other) - min(same), max(other)
    alone = all(x == y or not {x, y} & found.keys() for x, y in scores.S)
    need(alone and (whole or not found), "a digit of the place is left out, or meets another field")
    return found


def _among(ask: Ask, scores: Scores, d: Class, blank: Fraction) -> On:
    """The keys alone decide: all rows of the fields that vary, above the blank or below."""
    varies = {y: b.rows() for y, b in scores.B.items() if not b.fixed}
    base = scores.s + sum((b.least for y, b in scores.B.items() if y not in varies), ZERO)
    numbers = ask.state.plain_row(tuple(varies), d)
    need(len(set(numbers)) == len(numbers) > 0, "nothing is asked for, or one number by two fields")
    need(prod(map(len, varies.values())) <= 1 << 16, "too many rows are asked for")
    order = sorted(range(len(numbers)), key=lambda i: repr(numbers[i]))
    rows, keys = {}, product(*(scores.k.terms[y].keys for y in varies))
    for key, v in zip(keys, product(*varies.values()), strict=True):
        flat = list(_flat(key))
        rows[tuple(flat[i] for i in order)] = sum(v, base)
    on = {row for row, v in rows.items() if v > blank}
    need(0 < len(on) < len(rows), "all are asked for, or none")
    facts = frozenset({Among(tuple(numbers[i] for i in order), frozenset(on))})
    low, off = min(rows[row] for row in on), max(v for row, v in rows.items() if row not in on)
    even = not scores.err and len({rows[row] for row in on}) == 1
    return On(facts, low, off, scores.A, scores.err, even)


def _flat(row: Any) -> Iterator[int]:
    if isinstance(row, tuple):
        for part in row:
            yield from _flat(part)
    else:
        yield row


class Case(NamedTuple):
    """The weight off the tokens that count, relative to them; whether the normaliser is exact, as in R10."""

    stray: Fraction
    exact: bool


def _cases(ask: Ask, d: Class, blank: Class, facts_of: Reads, same: set[Class]) -> tuple[On, Case, Case]:
    """Who is asked for; the weight off the blank if there is none, and outside d if there is one.

    Those that have the same value as the blank, and may score as much, are no weight off the blank.
    """
    need(blank != d and (ask.before(blank) or blank == ask.c), "no blank, or later")  # a token sees itself
    there = ask.scores(blank)
    need(not there.S, "the blank's score varies")
    base = there.s + sum((b.least for b in there.B.values()), ZERO)
    on = _asked(ask, d, base, facts_of)
    yes = ask.others([d], on.low, on.gain, on.err)
    apart = on.even and on.low > on.off
    alone = apart and 16 * (yes + ask.weight(d.count, on.low - on.off)) < ask.f.acc
    alike = [e for e in same if ask.behind(e, base, there.A, there.err) <= 0]
    no = ask.others([d, blank, *alike], base, there.A, there.err)
    ahead = sum((on.gain[x].plus(a, -ONE).most for x, a in there.A.items()), ZERO)
    no += ask.weight(d.count, base - on.off - ahead - on.err - there.err)
    even = not alike and not there.err and all(b.fixed for b in there.B.values()) and 16 * no < ask.f.acc
    return on, Case(no / (blank.count if ask.before(blank) else 1), even), Case(yes, alone)


def _fixed(v: Vec) -> dict[int, Fraction]:
    """The value of all tokens of a class."""
    need(not v.err and all(len(rows.keys) == 1 for rows in v.terms.values()), "values vary")
    return {c: form.ends[0] for c, form in v.forms.items()}


def _part(e: Interval) -> Interval:
    """An error, or any part of it."""
    return min(ZERO, e[0]), max(ZERO, e[1])


def exists(ask: Ask, d: Class, blank: Class, facts_of: Reads = relation) -> Vec:
    """R2: all of d has the value v, the blank has v', no value is negative; which of them is read says it."""
    need(ask.state.short, "the input is too long for sums in this precision")
    need(d.before(ask.c) or not ask.head.both, "later tokens are seen")  # Exists speaks of earlier ones
    need({d, blank} <= {*ask.seen}, "it comes later")
    values = {e.name: _fixed(ask.head.value[e.name]) for e in ask.seen}
    same = {e for e in ask.seen if e not in (d, blank) and values[e.name] == values[blank.name]}
    on, *cases = _cases(ask, d, blank, facts_of, same)
    lost = max(power(-18), ask.state.length * power(ask.f.least - ask.f.t))  # weights that are subnormal
    a_sum = 1 - ask.state.length * ask.f.acc - lost
    slack = [(1 + ask.f.u) ** 4 / a_sum ** (1 if case.exact else 2) for case in cases]
    columns, err = {}, {}
    for c in ask.head.columns:
        all_of = {name: v.get(c, ZERO) for name, v in values.items()}
        need(min(all_of.values()) >= 0, "negative values")
        pair = all_of[blank.name], all_of[d.name]
        each, most = list(zip(pair, cases, slack, strict=True)), max(all_of.values())
        low = min(v / (1 + case.stray) / more - v for v, case, more in each)
        high = max((v + case.stray * most) * more - v for v, case, more in each)
        columns[c], err[c] = Column.of(pair), (-above(-low) - ask.dust(c), above(high) + ask.dust(c))
    return Vec.of({}, {Number(Exists(d.name, on.facts)): Rows((0, 1), columns)}, err)


def hit(ask: Ask, d: Class, blank: Class) -> Vec:
    """R2 and R9 where a token asks for an id by rows of a table."""
    return exists(ask, d, blank, mapped)


def found(ask: Ask, d: Class, blank: Class) -> Vec:
    """R8: R2 where at most one token is asked for, so that L3 gives its value, or else the blank's."""
    on, none_there, one_there = _cases(ask, d, blank, relation, set())
    need(ask.promised("at most one", d, on.facts), "several tokens may be asked for")
    need(d.before(ask.c) and ask.before(blank) and blank.count == 1, "it may come later")
    rest = ask.weight(d.count - 1, on.low - on.off - 2 * on.err)
    v, none = ask.head.value[d.name], _fixed(ask.head.value[blank.name])
    need(len(v.terms) <= 1, "the value has several fields")
    number, rows = next(iter(v.terms.items()), (Number(TOKEN, 1, 1), Rows((0,), {})))
    if not isinstance(number, Number) or rows.keys != tuple(range(number.mod)):
        raise Refused("a value is left out")
    columns, known = {}, Number(Found(d.name, on.facts, number))
    for c in ask.head.columns:
        here = [x + v.form(c).const for x in rows.column(c).rows()]
        columns[c] = Column.of([*here, none.get(c, ZERO)])
    err = {c: _part(e) for c, e in v.err.items()}  # the blank has none
    got = Vec.of({}, {known: Rows((*rows.keys, number.mod), columns)}, err)
    return ask.blurred(got, max(none_there.stray, one_there.stray + rest))


def share(ask: Ask, d: Class) -> Vec:
    """R10: tokens with exactly the highest score, all of some classes and κ of d, share the weight alike."""
    scores = ask.scores(d)
    m = Match.of(scores)
    need(ask.state.short and d.count <= 1 << 20, "the input is too long for sums in this precision")
    need(scores.err == 0 and m.low == m.high and ask.before(d), "scores that vary, or later")
    base = scores.s + m.low
    on = [e for e in ask.seen if e != d and ask.before(e) and ask.scores(e).exactly(base, m.gain)]
    stray = ask.others([d, *on], base, m.gain, ZERO)
    stray += ZERO if m.cost is None else ask.weight(d.count, m.cost)
    need(stray < Fraction(1, 64) and (not m.pairs or bool(on)), "too much weight elsewhere, or nobody shares")
    facts = relation(ask.state, m, ask.c, d)
    value = ask.head.value[d.name]
    facts, low, high = (facts, {}, _fixed(value)) if facts else _two_values(ask, value, d)
    rest, fixed = 0 if m.pairs else 1, sum(e.count for e in on)
    valued = sum(e.count for e in ask.seen if any(v.cap for v in ask.head.value[e.name].forms.values()))
    uneven = 0 if 16 * stray < ask.f.acc else 2 * stray + 2 * (fixed + d.count) * ask.f.acc
    uneven += ask.state.length * power(ask.f.least - ask.f.t)  # weights that are subnormal
    slack = (1 + ask.f.u) ** 2 / (1 - (valued + 8) * ask.f.acc - uneven) - 1
    columns, err = {}, {}
    for c in ask.head.columns:
        always = sum((e.count * _fixed(ask.head.value[e.name]).get(c, ZERO) for e in on), ZERO)
        one, two, means = high.get(c, ZERO), low.get(c, ZERO), []
        for κ in range(d.count + 1):
            left = rest * (d.count - κ)
            means.append((always + κ * one + left * two) / (fixed + κ + left))
        off, (lo, hi) = above((slack + 2 * stray) * ask.cap(c)), _part(value.err.get(c, NONE))
        off += ask.dust(c)
        columns[c], err[c] = Column.of(means), (lo - off, hi + off)
    return Vec.of({}, {Number(Count(d.name, facts)): Rows(tuple(range(d.count + 1)), columns)}, err)


def _two_values(ask: Ask, v: Vec, d: Class) -> tuple[Facts, dict[int, Fraction], dict[int, Fraction]]:
    """A value that is one thing in some rows of one number, and another in the others."""
    need(len(v.terms) == 1, "not one number decides the value")
    ((name, rows),) = v.terms.items()
    patterns = list(zip(*(column.at for column in rows.columns.values()), strict=True))
    need(len(set(patterns)) == 2, "not two values")
    on = [pattern != patterns[0] for pattern in patterns]
    low, high = (dict(v.const) for _ in range(2))
    for c, column in rows.columns.items():
        low[c] = low.get(c, ZERO) + column.rows()[0]
        high[c] = high.get(c, ZERO) + column.rows()[on.index(True)]
    chosen = frozenset((key,) for key, is_on in zip(rows.keys, on, strict=True) if is_on)
    return frozenset({Among(ask.state.plain_row((name,), d), chosen)}), low, high
