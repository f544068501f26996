"""R21: sums that follow a machine of few states, up to the first step that it does not know.

A token is known by its STEP: the machine's state before it and its id.  As long as every step was one of the
machine's, what a memory has added up is a function of the state, exactly: that is seen by following the
machine.  The first step that is none of its own is still known.  All tokens behind it, the WILD ones, hold
something between two ends; all that is asked of them is that sums of numbers ≥ 0 do not fall.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from itertools import product
from math import isqrt
from typing import TYPE_CHECKING, Any

from limen_check.files import need
from limen_check.tasks import TOKEN, Class, Number, Steps
from limen_check.vectors import NONE, ONE, ZERO, Column, Form, Interval, Vec, grain, power

if TYPE_CHECKING:
    from limen_check.memory import Memory
    from limen_check.state import State

WILD = "~"
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
            s.x[name] = _between({c: form.ends for c, form in x.forms.items()})
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


def _first(s: State, c: Class) -> bool:
    """Whether it is the first token alone."""
    return c.count == 1 and c.first + c.start == 0


def _between(ends: Mapping[int, Interval]) -> Vec:
    """Constants, and numbers between two ends."""
    return Vec({c: Form(lo) if lo == hi else Form(ZERO, {}, (lo, hi)) for c, (lo, hi) in ends.items()}, {})


def _at(s: State, x: Vec, i: int) -> dict[int, Fraction]:
    """The numbers of a token by its step."""
    found, field = {}, _steps(s).field
    need(x.exact, "a sum of numbers that are not exact")
    for c, form in x.forms.items():
        v = form.const
        for n, column in form.terms.items():
            need(n == field, "more than the steps is told")
            v += column.levels[column.at[x.keys[n].index(i)]]
        if v:
            found[c] = v
    return found


class Followed:
    """A memory along the machine: what it holds in every state, and what every step reads."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.s, self.steps = memory, memory.s, _steps(memory.s)
        s, self.classes = self.s, sorted(self.s.text, key=lambda c: c.first)
        self.add, self.told = dict[tuple[str, int], Entries](), dict[tuple[str, int], dict[int, Fraction]]()
        columns = {c for v in memory.v.values() for c in v.forms}
        self.ones = max(columns, default=0) + 1 if memory.normalised else -1
        for c in self.classes:
            for i in _keys(s, c):
                k, v = _at(s, memory.k[c.name], i), _at(s, memory.v[c.name], i)
                v = v | ({self.ones: ONE} if memory.normalised else {})
                share = memory.β or ONE
                self.add[c.name, i] = {(a, b): share * x * y for a, x in k.items() for b, y in v.items()}
                self.told[c.name, i] = k
        self.holds: dict[Any, Entries] = {self.steps.start: {}}
        self.loose: set[tuple[int, int]] = set()
        self._follow()
        self._exact()

    def _follow(self) -> None:
        """Every step takes what is held in a state to what is held in the next; counts need not be known."""
        steps, now = self.steps, [self.steps.start]
        for c in self.classes:
            fresh, seen = list(now), set(now)
            reached: list[Any] = []
            while fresh:
                state = fresh.pop()
                for a in range(steps.ids):
                    new = steps.turn(state, a)
                    if new is None:
                        continue
                    self._meet(new, state, c, steps.all.index((state, a)))
                    if new not in seen and not _first(self.s, c):
                        seen.add(new)
                        fresh.append(new)
                    reached.append(new)
            now = list(dict.fromkeys(reached if _first(self.s, c) else seen))

    def _meet(self, new: Any, state: Any, c: Class, i: int) -> None:
        made, add = dict(self.holds[state]), self.add[c.name, i]
        for at, v in add.items():
            made[at] = made.get(at, ZERO) + v
        made = {at: v for at, v in made.items() if v}
        known = self.holds.setdefault(new, made)
        for at in {*known, *made}:
            if known.get(at, ZERO) != made.get(at, ZERO):
                need(at[1] == self.ones, "what is held is no function of the machine's state")
                self.loose.add(at)

    def _exact(self) -> None:
        """A sum over a stretch of tokens is a difference of two that are held: few multiples of one unit."""
        s, f = self.s, self.s.f
        for at in {at for add in (*self.add.values(), *self.holds.values()) for at in add} - self.loose:
            held = [entries.get(at, ZERO) for entries in self.holds.values()]
            adds = [abs(add.get(at, ZERO)) for add in self.add.values()]
            unit = min((grain(v) for v in (*held, *adds) if v), default=ONE)
            need(
                2 * (max(map(abs, held)) + max(adds)) <= unit * (1 << f.t),
                "sums that the format does not hold",
            )
            need(
                s.length * max(adds) * f.acc <= unit and unit >= power(f.least),
                "sums that no accumulator holds",
            )
        if self.memory.β:
            self._erases(f.u / 8)

    def _erases(self, little: Fraction) -> None:
        """S - βk(kᵀS - v) is S + βkv where kᵀS vanishes beside v, or where v is 0 and β vanishes beside 1."""
        need(self.memory.β <= little, "a write erases")
        for c in self.classes:
            for i in _keys(self.s, c):
                state, k = self.steps.all[i][0], self.told[c.name, i]
                v = _at(self.s, self.memory.v[c.name], i)
                need(len(k) <= 1, "a key of several numbers")
                for a, x in k.items():
                    for (row, b), held in self.holds.get(state, {}).items():
                        need(row != a or b not in v or abs(x * held) <= little * abs(v[b]), "a write erases")

    def read(self, c: Class) -> Vec:
        """What each step of a class reads, its own write included."""
        home = next(k for k in self.classes if k.first <= c.first + c.start <= k.first + k.last)
        keys, columns = _keys(self.s, c), dict[int, list[Fraction]]()
        wanted = sorted({b for _, b in (at for add in self.add.values() for at in add)} - {self.ones})
        rows = []
        for i in keys:
            state, q = self.steps.all[i][0], _at(self.s, self.memory.q[c.name], i)
            held = dict(self.holds.get(state, {}))
            for at, v in self.add[home.name, i].items():
                held[at] = held.get(at, ZERO) + v
            sums = dict.fromkeys(wanted, ZERO)
            for (a, b), v in held.items():
                if b != self.ones and a in q:
                    sums[b] += q[a] * v
            divided = self._divisor(q, held) if self.memory.normalised else ONE
            rows.append({b: ZERO if not divided else self.s.f.rn(v / divided) for b, v in sums.items()})
            sizes = [abs(q.get(a, ZERO) * v) for (a, b), v in held.items() if b != self.ones and a in q]
            unit = min(
                (grain(q[a]) * grain(v) for (a, b), v in held.items() if b != self.ones and a in q and v),
                default=ONE,
            )
            need(not self.s.f.inside(sum(sizes, ZERO), len(sizes), unit), "a sum is not exact")
            need(all(self.s.f.rn(v) == v for v in sums.values()), "a sum that the format does not hold")
        for b in wanted:
            columns[b] = [row[b] for row in rows]
        return Vec.table(self.steps.field, keys, {b: Column.of(v) for b, v in columns.items()})

    def _divisor(self, q: Mapping[int, Fraction], held: Entries) -> Fraction:
        """Σ q·φ(k): known, or an anchor beside which all counts vanish."""
        counts = {a: v for (a, b), v in held.items() if b == self.ones and a in q}
        loose = [a for a in q if (a, self.ones) in self.loose]
        sure = {a: q[a] * v for a, v in counts.items() if a not in loose}
        if not loose:
            total = sum(sure.values(), ZERO)
            need(total == 0 or grain(total) == total, "a normaliser that is no power of two")
            return total
        anchor = max(sure.values(), default=ZERO)
        rest = (
            sum(sure.values(), ZERO)
            - anchor
            + self.s.length * sum((q[a] * self._most(a, False) for a in loose), ZERO)
        )
        need(
            anchor > 0 and grain(anchor) == anchor and 16 * rest < anchor * self.s.f.acc,
            "a normaliser that is not anchored",
        )
        return anchor

    def _most(self, a: int, wild: bool) -> Fraction:
        """The largest feature of a key, of wild tokens, too."""
        names = [n for n in self.s.x if wild or not n.endswith(WILD)]
        sizes = [self.memory.k[n][a].cap for n in names]
        low = min((self.memory.k[n][a].ends[0] for n in names), default=ZERO)
        need(low >= 0, "a negative feature")
        return max(sizes)

    def wild(self, name: str) -> Vec:
        """What tokens behind the first strange step may read: two ends."""
        steps, memory, s = self.steps, self.memory, self.s
        strange = [
            (c.name, i)
            for c in self.classes
            for i in _keys(s, c)
            if steps.turn(*steps.all[i]) is None and steps.all[i][0] in self.holds
        ]
        wilds = [n for n in s.x if n.endswith(WILD)]
        ends, falls = dict[tuple[int, int], Interval](), set[int]()
        entries = {at for add in self.add.values() for at in add}
        for n in wilds:
            entries |= {
                (a, b)
                for a in memory.k[n].forms
                for b in (*memory.v[n].forms, *([self.ones] if memory.normalised else []))
            }
        for at in entries:
            a, b = at
            first = [self._after(step, at) for step in strange]
            more = [
                _times(memory.k[n][a].ends, (ONE, ONE) if b == self.ones else memory.v[n][b].ends)
                for n in wilds
            ]
            low, high = min((lo for lo, _ in more), default=ZERO), max((hi for _, hi in more), default=ZERO)
            share, many = memory.β or ONE, 2 * s.length
            falls |= {b} if low < 0 or min(first) < 0 else set()
            lo, hi = min(first) + many * share * min(ZERO, low), max(first) + many * share * max(ZERO, high)
            if at in self.loose:
                lo, hi = ZERO, s.length * self._most(a, True) * 2
            if memory.β and (low < 0 or min(first) < 0):
                size = 4 * max(map(abs, (*first, lo, hi)))
                lo, hi = -size, size
            ends[at] = lo, hi
            need(8 * max(abs(lo), abs(hi)) <= s.f.largest, "a memory overflows")
        q, found = memory.q[name], {}
        for b in {b for _, b in entries} - {self.ones}:
            parts = [_times(q[a].ends, ends[a, c]) for a, c in ends if c == b and a in q.forms]
            lo, hi = sum((p[0] for p in parts), ZERO), sum((p[1] for p in parts), ZERO)
            if b not in falls and all(form.err == NONE and form.const >= 0 for form in q.forms.values()):
                lo = min(
                    sum((form.const * self._after(at, (a, b)) for a, form in q.forms.items()), ZERO)
                    for at in strange
                )
            if memory.normalised:
                lo, hi = self._over(q, ends, lo, hi)
            need(8 * max(abs(lo), abs(hi)) <= s.f.largest, "a sum overflows")
            slack = 4 * s.f.u  # sums in any order, a quotient, a rounding
            found[b] = s.f.rn(lo - slack * abs(lo)), s.f.rn(hi + slack * abs(hi))
        return _between(found)

    def _after(self, step: tuple[str, int], at: tuple[int, int]) -> Fraction:
        """What is held there behind a step."""
        return self.holds[self.steps.all[step[1]][0]].get(at, ZERO) + self.add[step].get(at, ZERO)

    def _over(self, q: Vec, ends: Mapping[tuple[int, int], Interval], lo: Fraction, hi: Fraction) -> Interval:
        parts = [_times(q[a].ends, ends[a, b]) for a, b in ends if b == self.ones and a in q.forms]
        least, most = sum((p[0] for p in parts), ZERO), sum((p[1] for p in parts), ZERO)
        need(least > 0 and min(p[0] for p in parts) >= 0, "a normaliser that may vanish")
        return min(lo / least, lo / most), max(hi / least, hi / most)


def _keys(s: State, c: Class) -> tuple[int, ...]:
    return s.x[c.name].keys[_steps(s).field]


def _times(x: Interval, y: Interval) -> Interval:
    ends = [a * b for a, b in product(x, y)]
    return min(ends), max(ends)


def normed(y: Vec, inner: int, R: Fraction, alike: Iterable[int], f: Any) -> Vec:
    """y/√(mean y²) of wild tokens: it rises with y, and is at most √inner in size."""
    alike = set(alike)
    rest = {c: form for c, form in y.forms.items() if c not in alike}
    found = {}
    for c, form in y.forms.items():
        lo, hi = form.ends
        others = sum((g.cap**2 for i, g in rest.items() if i != c), ZERO)
        least = (
            ZERO
            if lo <= 0
            else lo / _root((len(alike) * R**2 + lo**2 + others + inner) / inner) * (1 - power(-6))
        )
        most = 2 * _root(Fraction(inner))
        found[c] = f.rn(least if lo > 0 else -most if lo < 0 else ZERO), f.rn(most if hi > 0 else ZERO)
    return _between(found)


def _root(x: Fraction) -> Fraction:
    """At least √x, and at most 2^-30 more of it."""
    scale = 1 << 64
    shift = max(0, 64 - (x.numerator.bit_length() - x.denominator.bit_length()))
    shift += shift % 2
    return Fraction(isqrt(int(x * (1 << shift) * scale * scale)) + 1, scale) / (1 << shift // 2)
