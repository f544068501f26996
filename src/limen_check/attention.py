r"""A class of tokens asks a softmax head: scores, the softmax lemma, and looking up one token (R1, R3).

A score is  s + Σ A[a] + Σ B[b] + Σ S[a, b]  over the fields a of the query and b of the key, S a small table
for each pair, so "this key beats all others" is a statement about each table, whatever the number of tokens.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, product
from math import gcd, prod
from operator import mul
from typing import Any

from limen_check.files import expect, need
from limen_check.state import State
from limen_check.tasks import NO_FACTS, PLACE, TOKEN, At, Back, Equal, Facts, Mapped, Number, Part, Sum
from limen_check.vectors import (
    NONE,
    ONE,
    ZERO,
    Class,
    Column,
    Format,
    Joint,
    Matrix,
    Table,
    Vec,
    above,
    exp_above,
    power,
)

Gain = dict[Hashable, Column]  # for each query field what the reference scores by its row


class Scores:
    """⟨q, k⟩ of two classes, and how far a computed score may be from it (`err`)."""

    def __init__(self, q: Vec, k: Vec, f: Format) -> None:
        self.q, self.k, shared = q, k, q.forms.keys() & k.forms.keys()
        self.s = sum((v * k.const[c] for c, v in q.const.items() if c in k.const), ZERO)
        self.A = {x: _against(q, x, k.const) for x in q.terms}
        self.B = {y: _against(k, y, q.const) for y in k.terms}
        self.S: dict[tuple[Hashable, Hashable], Table] = {}
        for x, y in ((x, y) for x in q.terms for y in k.terms):
            table = Table.of(q.terms[x], k.terms[y])
            if table and len(k.terms[y].keys) == 1:  # then it is the query's alone
                self.A[x] = self.A[x].plus(table.best(Column.same(ZERO, 1)).top)
            elif table:
                self.S[x, y] = table
        pairs = [(q.forms[c], k.forms[c]) for c in shared]
        total = sum((x.cap * y.cap for x, y in pairs), ZERO)
        # (Q + e)(K + e') - QK = (Q + e)e' + K·e, and K, without its error, may be larger than K + e'
        self.err = sum((x.cap * y.width + y.size * x.width for x, y in pairs), ZERO)
        steps = [(x.step, y.step) for x, y in pairs if x.cap * y.cap]
        known = [a * b for a, b in steps if a and b]
        step = min(known, default=ONE) if len(known) == len(steps) else None
        self.err += f.inside(total, len(steps), step)
        self.rounded_once = not self.err and step is not None
        if self.err or step is None or total * f.u > step or step < power(f.least - f.t + 1):
            # else every score is a number of the format
            self.err = above(self.err + f.u * (total + self.err)) + power(f.least - f.t)

    def most(self, base: Fraction, gain: Gain) -> Fraction:
        """The largest (score - base - gain) over all rows of both."""
        B, rows = dict(self.B), {x: column.plus(gain[x], -ONE) for x, column in self.A.items()}
        for (x, y), table in self.S.items():
            rows[x] = rows[x].plus(table.tops(B.pop(y, Column.same(ZERO, len(self.k.terms[y].keys)))))
        return sum((column.most for column in (*rows.values(), *B.values())), self.s - base)

    def exactly(self, base: Fraction, gain: Gain) -> bool:
        """Whether every score is base + gain, and computed so."""
        level = [*self.B.values(), *(column.plus(gain[x], -ONE) for x, column in self.A.items())]
        exact = not self.S and not self.err and all(column.fixed for column in level)
        return exact and sum((column.most for column in level), self.s - base) == 0


def _against(x: Vec, name: Hashable, const: dict[int, Fraction]) -> Column:
    """The products of a field's rows with a constant vector."""
    rows = x.terms[name]
    parts = [(column, const[c]) for c, column in rows.columns.items() if const.get(c)]
    return Column.sum(parts) if parts else Column.same(ZERO, len(rows.keys))


@dataclass(frozen=True)
class Match:
    """A token with all digits asked for scores s + gain + [low, high]; others ≤ s + gain + high - cost.

    A pair is (query field, key field, which row of the key is asked for by a row of the query).
    """

    pairs: list[tuple[Any, Any, dict[Any, Any]]]
    cost: Fraction | None
    low: Fraction
    high: Fraction
    gain: Gain

    @classmethod
    def of(cls, scores: Scores, skip: Collection[Hashable] = (), nobody: bool = False) -> Match:
        """Each key field is asked for by at most one query field; those in `skip` are told elsewhere.

        What nobody asks for may vary freely; with `nobody` its best row is asked for, whoever asks.
        """
        pairs: list[tuple[Any, Any, dict[Any, Any]]] = []
        costs, low, high, gain = [], ZERO, ZERO, dict(scores.A)
        gain |= {x: Column.same(ZERO, len(scores.q.terms[x].keys)) for x in skip}
        for y, rows in ((y, rows) for y, rows in scores.k.terms.items() if y not in skip):
            coupled, B = [x for x, z in scores.S if z == y], scores.B[y]
            if not coupled and nobody and not B.fixed:
                (second, first), at = sorted(B.levels)[-2:], B.rows()
                need(at.count(first) == 1, "two rows are as good")
                pairs.append((None, y, {None: rows.keys[at.index(first)]}))
                costs.append(first - second)
                low, high = low + first, high + first
                continue
            if not coupled:
                low, high = low + B.least, high + B.most
                continue
            need(len(coupled) == 1, "a key field is asked for by two fields of the query")
            x = coupled[0]
            found = scores.S[x, y].best(B)
            gain[x] = gain[x].plus(found.top)
            costs.append(found.miss)
            asked = scores.q.terms[x].keys
            pairs.append((x, y, {a: rows.keys[b] for a, b in zip(asked, found.choice, strict=True)}))
        return cls(pairs, min(costs, default=None), low, high, gain)


@dataclass(frozen=True)
class Head:
    """Keys and values of all classes, and which columns a value has.  `both`: later tokens are seen, too."""

    state: State
    key: dict[str, Vec]
    value: dict[str, Vec]
    columns: frozenset[int]
    both: bool

    @classmethod
    def of(cls, state: State, K: Matrix, V: Matrix, both: bool) -> Head:
        """Weights are at most 1, perhaps before they are divided by their sum: so are n of them at most n."""
        key, value = ({c.name: state.x[c.name].times(W, state.f) for c in state.text} for W in (K, V))
        largest = max((v.form(c).cap for v in value.values() for c in v.forms), default=ZERO)
        need(2 * state.length * state.grown * largest <= state.f.most, "a sum of values overflows")
        return cls(state, key, value, frozenset(V), both)


class Ask:
    """The tokens of class c ask a head with the query q; no score overflows, whatever is claimed of it."""

    def __init__(self, head: Head, c: Class, Q: Matrix) -> None:
        self.head, self.c, self.state, self.f = head, c, head.state, head.state.f
        self.q, self._scores = self.state.x[c.name].times(Q, self.f), dict[str, Scores]()
        caps = {i: self.q.form(i).cap for i in self.q.forms}
        for k in head.key.values():
            top = sum((caps[i] * k.form(i).cap for i in k.forms if i in caps), ZERO)
            need(2 * (top + self.f.inside(top, len(caps), None)) <= self.f.largest, "a score overflows")

    def scores(self, d: Class) -> Scores:
        if d.name not in self._scores:
            self._scores[d.name] = Scores(self.q, self.head.key[d.name], self.f)
        return self._scores[d.name]

    def before(self, d: Class) -> bool:
        """Whether every token that asks sees all of d."""
        return self.head.both or d.before(self.c)

    @property
    def seen(self) -> list[Class]:
        """The classes of which something may be seen."""
        return [d for d in self.state.text if self.head.both or d.may_be_before(self.c)]

    def cap(self, column: int) -> Fraction:
        """The largest value."""
        return max(self.head.value[d.name].form(column).cap for d in self.seen)

    def average(self) -> Vec:
        """R3, no claim: an average of values, 1/Z and a sum of n being each within a factor of `grown`."""
        err, room = {}, 2 if self.state.short else 4 * above(self.state.grown) ** 4
        for column in self.head.columns:
            ends = [self.head.value[d.name].form(column).ends for d in self.seen]
            low, high = min(ZERO, *(low for low, _ in ends)), max(ZERO, *(high for _, high in ends))
            dust = self.dust(column)
            err[column] = room * low - (dust if low else 0), room * high + (dust if high else 0)
        return Vec.of({}, {}, err)

    def dust(self, column: int) -> Fraction:
        """What products of weights and values err by in all where they are subnormal: no factor of them."""
        return above(2 * self.state.length * self.state.grown * self.f.tiny) if self.cap(column) else ZERO

    def weight(self, n: int, gap: Fraction) -> Fraction:
        """At least the computed weight of n tokens that score `gap` less than another, relative to it."""
        if n == 0:
            return ZERO
        need(gap > 0, "another token may score as much")
        each = exp_above(-gap * (1 - 2 * self.f.acc))
        return n * each * (4 if each < power(self.f.least + 2) * self.state.length else 1 + power(-12))

    def blurred(self, v: Vec, stray: Fraction) -> Vec:
        """L3: what is read, unrounded, where the token with the highest score has the value v."""
        u, acc = self.f.u, self.f.acc
        stray = stray * (1 + u) ** 4 * self.state.grown
        need(stray < Fraction(1, 64), "too much weight elsewhere")
        share = 4 * stray + (0 if 4 * stray < u else (1 + u) ** 2 * (1 + 4 * acc) - 1)
        reach = {column: above(share * self.cap(column)) for column in self.head.columns}
        reach = {column: e + self.dust(column) if stray else e for column, e in reach.items()}
        return v.plus(Vec.of({}, {}, {column: (-e, e) for column, e in reach.items()}))

    def behind(self, e: Class, base: Fraction, gain: Gain, err: Fraction) -> Fraction:
        """How far class e is behind a token that scores base + gain, up to err."""
        scores = self.scores(e)
        gap = -scores.most(base, gain) - scores.err - err
        return gap if gap > 0 else gap + self._missed(scores, e)

    def others(self, skip: Collection[Class], base: Fraction, gain: Gain, err: Fraction) -> Fraction:
        """The weight of all classes but some, relative to a token that scores base + gain, up to err."""
        rest = [e for e in self.seen if e not in skip]
        return sum((self.weight(e.count, self.behind(e, base, gain, err)) for e in rest), ZERO)

    def _missed(self, scores: Scores, e: Class) -> Fraction:
        """What every token of class e misses where the task promises that none of them is asked for."""
        if self.head.both or not any(name == e.name for _, name, _ in self.state.spec.promises):
            return ZERO
        m = Match.of(scores)
        return m.cost or ZERO if self.promised("none", e, relation(self.state, m, self.c, e)) else ZERO

    def promised(self, many: str, d: Class, facts: Facts) -> bool:
        """Whether the task promises it to who asks: facts in the same words of another token say nothing."""
        spec = self.state.spec
        return self.c.name in spec.asks and (many, d.name, facts) in spec.promises

    def one(self, d: Class) -> Vec:
        """R1: exactly one token of d satisfies the facts, and it is ahead of all others."""
        if self.seen == [d] and d.count == 1:
            return moved(self.head.value[d.name], d, NO_FACTS, self.c)
        scores = self.scores(d)
        m = Match.of(scores)
        facts = relation(self.state, m, self.c, d)
        self.unique(facts, d)
        stray = self.others([d], scores.s + m.low, m.gain, scores.err)
        stray += self.weight(d.count - 1, (m.cost or ZERO) - (m.high - m.low) - 2 * scores.err)
        return self.blurred(moved(self.head.value[d.name], d, facts, self.c), stray)

    def unique(self, facts: Facts, d: Class) -> None:
        """Exactly one token of d that c sees satisfies the facts: by the task's promise, or by its place."""
        c = self.c
        if self.promised("one", d, facts):  # which speaks of earlier tokens alone
            need(d.before(c), "it may come later")
            return
        if not facts and d.count == 1:
            need(self.before(d), "it may come later")
            return
        at = sorted((f for f in facts if isinstance(f, Equal) and f.key.of == PLACE), key=lambda f: f.key.div)
        need(0 < len(at) == len(facts), "the facts do not fix a place")
        if len(at) == 1 and at[0].key == at[0].query == Number(PLACE):  # relative to the asker's own place
            low, high = c.start + at[0].shift, c.last + at[0].shift
            there = (low - d.start) % d.step == 0 and (c.count == 1 or c.step % d.step == 0)
            need(there and d.start <= low and high <= d.last, "there is no such token")
            need(self.before(d) or (c.first == d.first and at[0].shift <= 0), "it may come later")
            return
        need(self.before(d) and (d.start, d.step) == (0, 1), "no such token, or later")
        weight = 1  # a place in mixed radix: every digit is asked for, none beyond its radix or the end
        for i, fact in enumerate(at):
            radix, high = fact.key.mod, self.state.span(Part(fact.query), c)[1]
            need(fact.key.div == weight and fact.shift == 0, "the facts do not fix a place")
            need(bool(radix) == (i + 1 < len(at)), "the facts do not fix a place")
            need(high <= radix if radix else high * weight <= d.count, "asked for beyond the end")
            weight *= radix

    def back(self, o: Any) -> Vec:
        """R1 by residues of positions: the token o positions before, whatever its class."""
        expect(type(o) is int, "hints: back takes a number")
        all_of = {n: r for n, r in self.q.terms.items() if isinstance(n, Number)}
        asked = {n: r for n, r in all_of.items() if (n.of, n.div) == (PLACE, 1)}
        need(asked.keys() == self.q.terms.keys() and not self.q.const, "not by residues of the place")
        hits: dict[Number, set[Fraction]] = {n: set() for n in asked}
        misses: dict[Number, set[Fraction]] = {n: set() for n in asked}
        low, high, there = self.c.first + self.c.start - o, self.c.first + self.c.last - o, []
        need(o >= 0 and low >= 0, "there is no token so far back")
        for e in self.seen:
            key, begin = self.head.key[e.name], e.first + e.start
            there += [self.head.value[e.name]] if begin <= high and low <= e.first + e.last else []
            need(not key.const and key.terms.keys() == asked.keys(), "not by residues alone")
            for x, y in ((x, y) for x in asked for y in asked):
                rows, table = (asked[x].keys, key.terms[y].keys), Table.of(asked[x], key.terms[y])
                need(table is None or x == y, "residues that mix")
                for a, b, v in table.all(*rows) if table else ((*row, ZERO) for row in product(*rows)):
                    if x == y:
                        (misses if (a + self.c.first - e.first - o - b) % x.mod else hits)[x].add(v)
        need(all(len(v) == 1 for v in hits.values()), "a residue scores differently")
        moduli = [x.mod for x in asked]
        need(_coprime(moduli) and prod(moduli) >= self.state.length, "the residues do not fix a position")
        cost = min((min(hits[x]) - max(misses[x]) for x in asked if misses[x]), default=ONE)
        stray = self.weight(self.state.length - 1, cost - 2 * max(self.scores(e).err for e in self.seen))
        return self.blurred(_named(_alike(there), o), stray)


def _named(v: Vec, o: int) -> Vec:
    """A vector of the token o positions before, in the words of its reader."""

    def name(n: Any) -> Hashable:
        need(isinstance(n, Number) and n.of == TOKEN, "something else than ids is read")
        return Number(Back(o, TOKEN), n.div, n.mod)

    return v.renamed(name)


def _alike(values: list[Vec]) -> Vec:
    """One vector for all of these: they differ in their errors alone."""
    first = values[0]
    for v in values:
        same = v.const == first.const and v.terms.keys() == first.terms.keys()
        need(same and all(v.terms[n].same(first.terms[n]) for n in v.terms), "values of different kinds")
    ends = {c: [v.err.get(c, NONE) for v in values] for v in values for c in v.err}
    err = {c: (min(e)[0], max(hi for _, hi in e)) for c, e in ends.items()}
    return Vec.of(first.const, first.terms, err)


def moved(v: Vec, d: Class, facts: Facts, c: Class) -> Vec:
    """A vector of THE token of class d, as its reader of class c names it."""

    def number(n: Number) -> Number:
        return Number(expr(n.of), n.div, n.mod)

    def expr(e: Any) -> Any:
        if isinstance(e, Part):
            return Part(number(e.number))
        there = At(d.name, facts, e)
        if isinstance(e, At):  # what it had read itself: the same token, asked for in the reader's words
            asked = [replace(f, query=number(f.query)) for f in e.facts if isinstance(f, Equal | Sum)]
            there = At(e.where, frozenset(asked), e.of) if len(asked) == len(e.facts) else there
        alone = c.count == 1 and there.where == c.name and not there.facts  # the reader itself
        return there.of if alone else there

    def field(n: Any) -> Hashable:
        return Joint(tuple(map(field, n.fields))) if isinstance(n, Joint) else number(n)

    return v.renamed(field)


Digits = list[tuple[Number, Number, dict[Any, Any]]]  # of the key, of the query, which one is asked for


def relation(state: State, m: Match, c: Class, d: Class) -> Facts:
    """What it says that all digits agree: "key number = query number + shift", or a sum by its residues."""
    groups: dict[tuple[Any, Any], Digits] = {}
    for x, y, π in m.pairs:
        need(isinstance(x, Number) and isinstance(y, Number), "several numbers at once are asked for")
        groups.setdefault((y.of, x.of), []).append((y, x, π))
    facts = set()
    for digits in groups.values():
        digits.sort(key=lambda digit: (digit[0].div, digit[0].mod))
        turned = any(len({b - a for a, b in π.items()}) > 1 for _, _, π in digits)
        facts.add(_sum(state, digits, c, d) if turned else _equal(state, digits, c, d))
    return frozenset(facts)


def _equal(state: State, digits: Digits, c: Class, d: Class) -> Equal:
    (k0, q0, _), shift, weight = digits[0], 0, 1
    for i, (k, q, π) in enumerate(digits):
        need(k.div == k0.div * weight and q.div == q0.div * weight, "a digit is left out")
        shift += weight * next(b - a for a, b in π.items())
        if i + 1 < len(digits):
            need(k.mod == q.mod > 0, "digits of different radices")
            weight *= k.mod
    key, query = Number(k.of, k0.div, weight * k.mod), Number(q.of, q0.div, weight * q.mod)
    return Equal(state.plain(key, d), state.plain(query, c), shift)


def _sum(state: State, digits: Digits, c: Class, d: Class) -> Sum:
    """x + y ≡ r modulo m_1, m_2, …: one residue modulo their product, so one sum if all are below it."""
    moduli = [k.mod for k, _, _ in digits]
    need(all(k.div == q.div == 1 and k.mod == q.mod > 0 for k, q, _ in digits), "residues of other numbers")
    need(_coprime(moduli), "residues with a common factor")
    found = [{(a + b) % k.mod for a, b in π.items()} for k, _, π in digits]
    need(all(len(r) == 1 for r in found), "no sum of residues")
    key, query = state.plain(Number(digits[0][0].of), d), state.plain(Number(digits[0][1].of), c)
    top = state.span(key.of, d)[1] + state.span(query.of, c)[1] - 2  # the largest sum
    if len(digits) == 1 and top >= moduli[0]:
        return Sum(key, query, found[0].pop(), moduli[0])
    fits = [s for s in state.spec.sums if all({s % p} == r for p, r in zip(moduli, found, strict=True))]
    need(len(fits) > 0 and max(top, fits[0]) < prod(moduli), "the residues do not say which sum")
    return Sum(key, query, fits[0])


def _coprime(moduli: list[int]) -> bool:
    return all(gcd(a, b) == 1 for i, a in enumerate(moduli) for b in moduli[:i])


def mapped(state: State, m: Match, c: Class, d: Class) -> Facts:
    """All digits of one key number, in mixed radix, asked for by rows of one field, or by nobody."""
    pairs = sorted(m.pairs, key=lambda pair: int(getattr(pair[1], "div", 0)))
    of = {getattr(y, "of", None) for _, y, _ in pairs}
    need(len(of) == 1 and None not in of, "other numbers than one are asked for")
    weights = list(accumulate((y.mod for _, y, _ in pairs), mul, initial=1))
    key = Number(of.pop(), 1, weights[-1])
    whole = [y.div for _, y, _ in pairs] == weights[:-1] and state.plain(key, d).mod == 0
    need(whole, "a digit is left out")
    fields = {x for x, _, _ in pairs if x is not None}
    need(all(isinstance(x, Number) for x in fields) and len(fields) <= 1, "several fields ask for one number")
    asks: list[Any] = next((list(π) for x, _, π in pairs if x is not None), [None])
    rows = tuple((a, sum(π[None if x is None else a] * y.div for x, y, π in pairs)) for a in asks)
    query = next((state.plain(x, c) for x in fields), None)
    return frozenset({Mapped(Number(key.of), query, rows)})
