"""R21: sums that follow a machine of few states, up to the first step that it does not know.

A token is known by its STEP: the machine's state before it and its id.  As long as every step was one of the
machine's, what a memory has added up is a function of the state, exactly: that is seen by following the
machine.  The first step that is none of its own is still known.  All tokens behind it, the WILD ones, hold
something between two ends; all that is asked of them is that sums of numbers ≥ 0 do not fall.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any

from limen_check.can.rational import Rational
from limen_check.can.tasks import TOKEN, Class, Number, Steps
from limen_check.can.vectors import (
    NONE,
    ONE,
    ZERO,
    Column,
    Form,
    Format,
    Interval,
    Vec,
    exp_above,
    exponent,
    grain,
    level,
    power,
)
from limen_check.files import Refused, need

if TYPE_CHECKING:
    from limen_check.can.rules.memory import Memory
    from limen_check.can.state import State

WILD, _WEIGHT = "~", power(-40)
Step = tuple[str, int]  # a class, and a step of its tokens
Row = Mapping[int, Fraction]  # of a token: what is not 0
Entries = dict[tuple[int, int], Fraction]  # of a memory: (row, column)


def _steps(s: State) -> Steps:
    assert s.spec.steps is not None
    return s.spec.steps


def begin(s: State) -> None:
    """Tokens by their steps, and wild ones by the ends of what they may be."""
    steps = _steps(s)
    for name, x in s.x.items():
        need(all(isinstance(n, Number) and n.of == TOKEN for n in x.terms), "more than the ids is told")
        if name.endswith(WILD):
            s.x[name] = between({c: form.ends for c, form in x.forms.items()}, s.f)
            continue
        c, forms = s.classes[name], {}
        early, only = c.first + c.start == 0, c.count == 1 and c.first + c.start == 0
        keys = tuple(
            i for i, (state, _) in enumerate(steps.all) if (early if state == steps.start else not only)
        )
        for at, form in x.forms.items():
            need(form.err == NONE, "ids that are told inexactly")
            known: list[tuple[Any, dict[Any, Fraction]]] = [
                (n, dict(zip(x.keys[n], column.rows(), strict=True))) for n, column in form.terms.items()
            ]
            ids = [steps.all[i][1] for i in keys]
            rows = [sum((told[a // n.div % n.mod] for n, told in known), form.const) for a in ids]
            forms[at] = Form.sum([(Form(ZERO, {steps.field: Column.of(rows)}), ONE)])
        s.x[name] = Vec(forms, {steps.field: keys})


def between(ends: Mapping[int, Interval], f: Format) -> Vec:
    """Constants, and numbers between two ends, rounded."""
    forms = {c: Form(lo) if lo == hi else Form(ZERO, {}, (lo, hi)) for c, (lo, hi) in ends.items()}
    return Vec({c: form.rounded(f) for c, form in forms.items()}, {})


def _told(s: State, x: Vec, c: Class) -> dict[int, dict[int, Fraction]]:
    """The numbers of a token of a class, by its step."""
    keys, field = _keys(s, c), _steps(s).field
    need(x.exact, "a sum of numbers that are not exact")
    need({*x.terms} <= {field} and x.keys.get(field, keys) == keys, "more than the steps is told")
    numbers = {i: dict[int, Fraction]() for i in keys}
    for at, form in x.forms.items():
        column = form.terms.get(field, level(ZERO, len(keys))).plus(level(form.const, len(keys)))
        for i, v in zip(keys, column.rows(), strict=True):
            if v:
                numbers[i][at] = v
    return numbers


class Followed:
    """A memory along the machine: what it holds in every state, and what every step reads."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.s, self.steps, self.f = memory, memory.s, _steps(memory.s), memory.s.f
        memory.tame()
        self.classes = sorted(self.s.text, key=lambda c: c.first)
        self.q, self.k, self.v = dict[Step, Row](), dict[Step, Row](), dict[Step, Row]()
        for name, c in self.s.classes.items():
            for to, of in ((self.q, memory.q), (self.k, memory.k), (self.v, memory.v)):
                told = {} if name.endswith(WILD) else _told(self.s, of[name], c)
                to.update(((name, i), row) for i, row in told.items())
        share, self.add = ONE if memory.β is None else memory.β, dict[Step, Entries]()
        for at, k in self.k.items():
            row = self.v[at].items()
            self.add[at] = {(a, b): share * x * y for a, x in k.items() for b, y in row}
        self.holds: dict[Any, Entries] = {self.steps.start: {}}
        self._follow()
        known = {i for i, step in enumerate(self.steps.all) if self.steps.turn(*step) is not None}
        self.good = {step: add for step, add in self.add.items() if step[1] in known}  # of which more follow
        self._scores()
        self.most, self.room = self._exact(), lru_cache(None)(self._room)
        if memory.β is not None:
            self._erases(memory.β)

    def _follow(self) -> None:
        """Every step takes what is held in a state to what is held in the next."""
        steps, now, after = self.steps, [self.steps.start], dict[Any, list[tuple[int, int]]]()
        for i, (before, a) in enumerate(steps.all):
            after.setdefault(before, []).append((i, a))
        for c in self.classes:
            fresh, seen, reached = list(now), set(now), list[Any]()
            while fresh:
                state = fresh.pop()
                for i, a in after.get(state, ()):
                    new = steps.turn(state, a)
                    if new is None:
                        continue
                    made = dict(self.holds[state])
                    for at, v in self.add[c.name, i].items():
                        made[at] = made.get(at, ZERO) + v
                    made = {at: v for at, v in made.items() if v}
                    same = self.holds.setdefault(new, made) == made
                    need(same, "what is held is no function of the machine's state")
                    if new not in seen and c.count > 1:
                        seen.add(new)
                        fresh.append(new)
                    reached.append(new)
            now = list(dict.fromkeys(reached if c.count == 1 else seen))

    def _scores(self) -> None:
        """⟨q, k⟩ of known tokens is exact: one product, or a sum that is a number of the format."""
        f = self.f
        queries, keys = ({tuple(row.items()) for row in side.values()} for side in (self.q, self.k))
        for q, k in product(map(dict, queries), map(dict, keys)):
            parts = [q[a] * k[a] for a in q.keys() & k.keys()]
            sizes, unit = sum(map(abs, parts), ZERO), min(map(grain, parts), default=ONE)
            well = sizes <= unit * (1 << f.t) and unit * (self.memory.β or ONE) >= power(f.least)
            need(well, "a score is not exact")

    def _exact(self) -> Entries:
        """A sum over a stretch of tokens is a difference of two that are held: few multiples of one unit.

        Of every entry, how large such a sum may be, of as many stretches as a tree of the text has levels.
        """
        s, f, most = self.s, self.f, Entries()
        entries = [*self.good.values(), *self.holds.values()]
        for at in {at for entry in entries for at in entry}:
            held, adds = (
                [abs(entry.get(at, ZERO)) for entry in side.values()] for side in (self.holds, self.good)
            )
            unit = min((grain(v) for v in (*held, *adds) if v), default=ONE)
            most[at] = 2 * s.length.bit_length() * (max(held) + max(adds))
            need(most[at] <= unit * (1 << f.t), "sums that the format does not hold")
            well = s.length * max(adds) * f.acc <= unit and unit >= power(f.least)
            need(well, "sums that no accumulator holds")
        return most

    def _erases(self, β: Fraction) -> None:
        """S - βk(kᵀS - v) is S + βkv where kᵀS vanishes beside v, or where v is 0 and β vanishes beside 1.

        That is so step by step, and in chunks of 32 tokens: 1 - 32β is rounded to 1.
        """
        little = self.f.acc / 8
        need(0 < β == grain(β) and 32 * β <= little and 16 * self.s.length * β <= 1, "a write erases")
        most = {at: max(abs(held.get(at, ZERO)) for held in self.holds.values()) for at in self.most}
        for (name, i), k in self.k.items():
            v = self.v[name, i]
            need(len(k) <= 1, "a key of several numbers")
            for (row, b), held in most.items():
                vanishes = row not in k or b not in v or abs(k[row]) * held <= little * abs(v[b])
                need(vanishes, "a write erases")

    def _anchor(self, q: Row, wild: bool) -> Fraction | None:
        """Σ q·φ(k): the first token's, a power of two beside which all others vanish; None if it is not."""
        others = {n for n in self.s.x if n != self.classes[0].name and (wild or not n.endswith(WILD))}
        keys = [self.memory.k[n] for n in others]
        first = {self._dot(q, k) for (name, _), k in self.k.items() if name == self.classes[0].name}
        low = min([*q.values(), *(k[a].ends[0] for k in self.memory.k.values() for a in q)], default=ZERO)
        rest = sum((v * max(k[a].cap for k in keys) for a, v in q.items()), ZERO) if keys else ZERO
        anchor, *more = first
        well = low >= 0 < anchor == grain(anchor or ONE) and self.classes[0].count == 1 and not more
        return anchor if well and 16 * self.s.length * rest < anchor * self.f.acc else None

    def _first(self, q: Vec) -> Fraction:
        """What the first token weighs at least, by one number of the query: all weights are ≥ 0."""
        first = self.classes[0]
        keys = [k for (name, _), k in self.k.items() if name == first.name]
        least = {a: min(k.get(a, ZERO) for k in keys) for a in q.forms}
        return max((form.ends[0] * least[a] for a, form in q.forms.items()), default=ZERO) * (
            first.count == 1
        )

    @staticmethod
    def _dot(q: Row, k: Row) -> Fraction:
        return sum((v * k[a] for a, v in q.items() if a in k), ZERO)

    def read(self, c: Class) -> Vec:
        """What each step of a class reads, its own write included; two ends of what a wild token reads."""
        columns = sorted({b for v in self.memory.v.values() for b in v.forms})
        if c.name.endswith(WILD):
            return between({b: self._wild(c.name, b) for b in columns}, self.f)
        keys, rows = _keys(self.s, c), list[dict[int, Fraction]]()
        for i in keys:
            q, own = self.q[c.name, i], self.add[c.name, i]
            over = self._anchor(q, False) if self.memory.normalised and q else ONE
            if over is None:
                raise Refused("a normaliser that is not anchored")
            rows.append({b: self._sum(q, self.steps.all[i][0], own, b) / over for b in columns})
            need(all(self.f.rn(v) == v for v in rows[-1].values()), "a sum that the format does not hold")
        table = {b: Column.of([row[b] for row in rows]) for b in columns}
        return Vec.table(self.steps.field, keys, table)

    def _sum(self, q: Row, state: Any, own: Entries, b: int) -> Fraction:
        """Σ_a q_a·S[a, b] of what is held in a state and a token's own: exact, however it is added up."""
        held, f = self.holds.get(state, {}), self.f
        total, adds, unit = (ZERO, ZERO, ONE) if state == self.steps.start else self.room(tuple(q.items()), b)
        parts = [v * own[a, b] for a, v in q.items() if own.get((a, b))]
        unit, more = (
            min([unit, *map(grain, parts)]) if adds else min(map(grain, parts), default=ONE),
            sum(map(abs, parts)),
        )
        well = total + more <= unit * (1 << f.t) and (adds + more) * f.acc <= unit >= power(f.least)
        need(well, "a sum is not exact")
        return sum((v * held.get((a, b), ZERO) for a, v in q.items()), ZERO) + sum(parts)

    def _room(self, q: tuple[tuple[int, Fraction], ...], b: int) -> tuple[Fraction, Fraction, Fraction]:
        """The largest size of Σ_a q_a·S[a, b], that of its parts together, and the unit of all of them."""
        total = sum((abs(v) * self.most[a, b] for a, v in q if (a, b) in self.most), ZERO)
        parts = [[v * add[a, b] for a, v in q if (a, b) in add] for add in self.good.values()]
        adds = self.s.length * max(sum(map(abs, part), ZERO) for part in parts)
        return total, adds, min((grain(v) for part in parts for v in part), default=ONE)

    def _orders(self) -> Fraction:
        """How far a quotient of sums of weights ≥ 0 may be off, each added up in an order of its own."""
        n, u = Rational(self.s.length), self.f.u
        return min(4 * n * n, exp_above(min(4 * n * u, Rational(4 * self.s.length.bit_length()))))

    def _wild(self, name: str, b: int) -> Interval:
        """What tokens behind the first strange step may read in column b.

        Where nothing is negative a sum is not below any of its parts: the strange token's is one of them.
        """
        m, f, q = self.memory, self.f, self.memory.q[name]
        share, cap = ONE if m.β is None else m.β, max(v[b].cap for v in m.v.values())
        parts = [
            sum((x.cap * m.k[n][a].cap for a, x in q.forms.items()), ZERO) * v[b].cap for n, v in m.v.items()
        ]
        top = 8 * self.s.length * share * max(parts)
        sides = [*q.forms.values(), *(k[a] for k in m.k.values() for a in q.forms)]
        plain, over = q.exact and not q.terms, ONE
        weighs = all(x.ends[0] >= 0 for x in sides)
        rises = plain and weighs and all(v[b].ends[0] >= 0 for v in m.v.values())
        if m.β is not None:  # a key of several numbers takes what one row holds into another
            top = max(top, 8 * self.s.length * share * cap) if q.forms else top
            wild = [k for n, k in m.k.items() if n.endswith(WILD)]
            # a key of one known number erases its own row alone, and next to nothing of that
            rises = rises and all(k.exact and not k.terms and len(k.forms) <= 1 for k in wild)
        if m.normalised and q.forms:
            anchor = self._anchor(q.const, True) if plain else None
            rises, over = rises and anchor is not None, anchor or ONE
            if anchor is None:  # an average, but for roundings: its normaliser is not subnormal
                dust = 16 * self.s.length * power(f.least - f.t + 1) * sum(x.cap for x in q.forms.values())
                surely = self._first(q) >= max(_WEIGHT, dust)
                need(weighs and surely, "negative features, or nothing is surely read")
                top = 2 * self._orders() * power(max(0, exponent(cap) + 1)) if cap else ZERO
        strange = [
            self._dot(q.const, {a: v for (a, at), v in self.add[c.name, i].items() if at == b})
            for c in self.classes
            for i in _keys(self.s, c)
            if self.steps.turn(*self.steps.all[i]) is None and self.steps.all[i][0] in self.holds
        ]
        need(strange, "no step is strange")
        least = (min(strange) * (1 - max(8, 5 + len(q.forms)) * f.u) if rises else -top) / over
        return (least if least >= power(f.least) or not rises else ZERO), top / over


def _keys(s: State, c: Class) -> tuple[int, ...]:
    return s.x[c.name].keys[_steps(s).field]
