"""A class of tokens asks a softmax head: the softmax lemma L3, no claim (R3), looking up one token (R1)."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, product, repeat
from math import lcm, prod
from operator import mul
from typing import Any

from limen_check.can.rational import Rational
from limen_check.can.scores import Gain, Match, Scores, Table, matched
from limen_check.can.state import State
from limen_check.can.tasks import NO_FACTS, PLACE, TOKEN, Class, Facts, Line, Listed, Number, Read, plus
from limen_check.can.vectors import ONE, ZERO, Form, Format, Joint, Matrix, Vec, above, exp_above, power
from limen_check.files import expect, need

Digits = list[tuple[Number, Number, dict[Any, Any]]]  # of the key, of the query, which one is asked for


def weight(f: Format, length: int, n: int, gap: Fraction) -> Fraction:
    """At least the computed weight of n tokens that score `gap` less than another, relative to it."""
    if n == 0:
        return ZERO
    need(gap > 0, "another token may score as much")
    each = exp_above(-gap * (1 - 2 * f.acc))
    return n * each * (4 if each < power(f.least + 2) * length else 1 + power(-12))


def blur(f: Format, grown: Fraction, stray: Fraction) -> Fraction:
    """L3: how far what is read is from the value of the token that is ahead, in parts of the largest."""
    stray = stray * (1 + f.u) ** 4 * grown
    need(stray < Rational(1, 64), "too much weight elsewhere")
    return 4 * stray + (0 if 4 * stray < f.u else (1 + f.u) ** 2 * (1 + 4 * f.acc) - 1)


@dataclass(eq=False)
class Ask:
    """The tokens of class c ask a head with the query q; no score overflows, whatever is claimed of it.

    Keys and values of all classes; the columns of a value.  `both`: later tokens are seen, too.  `most`: the
    largest numbers of the keys, where who makes it knows them.
    """

    state: State
    c: Class
    q: Vec
    key: dict[str, Vec]
    value: dict[str, Vec]
    columns: frozenset[int]
    both: bool
    most: Mapping[int, Fraction] | None = None

    def __post_init__(self) -> None:
        self.f, self.seen = self.state.f, [d for d in self.state.text if self.both or d.may_be_before(self.c)]
        self.scores = lru_cache(None)(lambda d: Scores(self.q, self.key[d.name], self.f))
        if self.most is None or not self._fits(self.most):  # all keys at once; else one by one
            each = ({i: form.cap for i, form in k.forms.items()} for k in self.key.values())
            need(all(map(self._fits, each)), "a score overflows")

    def _fits(self, key: Mapping[int, Fraction]) -> bool:
        """Whether no score of a key with numbers of these sizes overflows."""
        top = sum((form.cap * key[i] for i, form in self.q.forms.items() if i in key), ZERO)
        return 2 * (top + self.f.inside(top, len(self.q.forms), None)) <= self.f.largest

    def before(self, d: Class) -> bool:
        """Whether every token that asks sees all of d."""
        return self.both or d.before(self.c)

    def cap(self, column: int) -> Fraction:
        """The largest value."""
        return max(self.value[d.name][column].cap for d in self.seen)

    def dust(self, column: int) -> Fraction:
        """What products of weights and values err by in all where they are subnormal: no factor of them."""
        return self.state.dust if self.cap(column) else ZERO

    def average(self) -> Vec:
        """R3, no claim: an average of values, 1/Z and a sum of n being each within a factor of `grown`."""
        err, long = {}, min(above(self.state.grown) ** 4, Rational(self.state.length) ** 2)
        room, dust = 2 if self.state.short else 4 * long, self.state.dust
        for column in self.columns:
            ends = [self.value[d.name][column].ends for d in self.seen]
            low, high = min(ZERO, *(low for low, _ in ends)), max(ZERO, *(high for _, high in ends))
            err[column] = room * low - (dust if low else 0), room * high + (dust if high else 0)
        return Vec.of({}, err)

    def weight(self, n: int, gap: Fraction) -> Fraction:
        return weight(self.f, self.state.length, n, gap)

    def blurred(self, v: Vec, stray: Fraction) -> Vec:
        """L3: what is read, unrounded, where the token with the highest score has the value v."""
        share = blur(self.f, self.state.grown, stray)
        reach = {c: above(share * self.cap(c)) + (self.dust(c) if stray else 0) for c in self.columns}
        return v.plus(Vec.of({}, {c: (-e, e) for c, e in reach.items()}))

    def behind(self, e: Class, base: Fraction, gain: Gain, err: Fraction) -> Fraction:
        """How far class e is behind a token that scores base + gain, up to err.

        Where the task promises that none of e is asked for, each of them misses something.
        """
        scores = self.scores(e)
        gap = -scores.most(base, gain) - scores.err - err
        if gap > 0 or self.both or all(name != e.name for _, name, _ in self.state.spec.promises):
            return gap
        m = matched(scores)
        return gap + (m.cost or 0) * self.promised("none", e, self.relation(m, e))

    def elsewhere(
        self,
        leaders: Collection[Class],
        base: Fraction,
        gain: Gain,
        err: Fraction,
        rest: int = 0,
        gap: Fraction = ONE,
    ) -> Fraction:
        """The lemma of leaders: the weight of all tokens but those ahead, relative to one of these.

        Those ahead score base + gain, up to err, and are of the classes `leaders`, of which `rest` tokens are
        behind by `gap`.
        """
        others = [e for e in self.seen if e not in leaders]
        outside = sum((self.weight(e.count, self.behind(e, base, gain, err)) for e in others), ZERO)
        return outside + self.weight(rest, gap)

    def promised(self, many: str, d: Class, facts: Facts) -> bool:
        """Whether the task promises it to who asks: facts in the same words of another token say nothing."""
        return self.c.name in self.state.spec.asks and (many, d.name, facts) in self.state.spec.promises

    def one(self, d: Class) -> Vec:
        """R1: exactly one token of d satisfies the facts, and it is ahead of all others."""
        if self.seen == [d] and d.count == 1:
            return moved(self.value[d.name], d, NO_FACTS, self.c)
        scores = self.scores(d)
        m = matched(scores)
        facts = self.relation(m, d)
        self.unique(facts, d)
        gap = (m.cost or ZERO) - (m.high - m.low) - 2 * scores.err
        stray = self.elsewhere([d], scores.s + m.low, m.gain, scores.err, d.count - 1, gap)
        return self.blurred(moved(self.value[d.name], d, facts, self.c), stray)

    def unique(self, facts: Facts, d: Class) -> None:
        """Exactly one token of d that c sees satisfies the facts: by the task's promise, or by its place."""
        c = self.c
        if self.promised("one", d, facts):  # which speaks of earlier tokens alone
            need(d.before(c), "it may come later")
            return
        if not facts and d.count == 1:
            need(self.before(d), "it may come later")
            return
        lines = [f for f in facts if isinstance(f, Line) and f.key.of == PLACE and f.sign == 1]
        need(0 < len(lines) == len(facts), "the facts do not fix a place")
        at = sorted(lines, key=lambda f: f.key.div)
        if len(at) == 1 and at[0].key == at[0].query == Number(PLACE):  # relative to the asker's own place
            low, high = c.start + at[0].shift, c.last + at[0].shift
            there = (low - d.start) % d.step == 0 and (c.count == 1 or c.step % d.step == 0)
            need(there and d.start <= low and high <= d.last, "there is no such token")
            need(self.before(d) or (c.first == d.first and at[0].shift <= 0), "it may come later")
            return
        need(self.before(d) and d.start < d.step, "no such token, or later")
        weight = d.step  # place // step in mixed radix: every digit, none beyond its radix or the end
        for i, fact in enumerate(at):
            radix, high = fact.key.mod, self.state.span(fact.query, c)[1]
            fixes = fact.key.div == weight and fact.shift == 0 and bool(radix) == (i + 1 < len(at))
            need(fixes, "the facts do not fix a place")
            need(high <= radix if radix else high * weight <= d.count * d.step, "asked for beyond the end")
            weight *= radix

    def back(self, o: Any) -> Vec:
        """R1 by residues of positions: the token o positions before, whatever its class."""
        expect(type(o) is int, "hints: back takes a number")
        residues: dict[Any, Any] = self.q.terms
        plain = all(isinstance(n, Number) and (n.of, n.div) == (PLACE, 1) for n in residues)
        need(plain and not self.q.const, "not by residues of the place")
        hits, misses = ({n: set[Fraction]() for n in residues} for _ in range(2))
        low, high, there = self.c.first + self.c.start - o, self.c.first + self.c.last - o, []
        need(o >= 0 and low >= 0, "there is no token so far back")
        for e in self.seen:
            key, away = self.key[e.name], self.c.first - e.first - o
            there += [self.value[e.name]] if e.first + e.start <= high and low <= e.first + e.last else []
            need(not key.const and key.terms.keys() == residues.keys(), "not by residues alone")
            for x, y in product(residues, residues):
                met, rows = (
                    bool(residues[x].keys() & key.terms[y].keys()),
                    product(self.q.keys[x], key.keys[y]),
                )
                need(x == y or not met, "residues that mix")
                inner = Table(residues[x], key.terms[y]).fractions() if met else repeat(ZERO)
                for (a, b), v in zip(rows, inner, strict=False) if x == y else ():
                    (misses if (a + away - b) % x.mod else hits)[x].add(v)
        need(all(len(v) == 1 for v in hits.values()), "a residue scores differently")
        moduli = [x.mod for x in residues]
        need(lcm(*moduli) == prod(moduli) >= self.state.length, "the residues do not fix a position")
        cost = min((min(hits[x]) - max(misses[x]) for x in residues if misses[x]), default=ONE)
        stray = self.weight(self.state.length - 1, cost - 2 * max(self.scores(e).err for e in self.seen))
        ids = all(isinstance(n, Number) and n.of == TOKEN for v in there for n in v.terms)
        need(ids, "something else than ids is read")
        before = Read("back", o, NO_FACTS, TOKEN)
        return self.blurred(alike([v.renamed(lambda n: n._replace(of=before)) for v in there]), stray)

    def relation(self, m: Match, d: Class) -> Facts:
        """That all digits agree says "key number = query number + shift", or a sum by its residues."""
        groups: dict[tuple[Any, ...], Digits] = {}
        for x, y, π in m.pairs:
            fields = x.fields if isinstance(x, Joint) else (x,)
            need(all(isinstance(n, Number) for n in (y, *fields)), "not numbers are asked for")
            groups.setdefault((y.of, *(n.of for n in fields)), []).append((y, x, π))
        facts: set[Line] = set()
        for digits in groups.values():
            digits.sort(key=lambda digit: (digit[0].div, digit[0].mod))
            several = any(isinstance(x, Joint) for _, x, _ in digits)
            turned = several or any(len({b - a for a, b in π.items()}) > 1 for _, _, π in digits)
            facts.add(self._sum(digits, d) if turned else self._equal(digits, d))
        return frozenset(facts)

    def _equal(self, digits: Digits, d: Class) -> Line:
        """Digits of the same weights without a gap, each at a fixed distance: the numbers are at one."""
        (k0, q0, _), shift, weight = digits[0], 0, 1
        for i, (k, q, π) in enumerate(digits):
            need(k.div == k0.div * weight and q.div == q0.div * weight, "a digit is left out")
            shift += weight * next(b - a for a, b in π.items())
            if i + 1 < len(digits):
                need(k.mod == q.mod > 0, "digits of different radices")
                weight *= k.mod
        key, query = Number(k.of, k0.div, weight * k.mod), Number(q.of, q0.div, weight * q.mod)
        return Line(self.state.plain(key, d), self.state.plain(query, self.c), shift)

    def _sum(self, digits: Digits, d: Class) -> Line:
        """x + y ≡ r modulo m_1, m_2, …: one residue modulo their product, so one sum if all are below it.

        The query's y may be a sum of several numbers, whose residues ask together.
        """
        state, keys, moduli = self.state, [k for k, _, _ in digits], [k.mod for k, _, _ in digits]
        asks = [q.fields if isinstance(q, Joint) else (q,) for _, q, _ in digits]
        plain = all(
            n.div == 1 and n.mod == m > 0 for k, m, q in zip(keys, moduli, asks, strict=True) for n in (k, *q)
        )
        rows = [[(a if isinstance(q, Joint) else (a,), b) for a, b in π.items()] for _, q, π in digits]
        sums = [{(sum(a) + b) % max(1, m) for a, b in of} for m, of in zip(moduli, rows, strict=True)]
        need(plain and lcm(*moduli) == prod(moduli) and all(len(r) == 1 for r in sums), "no sum of residues")
        key, numbers = (
            state.plain(Number(keys[0].of), d),
            [state.plain(Number(n.of), self.c) for n in asks[0]],
        )
        query = numbers[0] if len(numbers) == 1 else plus(*numbers)
        top = state.span(key.of, d)[1] - 1 + sum(state.span(n.of, self.c)[1] - 1 for n in numbers)
        if len(digits) == 1 and top >= moduli[0]:
            return Line(key, query, sums[0].pop(), -1, moduli[0])
        fits = [s for s in state.spec.sums if all({s % p} == r for p, r in zip(moduli, sums, strict=True))]
        need(len(fits) > 0 and max(top, fits[0]) < prod(moduli), "the residues do not say which sum")
        return Line(key, query, fits[0], -1)

    def mapped(self, m: Match, d: Class) -> Facts:
        """All digits of one key number, in mixed radix, asked for by rows of one field, or by nobody."""
        plain = all(isinstance(n, Number) for x, y, _ in m.pairs for n in (y, *([] if x is None else [x])))
        pairs = sorted(m.pairs, key=lambda pair: int(pair[1].div)) if plain else []
        fields = {x: list(π) for x, _, π in pairs if x is not None}
        need(len({y.of for _, y, _ in pairs}) == 1 >= len(fields), "not one field asks for one number")
        weights = list(accumulate((y.mod for _, y, _ in pairs), mul, initial=1))
        key = self.state.plain(Number(pairs[0][1].of, 1, weights[-1]), d)
        need([y.div for _, y, _ in pairs] == weights[:-1] and key.mod == 0, "a digit is left out")
        query, asks = next(iter(fields.items()), (None, [None]))
        rows = ((a, sum(π[None if x is None else a] * y.div for x, y, π in pairs)) for a in asks)
        number = query and self.state.plain(query, self.c)
        return frozenset({Listed((Number(key.of),), frozenset(rows), number)})


def asks(state: State, Q: Matrix, K: Matrix, V: Matrix, both: bool = False) -> dict[str, Ask]:
    """Every class asks one head; no sum of values overflows."""
    key, value = ({d.name: state.x[d.name].times(W, state.f) for d in state.text} for W in (K, V))
    largest = max((form.cap for v in value.values() for form in v.forms.values()), default=ZERO)
    need(2 * state.length * state.grown * largest <= state.f.most, "a sum of values overflows")
    all_of, most = {}, _largest(key.values())
    for name, x in state.x.items():
        q = x.times(Q, state.f)
        all_of[name] = Ask(state, state.classes[name], q, key, value, frozenset(V), both, most)
    return all_of


def _largest(keys: Iterable[Vec]) -> dict[int, Fraction]:
    """The largest number of any key, by columns."""
    most = dict[int, Fraction]()
    for i, form in ((i, form) for k in keys for i, form in k.forms.items()):
        most[i] = max(form.cap, most.get(i, ZERO))
    return most


def alike(values: list[Vec]) -> Vec:
    """One vector for all of these: they differ in their errors alone."""
    exact = values[0].each(lambda form: Form(form.const, form.terms))
    apart = [v.plus(exact.each(lambda form: Form.sum([(form, -ONE)]))) for v in values]
    need(not any(gap.terms or gap.const for gap in apart), "values of different kinds")
    ends = {c: [gap[c].err for gap in apart] for gap in apart for c in gap.forms}
    return exact.plus(Vec.of({}, {c: (min(e)[0], max(hi for _, hi in e)) for c, e in ends.items()}))


def moved(v: Vec, d: Class, facts: Facts, c: Class) -> Vec:
    """A vector of THE token of class d, as its reader of class c names it."""

    def name(e: Any) -> Any:
        if isinstance(e, Joint):
            return Joint(tuple(map(name, e.fields)))
        if isinstance(e, Number):
            return Number(name(e.of), e.div, e.mod)
        there = Read("at", d.name, facts, e)
        if isinstance(e, Read) and e.how in (
            "at",
            "count",
        ):  # what it had read itself, asked for in the reader's words
            lines = [f._replace(query=name(f.query)) for f in e.facts if isinstance(f, Line)]
            there = e._replace(facts=frozenset(lines)) if len(lines) == len(e.facts) else there
        alone = c.count == 1 and there.where == c.name and not there.facts  # the reader itself
        return there.of if alone else there

    return v.renamed(name)
