"""Recurrences: a linear state with one writer (R4, R11), a ReLU recurrence against the task's machine (R12).

A ReLU recurrence over finite fields whose states are exact numbers is a finite machine.  It is followed side
by side with the machine of the task's spec, cell by cell: a CELL (a flag, a slot of a stack, a counter)
stands in some columns of the state, and its value fixes the numbers there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from limen_check.attention import Ask, Head, Match, moved, relation
from limen_check.automata import Machine, Values
from limen_check.automata import found as watches
from limen_check.files import Refused, expect, need, typed
from limen_check.state import Mixer, Shapes, State
from limen_check.tasks import NO_FACTS, PLACE, Among, Decision, Exists, Number, Spec
from limen_check.vectors import ONE, ZERO, Class, Column, Interval, Matrix, Rows, Vec, grain

_WORK = 1 << 21  # units that are evaluated in one layer
_LETTERS = 1 << 16  # of a class

Cells = Mapping[str, Sequence[int]]  # the columns of the state where a cell stands
Standing = dict[str, dict[int, Values]]  # cell -> its value -> the names of the numbers in its columns


def linear(s: State, m: Mixer) -> dict[str, Vec]:
    """One head whose state has one writer for whoever asks."""
    how = m.sizes.get("phi"), m.sizes.get("normalise", True)
    need(how in (("relu", True), ("identity", False)) and m.size("h") == 1, "another linear state")
    need("p" not in m.sizes or how[0] == "identity", "a linear state whose numbers are not looked at")
    Q, K, V, O = (s.matrix(m.name(name)) for name in "QKVO")
    head, out = Head.of(s, K, V, both=False), {}
    asks = [Ask(head, c, Q) for c in s.classes.values()]
    _finite(head, [ask.q for ask in asks], normalised=how[0] == "relu")
    looked_at = any(ask.q.forms for ask in asks) or not any(_writes(head, d) for d in s.text)
    need("p" not in m.sizes or looked_at, "a linear state whose numbers are not looked at")
    for ask in asks:
        c = ask.c
        look = s.looks.get((m.layer, m.part, 0, c.name), [])
        got = _carried(ask) if how[0] == "relu" else _written(ask, look, min(64, m.size("p", 64)))
        out[c.name] = got.times(O, s.f)
    return out


def _finite(head: Head, queries: list[Vec], normalised: bool) -> None:
    """Every number on the way is finite, whoever asks: 0·∞ is no number.  All roundings: a factor 8."""
    s, most = head.state, head.state.f.largest / 8
    need(s.short, "the input is too long for sums in this precision")
    q = {c: max(x.form(c).cap for x in queries) for x in queries for c in x.forms}
    keys = {d: {c: head.key[d.name].form(c).cap for c in head.key[d.name].forms} for d in s.text}
    scores = [sum((q.get(c, ZERO) * k for c, k in key.items()), ZERO) for key in keys.values()]
    need(max(scores) <= most, "a score overflows")
    for v in [*head.columns, None] if normalised else head.columns:  # None: the ones that count
        state: dict[int, Fraction] = {}
        for d, key in keys.items():
            size = d.count * (ONE if v is None else head.value[d.name].form(v).cap)
            for c, k in key.items() if size else ():
                state[c] = state.get(c, ZERO) + k * size
        need(max(state.values(), default=ZERO) <= most, "a linear state overflows")
        need(sum((q.get(c, ZERO) * k for c, k in state.items()), ZERO) <= most, "a sum overflows")


def _carried(ask: Ask) -> Vec:
    """R4: φ = relu, normalised; one token alone has a key that ReLU leaves, and its weight is exactly 1."""
    if not _left(ask.q):
        return Vec.of({})
    writers = [d for d in ask.seen if _left(ask.head.key[d.name])]
    need(len(writers) == 1 and writers[0].count == 1, "several tokens write into a linear state")
    need(ask.before(writers[0]), "what a linear state holds may be written later")
    k = ask.head.key[writers[0].name]
    (c, *others) = _left(k)
    exact = all(x.const.get(c) == 1 and not x.form(c).terms and c not in x.err for x in (ask.q, k))
    need(not others and exact, "the weight in a linear state is not 1")
    return moved(ask.head.value[writers[0].name], writers[0], NO_FACTS, ask.c)


def _left(x: Vec) -> list[int]:
    """The columns that may be positive."""
    return [c for c in sorted(x.forms) if x.form(c).ends[1] > 0]


def _written(ask: Ask, look: list[Any], p: int) -> Vec:
    """R11: φ = identity, no normaliser; queries and keys are unit vectors, one for each row of a number."""
    if not ask.q.forms:
        return Vec.of({})
    known = {d.name: d for d in ask.seen}
    expect(len(look) == 2 and isinstance(look[1], str), "hints: no such rule, or class")
    expect(look[0] == "written" and look[1] in known, "hints: no such rule, or class")
    d, head = known[look[1]], ask.head
    key, value = head.key[d.name], head.value[d.name]
    writes = [e for e in (ask.seen if p == 64 else ask.state.text) if _writes(head, e)]
    need({*writes} <= {d}, "another class writes into the state")
    (x, at), (y, under) = _units(ask.q), _units(key)
    apart = y.of == PLACE and y.div == 1 and ask.state.plain(y, d).mod == 0
    row = dict(zip(under, key.terms[y].keys, strict=True))
    need(apart and len(row) == len(under), "two tokens may have the same key")
    need(all(c in row for c in at), "what is asked for was never written")
    for c in head.columns if p < 64 else ():
        levels, all_of_them = value.form(c).values
        need(all_of_them and c not in value.err and len({*levels, ZERO}) <= 1 << p, f"more than {p} bits")
    asked = {a: row[c] for a, c in zip(ask.q.terms[x].keys, at, strict=True)}
    facts = relation(ask.state, Match([(x, y, asked)], None, ZERO, ZERO, {}), ask.c, d)
    ask.unique(facts, d)
    return moved(value, d, facts, ask.c)


def _writes(head: Head, d: Class) -> bool:
    return bool(head.key[d.name].forms and head.value[d.name].forms)


def _units(x: Vec) -> tuple[Number, list[int]]:
    """The one number whose rows are unit vectors, and the column of each row's 1."""
    field, rows = next(iter(x.terms.items()), (None, Rows((), {})))
    if not isinstance(field, Number) or len(x.terms) > 1 or x.const or x.err:
        raise Refused("the keys of a linear state are no unit vectors")
    at: list[list[int]] = [[] for _ in rows.keys]
    for c, column in rows.columns.items():
        need(set(column.levels) <= {ZERO, ONE}, "the keys of a linear state are no unit vectors")
        for i, level in enumerate(column.at):
            if column.levels[level]:
                at[i].append(c)
    need(all(len(found) == 1 for found in at), "the keys of a linear state are no unit vectors")
    return field, [found[0] for found in at]


def machine_of(spec: Spec) -> Machine:
    """The task as a machine: its own, or the one that watches for what the answer asks for."""
    for answer in () if spec.machine else spec.answer:
        match answer:
            case Decision((Number(Exists(where, facts) as asked),)):
                for fact in facts:
                    if isinstance(fact, Among) and len(facts) == 1:
                        return watches(asked, where, fact.numbers, fact.rows)
    if spec.machine is None:
        raise Refused("no machine is known for this task")
    return spec.machine


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
    cells = s.hints.get("cells", {})
    typed(cells, {str: [int]}, "hints: cells")
    inside = all(0 <= c < m.size("d") for at in cells.values() for c in at)
    expect(inside, "hints: no such column of the state")
    order = sorted(s.text, key=lambda c: c.first + c.start)
    need(all(c.step == 1 for c in order), "a recurrence over tokens of two classes in turn")
    W, machine = {name: s.matrix(m.name(name)) for name in shapes(m, s.width)}, machine_of(s.spec)
    r, out = Recurrence(s, W, m.size("stages", 1)), {}
    owned = {c for at in cells.values() for c in at}
    need({r for column in W["O"].values() for r in column} <= owned, "a column of no cell is read")
    after = r.follow(machine, cells, order)
    r.finite(cells, after, order)
    for c in s.classes.values():
        home = next(k for k in order if k.first + k.last >= c.first + c.last)
        need(home.first + home.start <= c.first + c.start, "a view of two classes")
        out[c.name] = r.vector(machine, cells, after[home.name]).times(W["O"], s.f)
    return out


class Recurrence:
    """R12: h' = ReLU(… ReLU(hW₁ + xU + b₁)W₂ + b₂ …), rounded after every product and every sum."""

    def __init__(self, s: State, W: Mapping[str, Matrix], stages: int) -> None:
        self.s, self.f, self.U = s, s.f, W["U"]
        self.into = [W[f"W{i}"] for i in range(1, stages + 1)]
        self.b = [{c: column[0] for c, column in W[f"b{i}"].items()} for i in range(1, stages + 1)]
        self.intervals: list[Interval] = []  # by name: names are cheap to compare
        self.names: dict[Values, int] = {}
        self.made: dict[Values, int] = {}
        self.work = 0

    def follow(self, m: Machine, cells: Cells, order: Iterable[Class]) -> dict[str, Standing]:
        """For the classes in the order of the text."""
        owner = {column: cell for cell, columns in cells.items() for column in columns}
        known = cells.keys() == m.start.keys() and len(owner) == sum(map(len, cells.values()))
        need(known, "other cells than the task's, or a column in two of them")
        now: Standing = {i: {m.start[i]: (self.name(ZERO, ZERO),) * len(cells[i])} for i in cells}
        after: dict[str, Standing] = {}
        for c in order:
            steps = {cell: _Step(self, m, cells, owner, cell, c) for cell in cells}
            now = {cell: step.turned(now) for cell, step in steps.items()}
            stale = set(cells) if c.count > 1 else set()
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

    def finite(self, cells: Cells, after: Mapping[str, Standing], order: Iterable[Class]) -> None:
        """Every unit is finite, also what no cell needs: below twice its sizes, but for subnormals."""
        owned = {c for columns in cells.values() for c in columns}
        need({a for row in self.into[0].values() for a in row} <= owned, "a column of no cell is read")
        sizes: dict[int, Fraction] = {}
        for cell, found in ((i, found) for now in after.values() for i, found in now.items()):
            for ids in found.values():
                for c, i in zip(cells[cell], ids, strict=True):
                    sizes[c] = max(sizes.get(c, ZERO), *map(abs, self.intervals[i]))
        for text in order:
            u = self.s.x[text.name].times(self.U, self.f).plus(Vec.of(self.b[0]), self.f)
            adds, now = {a: u.form(a).cap for a in u.forms}, sizes
            for stage, into in enumerate(self.into):
                adds = {a: abs(v) for a, v in self.b[stage].items()} if stage else adds
                made = {a: adds.get(a, ZERO) for a in into.keys() | adds.keys()}
                for a, row in into.items():
                    made[a] += sum((now.get(r, ZERO) * abs(w) for r, w in row.items()), ZERO)
                now = {a: 2 * size + 1 for a, size in made.items()}
                need(max(now.values(), default=ZERO) <= self.f.largest, "a unit overflows")

    def vector(self, m: Machine, cells: Cells, standing: Standing) -> Vec:
        """The state after a token of a class; a cell that stands there in binary, bit by bit."""
        out = Vec.of({})
        for cell, found in standing.items():
            keys, known = tuple(sorted(found)), Number(m.cells[cell])
            rows = {c: [self.intervals[found[v][i]][0] for v in keys] for i, c in enumerate(cells[cell])}
            if len(keys) > 2 and all([v >> i & 1 for v in keys] == at for i, at in enumerate(rows.values())):
                for i, c in enumerate(rows):
                    bit = Rows((0, 1), {c: Column.of([ZERO, ONE])})
                    out = out.plus(Vec.of({}, {replace(known, div=1 << i, mod=2): bit}))
            else:
                columns = {c: Column.of(at) for c, at in rows.items()}
                out = out.plus(Vec.of({}, {known: Rows(keys, columns)}))
        return out

    def name(self, lo: Fraction, hi: Fraction) -> int:
        key = lo.numerator, lo.denominator, hi.numerator, hi.denominator
        if key not in self.names:
            self.names[key] = len(self.intervals)
            self.intervals.append((lo, hi))
        return self.names[key]

    def unit(self, stage: int, c: int, ids: Values, add: int) -> int:
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

    def __init__(
        self, r: Recurrence, m: Machine, cells: Cells, owner: Mapping[int, str], cell: str, c: Class
    ) -> None:
        self.r, self.m, self.cells, self.cell = r, m, cells, cell
        needed = [sorted(cells[cell])]  # the columns of each stage that matter, the old state first
        for into in reversed(r.into):
            needed.insert(0, sorted({a for made in needed[0] for a in into.get(made, {})}))
        need(all(a in owner for a in needed[0]), "a column of no cell is read")
        self.reads = sorted({*m.reads(cell), *(owner[a] for a in needed[0])})
        stages = list(zip(r.into, r.b, needed[1:], strict=True))
        self.inputs = [[(a, tuple(into.get(a, {}))) for a in made] for into, _, made in stages]
        self.b = [{a: r.name(b.get(a, ZERO), b.get(a, ZERO)) for a in made} for _, b, made in stages]
        self.letters = self._letters(c, needed[1])

    def _letters(self, c: Class, units: list[int]) -> list[tuple[dict[int, int], Any]]:
        """What a token adds inside, by name, and how it acts."""
        r, x, wanted = self.r, self.r.s.x[c.name], self.m.numbers.get(c.name, ())
        bias = Vec.of({a: r.b[0].get(a, ZERO) for a in units})
        u = x.times({a: r.U[a] for a in units if a in r.U}, r.f).plus(bias, r.f)
        parts = [u.form(a) for a in units]
        named: dict[Any, Any] = {r.s.plain(field, c): field for field in x.terms if isinstance(field, Number)}
        keys: dict[Hashable, tuple[Any, ...]] = {field: rows.keys for field, rows in u.terms.items()}
        acts = [named.get(number, number) for number in wanted]  # one that no column shows may be any
        for number in acts:
            if number not in keys:
                shown = number in x.terms
                need(shown or number.mod > 0 or c.name not in r.s.spec.ids, "no column shows what acts")
                keys[number] = x.terms[number].keys if shown else r.s.rows(number, c)
        many = prod(map(len, keys.values()))
        r.work += many * len(units)
        need(many <= _LETTERS and r.work <= _WORK, f"{c.name} has too many letters")
        letters: dict[tuple[Values, Hashable], None] = {}
        for picked in product(*map(range, map(len, keys.values()))):
            at, add = dict(zip(keys, picked, strict=True)), []
            for form in parts:
                v = sum((col.levels[col.at[at[field]]] for field, col in form.terms.items()), form.const)
                add.append(r.name(v + form.err[0], v + form.err[1]))
            letters[tuple(add), self.m.action(c.name, tuple(keys[i][at[i]] for i in acts))] = None
        return [(dict(zip(units, add, strict=True)), action) for add, action in letters]

    def turned(self, now: Standing) -> dict[int, Values]:
        """The values that the cell may take, and the numbers that stand there then."""
        r, found = self.r, dict[int, Values]()
        r.work += sum(map(len, self.inputs)) * len(self.letters) * prod(len(now[c]) for c in self.reads)
        need(r.work <= _WORK, "too many states to follow")
        for values in product(*(now[c] for c in self.reads)):
            at = dict(zip(self.reads, values, strict=True))
            stands = [(self.cells[cell], now[cell][a]) for cell, a in at.items()]
            old = {c: i for columns, ids in stands for c, i in zip(columns, ids, strict=True)}
            seen = tuple(at[c] for c in self.m.reads(self.cell))
            for add, action in self.letters:
                ids, value = self._ids(old, add), self.m.turn(self.cell, seen, action)
                need(found.setdefault(value, ids) == ids, f"{self.cell} stands there in two ways")
        ends = [r.intervals[i] for ids in found.values() for i in ids]
        need(all(lo == hi for lo, hi in ends), f"{self.cell} becomes no exact number")
        return found

    def _ids(self, ids: dict[int, int], add: dict[int, int]) -> Values:
        for stage, inputs in enumerate(self.inputs):
            b = add if not stage else self.b[stage]
            ids = {c: self.r.unit(stage, c, tuple([ids[a] for a in into]), b[c]) for c, into in inputs}
        return tuple([ids[c] for c in self.cells[self.cell]])
