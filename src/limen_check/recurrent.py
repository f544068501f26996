"""Recurrences: a linear state with one writer (R4, R11), a ReLU recurrence against the task's machine (R12).

A ReLU recurrence over finite fields whose states are exact numbers is a finite machine.  It is followed side
by side with the machine of the task's spec, cell by cell: a CELL (a flag, a slot of a stack, a counter)
stands in some columns of the state, and its value fixes the numbers there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from limen_check.attention import Ask, Head, moved, relation
from limen_check.files import Refused, expect, need, typed
from limen_check.readout import readings
from limen_check.scores import Match
from limen_check.state import Mixer, Shapes, State
from limen_check.tasks import PLACE, Class, Decision, Listed, Machine, Number, Read, Spec
from limen_check.vectors import NONE, ONE, ZERO, Column, Interval, Matrix, Vec, grain

_WORK = 1 << 21  # units that are evaluated in one layer

Cells = Mapping[str, Sequence[int]]  # the columns of the state where a cell stands
Ids = tuple[int, ...]  # names of intervals
Standing = dict[str, dict[int, Ids]]  # cell -> its value -> the numbers in its columns


def linear(s: State, m: Mixer) -> dict[str, Vec]:
    """One head whose state has one writer for whoever asks."""
    how, p = (m.sizes.get("phi"), m.sizes.get("normalise", True)), min(64, m.size("p", 64))
    need(how in (("relu", True), ("identity", False)) and m.size("h") == 1, "another linear state")
    Q, K, V, O = (s.matrix(m.name(name)) for name in "QKVO")
    head = Head.of(s, K, V, both=False)
    asks = {c.name: Ask(head, c, Q) for c in s.classes.values()}
    sides = [ask.q for ask in asks.values()], list(head.key.values()), list(head.value.values())
    sizes = [max([ONE, *(form.cap for x in side for form in x.forms.values())]) for side in sides]
    room = m.size("d_k", m.size("d")) * s.length * prod(sizes)  # whatever is summed: 0·∞ is no number
    need(s.short and 8 * room <= s.f.largest, "a linear state overflows, or is too long")
    if "p" in m.sizes:
        written = any(head.key[d.name].forms and head.value[d.name].forms for d in s.text)
        looked_at = how[0] == "identity" and (any(x.forms for x in sides[0]) or not written)
        need(looked_at, "a linear state whose numbers are not looked at")
    return {name: _carried(ask, how[0] == "relu", p).times(O, s.f) for name, ask in asks.items()}


def _carried(ask: Ask, relu: bool, p: int) -> Vec:
    """R4, normalised, and R11: φ(q) and φ(k) are unit vectors, and one token alone has the key asked for."""
    q, key = ask.q.relu() if relu else ask.q, {}
    if not q.forms:
        return Vec.of({})
    for d in ask.seen if p == 64 else ask.state.text:
        k = ask.head.key[d.name].relu() if relu else ask.head.key[d.name]
        key |= {d: k} if k.forms and (relu or ask.value[d.name].forms) else {}
    need(len(key) == 1, "not one class of tokens writes into a linear state")
    ((d, k),) = key.items()
    (x, asked), (y, under) = _units(q), _units(k)
    row = {c: b for b, c in under.items()}
    apart = y is None or (y.of == PLACE and y.div == 1 and ask.state.plain(y, d).mod == 0)
    need(apart and len(row) == len(under), "two tokens may have the same key")
    need(all(c in row for c in asked.values()), "what is asked for was never written")
    for form in ask.value[d.name].forms.values() if p < 64 else ():
        need(form.err == NONE and len({*form.values, ZERO}) <= 1 << p, f"more than {p} bits")
    pairs = [] if y is None else [(x, y, {a: row[c] for a, c in asked.items()})]
    facts = relation(ask.state, Match(pairs, None, ZERO, ZERO, {}), ask.c, d)
    ask.unique(facts, d)
    return moved(ask.value[d.name], d, facts, ask.c)


def _units(x: Vec) -> tuple[Number | None, dict[Any, int]]:
    """The one number whose rows are unit vectors, or none, and the column of each row's 1."""
    field = next(iter(x.terms), None)
    need(len(x.terms) < 2 and x.exact, "the keys of a linear state are no unit vectors")
    if field is not None and not isinstance(field, Number):
        raise Refused("several numbers at once are a key of a linear state")
    at: dict[Any, int] = {}
    for picked, ends in readings(x, x.forms, {}):
        ones = [c for c, end in zip(x.forms, ends, strict=True) if end == (ONE, ONE)]
        unit = len(ones) == 1 and ends.count(NONE) == len(ends) - 1
        need(unit, "the keys of a linear state are no unit vectors")
        at[picked.get(field)] = ones[0]
    return field, at


def machine_of(spec: Spec) -> Machine:
    """The task as a machine: its own, or the one that watches for what the answer asks for."""
    for way in () if spec.machine else spec.answer:
        match way:
            case Decision((Number(Read("exists", where, facts) as asked),)):
                (fact,) = facts if len(facts) == 1 else ("",)
                if isinstance(fact, Listed):
                    return _watches(asked, where, fact)
    if spec.machine is None:
        raise Refused("no machine is known for this task")
    return spec.machine


def _watches(known_as: Read, where: str, fact: Listed) -> Machine:
    """Has there been a token of this class with such numbers?"""
    return Machine(
        cells={"found": known_as},
        numbers={where: fact.keys},
        action=lambda c, at: c == where and at in fact.rows,
        reads=lambda cell: ("found",),
        turn=lambda cell, old, hit: int(old[0] or hit),
    )


def shapes(m: Mixer, width: int) -> Shapes:
    """Of a ReLU recurrence: d numbers, between stages `inner`."""
    need(m.sizes.keys() <= {"d", "stages", "inner", "p"}, "relu_rnn with other options")
    d, stages = m.size("d"), m.size("stages", 1)
    need(stages <= 8, "a recurrence of more than 8 stages")
    sizes = [d, *[m.size("inner", d)] * (stages - 1), d]
    found: Shapes = {"U": (width, sizes[1]), "O": (d, width)}
    for i in range(1, stages + 1):
        found |= {f"W{i}": (sizes[i - 1], sizes[i]), f"b{i}": (sizes[i],)}
    return found


def relu_rnn(s: State, m: Mixer) -> dict[str, Vec]:
    """What it adds to every class: its state, as numbers that are cells of the machine, times O."""
    cells, machine, O = s.hints.get("cells", {}), machine_of(s.spec), s.matrix(m.name("O"))
    typed(cells, {str: [int]}, "hints: cells")
    owner = {column: cell for cell, columns in cells.items() for column in columns}
    expect(all(0 <= c < m.size("d") for c in owner), "hints: no such column of the state")
    known = cells.keys() == machine.cells.keys() and len(owner) == sum(map(len, cells.values()))
    need(known, "other cells than the task's, or a column in two of them")
    order = sorted(s.text, key=lambda c: c.first + c.start)
    need(all(c.step == 1 for c in order), "a recurrence over tokens of two classes in turn")
    r = Recurrence(s, m, machine, cells, owner)
    read = {a for W in (O, r.into[0]) for column in W.values() for a in column}
    need(read <= owner.keys(), "a column of no cell is read")
    after, out = r.follow(order), {}
    r.finite(after, order)
    for c in s.classes.values():
        home = next(k for k in order if k.first + k.last >= c.first + c.last)
        need(home.first + home.start <= c.first + c.start, "a view of two classes")
        out[c.name] = r.vector(after[home.name]).times(O, s.f)
    return out


class Recurrence:
    """R12: h' = ReLU(… ReLU(hW₁ + xU + b₁)W₂ + b₂ …), rounded after every product and every sum."""

    def __init__(self, s: State, m: Mixer, machine: Machine, cells: Cells, owner: Mapping[int, str]) -> None:
        self.s, self.f, self.machine, self.cells, self.owner = s, s.f, machine, cells, owner
        stages, self.U = range(1, m.size("stages", 1) + 1), s.matrix(m.name("U"))
        self.into: list[Matrix] = [s.matrix(m.name(f"W{i}")) for i in stages]
        self.b = [s.vector(m.name(f"b{i}")) for i in stages]
        self.intervals, self.names = list[Interval](), dict[Interval, int]()  # names are cheap to compare
        self.made: dict[Ids, int] = {}
        self.work = 0

    def name(self, lo: Fraction, hi: Fraction) -> int:
        if (lo, hi) not in self.names:
            self.names[lo, hi] = len(self.intervals)
            self.intervals.append((lo, hi))
        return self.names[lo, hi]

    def follow(self, order: list[Class]) -> dict[str, Standing]:
        """What stands in the cells after the tokens of each class, in the order of the text."""
        now: Standing = {cell: {0: (self.name(ZERO, ZERO),) * len(at)} for cell, at in self.cells.items()}
        after: dict[str, Standing] = {}
        for c in order:
            steps = {cell: _Step(self, cell, c) for cell in self.cells}
            now = {cell: step.turned(now) for cell, step in steps.items()}
            stale = set(self.cells) if c.count > 1 else set()
            while stale:
                cell = stale.pop()
                new = steps[cell].turned(now)
                same = all(now[cell].get(value, ids) == ids for value, ids in new.items())
                need(same, f"{cell} stands there in two ways")
                if new.keys() - now[cell].keys():
                    now[cell] |= new
                    stale |= {other for other, step in steps.items() if cell in step.reads}
            after[c.name] = now
        return after

    def finite(self, after: Mapping[str, Standing], order: list[Class]) -> None:
        """Every unit is finite, also what no cell needs: seen on the widest intervals."""
        ends: dict[int, list[Fraction]] = {column: [ZERO] for column in self.owner}
        for cell, found in ((cell, found) for now in after.values() for cell, found in now.items()):
            for column, at in zip(self.cells[cell], zip(*found.values(), strict=True), strict=True):
                ends[column] += [self.intervals[i][0] for i in at]
        for c in order:
            ids = {column: self.name(min(v), max(v)) for column, v in ends.items()}
            u = self.added(c, self.U.keys() | self.b[0].keys() | self.into[0].keys())
            for stage, into in enumerate(self.into):
                add = {a: u[a].ends for a in u.forms} if not stage else {a: (v, v) for a, v in self.b[stage].items()}
                units = {*into, *add} if stage else {*into, *u.forms}
                ids = {
                    a: self.unit(stage, a, tuple(ids.get(i, 0) for i in into.get(a, {})), self.name(*add.get(a, NONE)))
                    for a in units
                }

    def added(self, c: Class, units: Any) -> Vec:
        """What a token adds inside: xU + b₁."""
        u = self.s.x[c.name].times({a: self.U[a] for a in units if a in self.U}, self.f)
        return u.plus(Vec.of({a: self.b[0].get(a, ZERO) for a in units}), self.f)

    def vector(self, standing: Standing) -> Vec:
        """The state after a token of a class; a cell that stands there in binary, bit by bit."""
        out = Vec.of({})
        for cell, found in standing.items():
            keys, known = tuple(sorted(found)), Number(self.machine.cells[cell])
            rows = {c: [self.intervals[found[v][i]][0] for v in keys] for i, c in enumerate(self.cells[cell])}
            if len(keys) > 2 and all([v >> i & 1 for v in keys] == at for i, at in enumerate(rows.values())):
                for i, c in enumerate(rows):
                    bit = Vec.table(replace(known, div=1 << i, mod=2), (0, 1), {c: Column.of([ZERO, ONE])})
                    out = out.plus(bit)
            else:
                out = out.plus(Vec.table(known, keys, {c: Column.of(at) for c, at in rows.items()}))
        return out

    def unit(self, stage: int, c: int, ids: Ids, add: int) -> int:
        """ReLU(rn(rn(Σ) + b)) of one unit: names of intervals in, a name out."""
        key = stage, c, add, *ids
        if key not in self.made:
            lo = hi = size = ZERO
            steps, exact = [ONE], True
            for w, i in zip(self.into[stage].get(c, {}).values(), ids, strict=True):
                a, b = sorted((self.intervals[i][0] * w, self.intervals[i][1] * w))
                lo, hi, size, exact = lo + a, hi + b, size + max(-a, b), exact and a == b
                steps += [grain(a)] if a else []
            e = self.f.inside(size, len(ids), min(steps) if exact else None)
            need(size + e <= self.f.largest, "a sum overflows")
            (low, high), rn = self.intervals[add], self.f.rn
            ends = rn(rn(lo - e) + low), rn(rn(hi + e) + high)
            self.made[key] = self.name(max(ZERO, ends[0]), max(ZERO, ends[1]))
        return self.made[key]


class _Step:
    """What one token of a class makes of one cell."""

    def __init__(self, r: Recurrence, cell: str, c: Class) -> None:
        self.r, self.cell = r, cell
        needed = [sorted(r.cells[cell])]  # the columns of each stage that matter, the old state first
        for into in reversed(r.into):
            needed.insert(0, sorted({a for made in needed[0] for a in into.get(made, {})}))
        self.reads = sorted({*r.machine.reads(cell), *(r.owner[a] for a in needed[0])})
        stages = list(zip(r.into, r.b, needed[1:], strict=True))
        self.inputs = [[(a, tuple(into.get(a, {}))) for a in made] for into, _, made in stages]
        self.b = [{a: r.name(b.get(a, ZERO), b.get(a, ZERO)) for a in made} for _, b, made in stages]
        x, units, spec = r.s.x[c.name], needed[1], r.machine.numbers.get(c.name, ())
        named: dict[Any, Any] = {r.s.plain(field, c): field for field in x.terms if isinstance(field, Number)}
        acts = [named.get(number, number) for number in spec]  # one that no column shows may be any
        also = {number: x.keys[number] if number in x.terms else r.s.rows(number, c) for number in acts}
        letters: dict[Any, None] = {}
        for at, ends in readings(r.added(c, units), units, also):
            action = r.machine.action(c.name, tuple(at[number] for number in acts))
            letters[tuple(r.name(*end) for end in ends), action] = None
        self.letters = [(dict(zip(units, add, strict=True)), action) for add, action in letters]

    def turned(self, now: Standing) -> dict[int, Ids]:
        """The values that the cell may take, and the numbers that stand there then."""
        r, found = self.r, dict[int, Ids]()
        r.work += sum(map(len, self.inputs)) * len(self.letters) * prod(len(now[c]) for c in self.reads)
        need(r.work <= _WORK, "too many states to follow")
        for values in product(*(now[c] for c in self.reads)):
            at = dict(zip(self.reads, values, strict=True))
            stands = [(r.cells[cell], now[cell][a]) for cell, a in at.items()]
            old = {c: i for columns, ids in stands for c, i in zip(columns, ids, strict=True)}
            seen = tuple(at[c] for c in r.machine.reads(self.cell))
            for add, action in self.letters:
                ids, value = self._ids(old, add), r.machine.turn(self.cell, seen, action)
                need(found.setdefault(value, ids) == ids, f"{self.cell} stands there in two ways")
        ends = [r.intervals[i] for ids in found.values() for i in ids]
        need(all(lo == hi for lo, hi in ends), f"{self.cell} becomes no exact number")
        return found

    def _ids(self, ids: dict[int, int], add: dict[int, int]) -> Ids:
        for stage, inputs in enumerate(self.inputs):
            b = add if not stage else self.b[stage]
            ids = {c: self.r.unit(stage, c, tuple([ids[a] for a in into]), b[c]) for c, into in inputs}
        return tuple([ids[c] for c in self.r.cells[self.cell]])
