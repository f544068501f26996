"""Recurrences as memories (R14–R16): y_i = Σ_{j≤i} ⟨q_i, k_j⟩ v_j, over Σ ⟨q_i, k_j⟩ where normalised.

Every mixer of `linear`, `delta` and `mamba` comes to that where nothing fades (gates of exactly 1), and where
what a write erases is nothing.  Features of queries and keys are exact numbers, most of them 0: so what a
token reads is known.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from limen_check.can.gates import scaled
from limen_check.can.rules.attention import Ask, moved
from limen_check.can.scores import Match
from limen_check.can.state import State, Vecs, cut
from limen_check.can.tasks import PLACE, Class, Number, Read, listed
from limen_check.can.vectors import (
    NONE,
    ONE,
    ZERO,
    Column,
    Form,
    Joint,
    Vec,
    above,
    grain,
    level,
    power,
)
from limen_check.files import expect, need
from limen_check.record import entered
from limen_check.text import Call

_TAME, _SHARE = power(-20), power(-44)  # features and values that are not 0, and β, are no smaller


@dataclass(eq=False)
class Memory:
    """Features of queries and keys, and values, by class.

    β: what a write erases of its own key's row, None without a delta rule.  λ: what is read is multiplied by.
    γ: what a token leaves of all that was there.
    """

    s: State
    q: Vecs
    k: Vecs
    v: Vecs
    normalised: bool
    β: Fraction | None = None
    λ: Fraction = ONE
    γ: Fraction = ONE

    def __post_init__(self) -> None:
        """Every number on the way is finite, whoever asks: 0·∞ is no number.  All roundings: a factor 8."""
        read, written, most = _caps(self.q), dict[int, Fraction](), self.s.f.largest
        for name, k in self.k.items():
            top = max([ONE, *(form.cap for form in self.v[name].forms.values())])
            for i, form in k.forms.items():
                written[i] = max(written.get(i, ONE), form.cap * top)
            written[-1] = max(written.get(-1, ONE), top)
        room = sum((max(ONE, read.get(i, ONE)) * w for i, w in written.items()), ZERO)
        fits = 8 * self.s.length * room * max(ONE, self.λ) <= most
        need(self.s.short and fits, "a memory overflows, or is too long")

    def tame(self, reader: str | None = None, writer: str | None = None) -> None:
        """No product of β, a query, a key and a value is subnormal, in whatever order they are multiplied."""
        sides = (self.q, reader), (self.k, writer), (self.v, writer)
        forms = [form for side, only in sides for x in _of(side, only) for form in x.forms.values()]
        need(not any(form.many for form in forms), "too many numbers to look at")
        sizes = {abs(v) for form in forms for v in (form.values if form.err == NONE else [form.cap])}
        small = min(sizes - {ZERO}, default=ONE) < _TAME or (self.β is not None and self.β < _SHARE)
        need(not small, "numbers so small that products of them vanish")

    def ask(self, c: Class) -> Ask:
        return Ask(
            self.s,
            c,
            self.q[c.name],
            self.k,
            self.v,
            frozenset(i for v in self.v.values() for i in v.forms),
            False,
        )

    def read(self, c: Class, look: list[Any]) -> Vec:
        """By the rule that the hints name; without one, one token alone is read, or nothing."""
        need(self.β in (None, 1), "a write erases a part")
        rule, *rest = look or ["one"]
        ask, known = self.ask(c), {d.name: d for d in self.s.text}
        if rule not in ("mean", "alike"):
            return self._one(ask)
        expect(len(rest) == 1 and rest[0] in known, "hints: no such class of keys")
        self.tame(c.name, rest[0])
        need(known[rest[0]] in ask.seen and self.normalised, "a class that is not seen, or a plain sum")
        return (self._mean if rule == "mean" else self._alike)(ask, known[rest[0]])

    def active(self, ask: Ask) -> list[Class]:
        """The classes of which something may be read."""
        writes = (d for d in ask.seen if self.k[d.name].forms.keys() & ask.q.forms.keys())
        return [d for d in writes if self.normalised or self.v[d.name].forms]

    def _one(self, ask: Ask) -> Vec:
        """R14: features are unit vectors, times a power of two, and one token alone has the key asked for."""
        active = self.active(ask)
        if not active:
            return Vec.of({})
        need(len(active) == 1, "not one class of tokens writes into a memory")
        (d,), value = active, self.v[active[0].name]
        (x, reads, a), (y, under, b) = units(ask.q), units(self.k[d.name])
        alone = all(not self.k[e.name].forms for e in ask.seen if e != d)
        need(self.β is None or alone, "another token erases")
        row = {c: key for key, c in under.items()}
        need(isinstance(x, Number | None) and isinstance(y, Number | None), "keys of several fields")
        apart = y is None or (y.of == PLACE and y.div == 1 and self.s.plain(y, d).mod == 0)
        need(apart and len(row) == len(under), "two tokens may have the same key")
        need(all(c in row for c in reads.values()), "what is asked for was never written")
        pairs = [] if y is None else [(x, y, {r: row[c] for r, c in reads.items()})]
        facts = ask.relation(Match(pairs, None, ZERO, ZERO, {}), d)
        ask.unique(facts, d)
        got = moved(value, d, facts, ask.c)
        got = got if self.γ == 1 else self._faded(got, d, ask.c)
        return got if self.normalised else got.each(lambda form: Form.sum([(form, a * b)]))

    def _faded(self, got: Vec, d: Class, c: Class) -> Vec:
        """R14 where the memory fades: of the token of class d that of class c, t tokens later, reads γ^t."""
        f, t = self.s.f, c.first + c.start - d.first - d.start
        need(c.count == d.count == 1 and 0 <= t <= 64, "how much has faded is not known")
        need(f.rn(self.γ) == self.γ and got.exact, "a rate, or a number, that is not exact")
        need(not any(form.many for form in got.forms.values()), "too many numbers to look at")
        left = {v * self.γ**j for form in got.forms.values() for v in form.values for j in range(t + 1)}
        need(all(v == 0 or abs(v) >= power(f.least) for v in left), "what is left is subnormal")
        off = (t + 1) * power(-15) + (0 if all(f.rn(v) == v for v in left) else 4 * (t + 1) * f.u)
        faded = got.each(lambda form: Form.sum([(form, self.γ**t)]))
        if 2 * off < f.u:  # nearer to what the format has than to its neighbours
            return faded
        err = {i: above(form.cap * off) for i, form in faded.forms.items()}
        return faded.plus(Vec.of({}, {i: (-e, e) for i, e in err.items()}), f)

    def _weights(self, ask: Ask, d: Class) -> tuple[tuple[Any, ...], dict[Any, Fraction]]:
        """R15: of all that is seen only tokens of d weigh anything: by the rows of their fields."""
        q = {i: form.ends[0] for i, form in ask.q.forms.items()}
        need(ask.q.exact and all(len(form.values) == 1 for form in ask.q.forms.values()), "queries that vary")
        need(self.active(ask) in ([d], []), "another class of tokens weighs something")
        k, total = self.k[d.name], Form.sum([(self.k[d.name][i], w) for i, w in q.items()])
        need(k.exact and sum(i in k.forms for i in ask.q.forms) <= 1, "a weight is not exact")
        names = sorted(total.terms, key=repr)
        fields, rows = k.flat(names)
        values = [total.const + sum(row) for row in product(*(total.terms[n].rows() for n in names))]
        (w, *more) = sorted({*values} - {ZERO}) or [ZERO]
        need(not more and w >= 1 and grain(w) == w, "tokens that weigh differently, or no power of two")
        return tuple(self.s.plain(n, d) for n in fields), dict(zip(rows, values, strict=True))

    def _alike(self, ask: Ask, d: Class) -> Vec:
        """R15: all tokens that weigh anything weigh the same and have one value, so it is their average."""
        numbers, weights = self._weights(ask, d)
        on = {row for row, w in weights.items() if w}
        need(0 < len(on) < len(weights), "not two kinds of tokens")
        value, columns = self.v[d.name], {}
        for c in ask.columns:
            _, rows = self._rows(value[c], numbers, d)
            same = {v for row, v in rows.items() if row in on}
            need(len(same) == 1 and value[c].err == NONE, "values that vary")
            v = same.pop()
            well = v == 0 or (grain(v) == abs(v) and abs(v) >= power(self.s.f.least))
            need(well, "a value is no power of two, or subnormal")
            columns[c] = Column.of([ZERO, v])
        return Vec.table(
            Number(Read("exists", d.name, frozenset({listed(*numbers, rows=on)}))), (0, 1), columns
        )

    def _rows(
        self, form: Form, numbers: tuple[Any, ...], d: Class
    ) -> tuple[tuple[Any, ...], dict[Any, Fraction]]:
        """A number of a token of d by rows of these fields, and of no others."""
        v = self.v[d.name]
        names = sorted(form.terms, key=repr)
        fields, rows = v.flat(names)
        need(tuple(self.s.plain(n, d) for n in fields) in (numbers, ()), "a value of other fields")
        values = [form.const + sum(row) for row in product(*(form.terms[n].rows() for n in names))]
        by_row = dict(zip(rows, values, strict=True))
        every = self.k[d.name].flat(
            sorted({n for f in self.k[d.name].forms.values() for n in f.terms}, key=repr)
        )[1]
        return fields, by_row if fields else dict.fromkeys(every, values[0])

    def _mean(self, ask: Ask, d: Class) -> Vec:
        """R16: all tokens of d weigh the same and have one of two values: the mean tells how many."""
        f, (_, weights) = self.s.f, self._weights(ask, d)
        need(ZERO not in weights.values() and d.count <= 1 << f.t, "the tokens are too many to be counted")
        if not ask.before(d):  # an average of some of them
            caps = {c: 3 * self.v[d.name][c].cap + f.tiny for c in ask.columns}
            return Vec.of({}, {c: (-cap, cap) for c, cap in caps.items()})
        value = self.v[d.name]
        need(value.exact, "values that are not exact")
        from limen_check.can.rules.pooling import two_values

        entered(two_values)
        facts, low, high = two_values(ask, value, d)
        columns = {}
        for c in ask.columns:
            a, b = low.get(c, ZERO), high.get(c, ZERO)
            step = min((grain(v) for v in (a, b) if v), default=ONE)
            well = d.count * max(abs(a), abs(b)) <= step * (1 << f.t) and step >= power(f.least)
            need(well, "sums not exact")
            columns[c] = Column.of([f.rn((κ * b + (d.count - κ) * a) / d.count) for κ in range(d.count + 1)])
        return Vec.table(Number(Read("count", d.name, facts)), tuple(range(d.count + 1)), columns)


def units(x: Vec) -> tuple[Any, dict[Any, int], Fraction]:
    """The one field whose rows are unit vectors times w, if any; each row's column; w, a power of two ≥ 1."""
    field: Any = next(iter(x.terms), None)
    keys = (None,) if field is None else x.keys[field]
    at: dict[Any, list[int]] = {key: [] for key in keys}
    levels = {
        v + form.const
        for form in x.forms.values()
        for v in (form.terms[field].levels if field in form.terms else (ZERO,))
    }
    w = max(levels, default=ZERO)
    need(levels <= {ZERO, w} and w >= 1 and grain(w) == w, "the keys of a memory are no unit vectors")
    for c, form in x.forms.items():
        column = form.terms.get(field, level(ZERO, len(keys)))
        on = [bool(v + form.const) for v in column.levels]
        for key, i in zip(keys, column.at, strict=True) if any(on) else ():
            if on[i]:
                at[key].append(c)
    alone = x.exact and len(x.terms) < 2 and all(len(ones) == 1 for ones in at.values())
    need(alone, "the keys of a memory are no unit vectors")
    return field, {key: ones[0] for key, ones in at.items()}, w


def few(memory: Memory, p: int, *kept: Vecs) -> None:
    """What is kept takes p bits a number: one class writes, each token under a key of its own, or one token.

    A number of the state is 0 before it is written; what else is `kept` are numbers of single tokens.
    """
    s = memory.s
    writers = [d for d in s.text if memory.k[d.name].forms and (memory.normalised or memory.v[d.name].forms)]
    need(len(writers) <= 1, "several classes write into a memory of few bits")
    for d in writers:
        field, under, w = units(memory.k[d.name])
        apart = field is not None and len({*under.values()}) == len(under)
        need(
            d.count == 1 or (apart and whole(s, field, d, 1, d.step)),
            "two tokens write under one key",
        )
        need(w == 1 or not memory.normalised, "a count of other numbers than 0 and 1")
    for side in (memory.v, *kept):
        for c in {c for x in side.values() for c in x.forms}:
            levels = [x[c].values for x in side.values()]
            well = all(x[c].err == NONE and not x[c].many for x in side.values())
            need(
                well and len({ZERO, *(v for values in levels for v in values)}) <= 1 << p,
                f"more than {p} bits",
            )


def whole(s: State, field: Any, d: Class, *starts: int) -> bool:
    """Whether a field, or several at once, are all digits of the place divided by one of `starts`."""
    numbers = sorted(field.fields if isinstance(field, Joint) else (field,), key=lambda n: int(n.div))
    weight = first = numbers[0].div if all(isinstance(n, Number) and n.of == PLACE for n in numbers) else 0
    for n in numbers if first else ():
        if n.div != weight or not n.mod:
            return False
        weight *= n.mod
    return first in starts and not s.plain(Number(PLACE, first, weight // first), d).mod


def heads(s: State, at: str, call: Call, made: Callable[[int], Memory], d: int) -> Vecs:
    """All heads side by side; of every class what it reads."""
    out = dict.fromkeys(s.x, Vec.of({}))
    for head in range(call.number("h")):
        memory = made(head)
        read = _followed(memory) if s.spec.steps else None
        for name, c in s.classes.items():
            got = read(c) if read else memory.read(c, s.looks.get((at, head, name), []))
            out[name] = out[name].plus(Vec({head * d + i: form for i, form in got.forms.items()}, got.keys))
    return out


def _followed(memory: Memory) -> Callable[[Class], Vec]:
    """What each class reads along the task's machine (R21)."""
    from limen_check.can.rules.automaton_memory import Followed

    entered(Followed)
    return Followed(memory).read


def plain(
    s: State,
    at: str,
    call: Call,
    told: Callable[[str, Vec], Vec],
    β: Fraction | None = None,
    λ: Fraction = ONE,
    γ: Callable[[int], Fraction] = lambda head: ONE,
) -> Vecs:
    """Without a normaliser: `told` makes features and values of the projections of a head, γ how it fades."""
    d, keys = call.number("d"), call.number("d_k", default=call.number("d"))

    def made(head: int) -> Memory:
        sides = []
        for w, size in (("Q", keys), ("K", keys), ("V", d)):
            W = cut(s.matrix(f"{at}.{w}"), head * size, size)
            sides.append({n: told(w, x.times(W, s.f)) for n, x in s.x.items()})
        q, k, v = sides
        return Memory(s, q, k, v, False, β, λ, γ(head))

    read = heads(s, at, call, made, d)
    return {n: scaled(s, y, λ).times(s.matrix(f"{at}.O"), s.f) for n, y in read.items()}


def _of(side: Vecs, only: str | None) -> list[Vec]:
    return [x for name, x in side.items() if only in (None, name)]


def _caps(side: Vecs) -> dict[int, Fraction]:
    """The largest size of each column."""
    largest: dict[int, Fraction] = {}
    for x in side.values():
        for i, form in x.forms.items():
            largest[i] = max(largest.get(i, ZERO), form.cap)
    return largest
