"""A class of tokens asks a softmax head whether there is such a token, which, how many (R2, R8, R9, R10)."""

from collections import namedtuple
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import product
from math import prod

from limen_check.can.rational import Rational
from limen_check.can.rules.attention import Ask, moved
from limen_check.can.scores import Match, Scores, matched
from limen_check.can.tasks import NO_FACTS, OTHER, PLACE, TOKEN, Class, Facts, Listed, Number, Read, listed
from limen_check.can.vectors import ONE, ZERO, Column, Form, Format, Vec, above, level, power
from limen_check.files import Refused, need

# Who satisfies the facts scores gain + low or more, any other token of the class gain + off or less; `even`:
# those that satisfy the facts score the same, exactly.
On = namedtuple("On", "facts low off gain err even")
Case = tuple[Fraction, bool]  # the weight off the tokens that count, relative to them; an exact normaliser


def wanted(ask: Ask, d: Class, blank: Fraction, rows: bool) -> On:
    """Who of d is asked for, where the blank scores so much: by digits or rows, R9, or the keys alone."""
    scores = ask.scores(d)
    if not scores.S:
        return _among(ask, scores, d, blank)
    own = _own_place(ask, scores, d)
    m = matched(scores, own)
    need(m.cost is not None, "the keys do not vary")
    facts, err = (ask.mapped if rows else ask.relation)(m, d), scores.err
    low, off = scores.s + m.low, scores.s + m.high
    if not own:
        return On(facts, low, off - (m.cost or ZERO), m.gain, err, not err and low == off)
    here, _, most = (sum(column, ZERO) for column in zip(*own.values(), strict=True))
    low += here + min(apart for _, apart, _ in own.values())
    off = max(off - (m.cost or ZERO) + most, off + here)  # another digit, or its own place
    gain = sum((g.least for g in m.gain.values()), ZERO)
    if scores.rounded_once and all(g.fixed for g in m.gain.values()):  # and rounding is monotone
        err, low = ZERO, min(low, ask.f.rn(low + gain) - gain)
        off = max(off, ask.f.rn(off + gain) - gain)
    return On(facts | {OTHER}, low, off, m.gain, err, even=False)


def _own_place(ask: Ask, scores: Scores, d: Class) -> dict[Hashable, tuple[Fraction, Fraction, Fraction]]:
    """R9, digits of the place: the score on one's own, what another gains at least, the highest score."""
    digits, weight, whole, c = dict[Hashable, tuple[Fraction, Fraction, Fraction]](), 1, False, ask.c
    pairs = [x for x, y in scores.S if x == y and isinstance(x, Number) and x.of == PLACE]
    if (c.start, c.step, c.count) != (d.start, d.step, d.count):
        return {}
    sides = (scores.q, scores.A), (scores.k, scores.B)
    for name in sorted(pairs, key=lambda x: x.div):
        rows = product(*(zip(x.keys[name], side[name].rows(), strict=True) for x, side in sides))
        inner = zip(rows, scores.S[name, name].fractions(), strict=True)
        all_of = [(a == b, A + B + v) for ((a, A), (b, B)), v in inner]
        same, other = {v for here, v in all_of if here}, [v for here, v in all_of if not here]
        if len(same) != 1 or not other or min(other) <= min(same):
            return {}
        need(name.div == weight, "a digit of the place is left out")
        weight, whole = weight * name.mod, not ask.state.plain(Number(PLACE, 1, weight * name.mod), c).mod
        digits[name] = min(same), min(other) - min(same), max(other)
    alone = all(x == y or not {x, y} & digits.keys() for x, y in scores.S)
    need(alone and (whole or not digits), "a digit of the place is left out, or meets another field")
    return digits


def _among(ask: Ask, scores: Scores, d: Class, blank: Fraction) -> On:
    """The keys alone decide: all rows of the fields that vary, above the blank or below."""
    varies = {y: b.rows() for y, b in scores.B.items() if not b.fixed}
    need(prod(map(len, varies.values())) <= 1 << 16, "too many rows are asked for")
    base = scores.s + sum((b.least for y, b in scores.B.items() if y not in varies), ZERO)
    fields, keys = scores.k.flat(varies)
    numbers = [ask.state.plain(n, d) for n in fields]
    need(len(set(numbers)) == len(numbers) > 0, "nothing is asked for, or one number by two fields")
    rows = {key: sum(v, base) for key, v in zip(keys, product(*varies.values()), strict=True)}
    on = {row for row, v in rows.items() if v > blank}
    need(0 < len(on) < len(rows), "all are asked for, or none")
    low, off = min(rows[row] for row in on), max(v for row, v in rows.items() if row not in on)
    even = not scores.err and len({rows[row] for row in on}) == 1
    return On(frozenset({listed(*numbers, rows=on)}), low, off, scores.A, scores.err, even)


def _cases(ask: Ask, d: Class, blank: Class, rows: bool, same: set[Class]) -> tuple[On, Case, Case]:
    """Who is asked for; the weight off the blank if there is none, and outside d if there is one.

    Those that have the same value as the blank, and may score as much, are no weight off the blank.
    """
    need(blank != d and (ask.before(blank) or blank == ask.c), "no blank, or later")  # a token sees itself
    there = ask.scores(blank)
    need(not there.S, "the blank's score varies")
    base = there.s + sum((b.least for b in there.B.values()), ZERO)
    on = wanted(ask, d, base, rows)
    yes = ask.elsewhere([d], on.low, on.gain, on.err)
    apart = on.even and on.low > on.off
    alone = apart and 16 * (yes + ask.weight(d.count, on.low - on.off)) < ask.f.acc  # as in R10
    alike = [e for e in same if ask.behind(e, base, there.A, there.err) <= 0]
    ahead = sum((on.gain[x].plus(a, -ONE).most for x, a in there.A.items()), ZERO)
    gap = base - on.off - ahead - on.err - there.err
    no = ask.elsewhere([d, blank, *alike], base, there.A, there.err, d.count, gap)
    even = not alike and not there.err and all(b.fixed for b in there.B.values()) and 16 * no < ask.f.acc
    return on, (no / (blank.count if ask.before(blank) else 1), even), (yes, alone)


def asked_for(ask: Ask, d: Class, blank: Class) -> Facts:
    """What R2 says of who is asked for."""
    facts: Facts = _cases(ask, d, blank, False, set())[0].facts
    return facts


def one_value(v: Vec) -> dict[int, Fraction]:
    """The value of all tokens of a class."""
    need(v.exact and all(len(v.keys[name]) == 1 for name in v.terms), "values vary")
    return {c: form.ends[0] for c, form in v.forms.items()}


def exists(ask: Ask, d: Class, blank: Class, rows: bool = False) -> Vec:
    """R2: all of d has the value v, the blank has v', no value is negative; which of them is read says it."""
    need(4 * ask.state.length * ask.f.acc <= 1, "the input is too long for sums in this precision")
    values = {e.name: one_value(ask.value[e.name]) for e in ask.seen}
    same = {e for e in ask.seen if e not in (d, blank) and values[e.name] == values[blank.name]}
    on, *cases = _cases(ask, d, blank, rows, same)
    lost = max(power(-18), ask.state.length * power(ask.f.least - ask.f.t))  # weights that are subnormal
    a_sum = 1 - ask.state.length * ask.f.acc - lost
    slack = [(1 + ask.f.u) ** 4 / a_sum ** (1 if exact else 2) for _, exact in cases]
    columns, err = {}, {}
    for c in ask.columns:
        all_of = {name: v.get(c, ZERO) for name, v in values.items()}
        need(min(all_of.values()) >= 0, "negative values")
        pair = all_of[blank.name], all_of[d.name]
        each, most = list(zip(pair, cases, slack, strict=True)), max(all_of.values())
        low = min(v / (1 + stray) / more - v for v, (stray, _), more in each)
        high = max((v + stray * most) * more - v for v, (stray, _), more in each)
        columns[c], err[c] = Column.of(pair), (-above(-low) - ask.dust(c), above(high) + ask.dust(c))
    how = (
        "exists" if d.before(ask.c) or not ask.both else "anywhere"
    )  # who sees later tokens, or earlier ones
    return Vec.table(Number(Read(how, d.name, on.facts)), (0, 1), columns).plus(Vec.of({}, err))


def hit(ask: Ask, d: Class, blank: Class) -> Vec:
    """R2 where who is asked for is said by rows, not by digits."""
    return exists(ask, d, blank, rows=True)


def found(ask: Ask, d: Class, blank: Class) -> Vec:
    """R8: R2 where at most one token is asked for, so that L3 gives its value, or else the blank's."""
    on, (off_blank, _), (off_d, _) = _cases(ask, d, blank, False, set())
    need(ask.promised("at most one", d, on.facts), "several tokens may be asked for")
    need(d.before(ask.c) and ask.before(blank) and blank.count == 1, "it may come later")
    off_d += ask.weight(d.count - 1, on.low - on.off - 2 * on.err)
    v, none = ask.value[d.name], one_value(ask.value[blank.name])
    number = next(iter(v.terms), Number(TOKEN, 1, 1))
    if len(v.terms) > 1 or not isinstance(number, Number):
        raise Refused("the value has several fields")
    keys, zero = tuple(range(number.mod + 1)), level(ZERO, number.mod)  # the last: there is none
    need(v.keys.get(number, (0,)) == keys[:-1], "a value is left out")
    columns, err = {}, {}
    for c in ask.columns:
        here = [x + v[c].const for x in v[c].terms.get(number, zero).rows()]
        columns[c] = Column.of([*here, none.get(c, ZERO)])
        err[c] = min(ZERO, v[c].err[0]), max(ZERO, v[c].err[1])  # the blank has none
    got = Vec.table(Number(Read("found", d.name, on.facts, number)), keys, columns).plus(Vec.of({}, err))
    return ask.blurred(got, max(off_blank, off_d))


def share(ask: Ask, d: Class) -> Vec:
    """R10: tokens with exactly the highest score, all of some classes and κ of d, share the weight alike."""
    scores, value = ask.scores(d), ask.value[d.name]
    m = matched(scores)
    need(scores.err == 0 and m.low == m.high and ask.before(d), "scores that vary, or later")
    base, facts = scores.s + m.low, ask.relation(m, d)
    on = [e for e in ask.seen if e != d and ask.before(e) and ask.scores(e).exactly(base, m.gain)]
    missed = (0, ONE) if m.cost is None else (d.count, m.cost)
    stray = ask.elsewhere([d, *on], base, m.gain, ZERO, *missed)
    need(not m.pairs or bool(on), "nobody shares")
    facts, low, high = (facts, {}, one_value(value)) if facts else two_values(ask, value, d)
    rest, fixed = 0 if m.pairs else 1, sum(e.count for e in on)
    valued = sum(e.count for e in (d, *on) if any(v.cap for v in ask.value[e.name].forms.values()))
    need(d.count <= 1 << 20, "too many tokens share")
    stray *= (1 + ask.f.u) ** 4 * ask.state.grown
    uneven = evenly(ask.f, fixed + d.count, valued, stray, ask.state.length)
    columns, err, counts = {}, {}, tuple(range(d.count + 1))
    for c in ask.columns:
        always = sum((e.count * one_value(ask.value[e.name]).get(c, ZERO) for e in on), ZERO)
        one, two, all_of = high.get(c, ZERO), low.get(c, ZERO), fixed + rest * d.count
        sums = [always + κ * one + rest * (d.count - κ) * two for κ in counts]
        columns[c] = Column.of([v / (all_of + (1 - rest) * κ) for κ, v in enumerate(sums)])
        off, (lo, hi) = above(uneven * ask.cap(c)) + ask.dust(c), value[c].err
        err[c] = min(ZERO, lo) - off, max(ZERO, hi) + off
    return Vec.table(Number(Read("count", d.name, facts)), counts, columns).plus(Vec.of({}, err))


def evenly(f: Format, sharers: int, valued: int, stray: Fraction, length: int) -> Fraction:
    """R10: how far what is read is from the mean of those that share, in sizes of the largest value.

    So many share, so many of them have a value that is not 0; all others of the text weigh `stray`.
    """
    need(8 * sharers * f.acc <= 1, "the input is too long for sums in this precision")
    need(stray < Rational(1, 64), "too much weight elsewhere")
    normaliser = 0 if 16 * stray < f.acc else 4 * stray + 2 * sharers * f.acc
    normaliser += length * power(f.least - f.t)  # weights that are subnormal
    need(normaliser < Rational(1, 2), "too many weights are subnormal")
    return (1 + f.u) ** 2 / (1 - (valued + 8) * f.acc - normaliser) - 1 + 4 * stray


def two_values(ask: Ask, v: Vec, d: Class) -> tuple[Facts, dict[int, Fraction], dict[int, Fraction]]:
    """A value that is one thing in some rows of one number, and another in the others."""
    need(len(v.terms) == 1, "not one number decides the value")
    (columns,), (fields, keys) = v.terms.values(), v.flat(v.terms)
    patterns = list(zip(*(column.at for column in columns.values()), strict=True))
    need(len(set(patterns)) == 2, "not two values")
    other = next(i for i, pattern in enumerate(patterns) if pattern != patterns[0])
    at = [(c, form.const, columns.get(c, level(ZERO, len(keys)))) for c, form in v.forms.items()]
    low, high = ({c: const + x.levels[x.at[i]] for c, const, x in at} for i in (0, other))
    chosen = frozenset(key for key, pattern in zip(keys, patterns, strict=True) if pattern != patterns[0])
    return frozenset({Listed(tuple(ask.state.plain(n, d) for n in fields), chosen)}), low, high


def _placed(ask: Ask, d: Class, m: Match) -> Facts:
    """The one token of d at the place that rows say, or that is best whoever asks."""
    facts = ask.mapped(m, d)
    (place_of,) = facts
    if not isinstance(place_of, Listed) or place_of.keys[0].of != PLACE:
        raise Refused("no place is asked for")
    there = all(0 <= place < d.count for _, place in place_of.rows) and (d.start, d.step) == (0, 1)
    need(there, "there is no such token")
    need(ask.before(d), "it may come later")
    return facts


def row(ask: Ask, d: Class) -> Vec:
    """R1 where rows say the place: the value of that token of d."""
    scores = ask.scores(d)
    m = matched(scores, nobody=True)
    facts, gap = _placed(ask, d, m), (m.cost or ZERO) - (m.high - m.low) - 2 * scores.err
    stray = ask.elsewhere([d], scores.s + m.low, m.gain, scores.err, d.count - 1, gap)
    return ask.blurred(moved(ask.value[d.name], d, facts, ask.c), stray)


def pair(ask: Ask, d: Class, e: Class) -> Vec:
    """Half of THE token of d at the place asked for, half of the one of e: they score the same, exactly."""
    scores, m = ask.scores(d), matched(ask.scores(d), nobody=True)
    facts, base = _placed(ask, d, m), scores.s + m.low
    need(ask.state.short and ask.before(e) and e.count == 1 and d != e, "it may come later")
    same = m.low == m.high and not scores.err and ask.scores(e).exactly(base, m.gain)
    need(same, "two tokens do not score the same")
    stray = ask.elsewhere([d, e], base, m.gain, ZERO, d.count - 1, m.cost or ZERO)
    both = ask.value[d.name], ask.value[e.name]
    need(both[0].exact and both[1].exact, "values that are not exact")
    for c in ask.columns:
        steps, sizes = [v[c].step for v in both if v[c].cap], sum((v[c].cap for v in both), ZERO)
        known = None if None in steps else min(filter(None, steps), default=ONE) / 2
        need(not ask.f.inside(sizes / 2, 2, known), "sums not exact")
    read = moved(both[0], d, facts, ask.c).plus(moved(both[1], e, NO_FACTS, ask.c))
    return ask.blurred(read.each(lambda form: Form.sum([(form, Rational(1, 2))])), 2 * stray)


RULES: dict[str, tuple[Callable[..., Vec], int]] = {  # and of how many classes they speak
    "exists": (exists, 2),
    "hit": (hit, 2),
    "found": (found, 2),
    "pair": (pair, 2),
    "row": (row, 1),
    "share": (share, 1),
}
