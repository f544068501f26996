"""A ReLU recurrence against the task's machine (R12).

A ReLU recurrence over finite fields whose states are exact numbers is a finite machine.  It is followed side
by side with the machine of the task's spec, cell by cell: a CELL (a flag, a slot of a stack, a counter)
stands in some columns of the state, and its value fixes the numbers there.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

from limen_check.can.readout import readings
from limen_check.can.state import State
from limen_check.can.tasks import Class, Decision, Machine, Number, Read, Spec
from limen_check.can.vectors import ONE, ZERO, Column, Interval, Vec, grain
from limen_check.files import expect, need, typed
from limen_check.record import entered
from limen_check.text import Call

_WORK = 1 << 21  # units that are evaluated in one layer
Ids = tuple[int, ...]  # names of intervals
Standing = dict[str, dict[int, Ids]]  # cell -> its value -> the numbers in its columns


def machine_of(spec: Spec) -> Machine:
    """The task as a machine: its own, or the one that watches for what the answer asks for."""
    match spec.answer if spec.machine is None else ():
        case (Decision((Number(Read("exists", where, facts) as asked),)),):
            (fact,) = facts
            return Machine(
                cells={"found": asked},
                numbers={where: fact.keys},
                action=lambda c, at: c == where and at in fact.rows,
                reads=lambda cell: ("found",),
                turn=lambda cell, old, hit: int(old[0] or hit),
            )
    need(spec.machine is not None, "no machine is known for this task")
    return spec.machine  # type: ignore[return-value]


def shapes(call: Call, width: int) -> dict[str, tuple[int, ...]]:
    """The shapes of a ReLU recurrence of d numbers, `inner` of them between stages."""
    need(call.arguments.keys() <= {"d", "stages", "inner", "p"}, "relu_rnn with other options")
    d, stages = call.number("d"), call.number("stages", 1, 8, default=1)
    sizes = [d, *[call.number("inner", default=d)] * (stages - 1), d]
    made: dict[str, tuple[int, ...]] = {"U": (width, sizes[1]), "O": (d, width)}
    for i in range(1, stages + 1):
        made |= {f"W{i}": (sizes[i - 1], sizes[i]), f"b{i}": (sizes[i],)}
    return made


def relu_rnn(s: State, at: str, call: Call) -> dict[str, Vec]:
    """What it adds to every class: its state, as cells of the machine, times O (R12); or R19, R32."""
    if s.spec.vertices:
        from limen_check.can.rules import walk

        entered(walk.relu_rnn)
        return walk.relu_rnn(s, at, call)
    if "cells" not in s.hints:
        from limen_check.can.rules import step_by_step

        entered(step_by_step.relu_rnn)
        return step_by_step.relu_rnn(s, at, call.number("stages", default=1))
    O, r = s.matrix(f"{at}.O"), Recurrence(s, at, call)
    after, out = r.follow(), {}
    for c in s.classes.values():
        home = next(k for k in r.order if k.first + k.last >= c.first + c.last)
        need(home.first + home.start <= c.first + c.start, "a view of two classes")
        out[c.name] = r.vector(after[home.name]).times(O, s.f)
    return out


class Recurrence:
    """R12: h' = ReLU(… ReLU(hW₁ + xU + b₁)W₂ + b₂ …), rounded after every product and every sum."""

    def __init__(self, s: State, at: str, call: Call) -> None:
        self.s, self.f, self.machine, d = s, s.f, machine_of(s.spec), call.number("d")
        stages = range(1, call.number("stages", default=1) + 1)
        self.into, self.U = [s.matrix(f"{at}.W{i}") for i in stages], s.matrix(f"{at}.U")
        self.b = [s.vector(f"{at}.b{i}").const for i in stages]
        self.cells: dict[str, Sequence[int]] = s.hints.get("cells", {})
        typed(self.cells, {str: [int]}, "hints: cells")
        owner = {column: cell for cell, columns in self.cells.items() for column in columns}
        expect(all(0 <= c < d for c in owner), "hints: no such column of the state")
        whole = len(owner) == d == sum(map(len, self.cells.values()))
        need(whole and self.cells.keys() == self.machine.cells.keys(), "not every column is in one cell")
        self.order = sorted(s.text, key=lambda c: c.first + c.start)
        need(all(c.step == 1 for c in self.order), "a recurrence over tokens of two classes in turn")
        self.needed, self.reads = dict[str, list[list[int]]](), dict[str, list[str]]()
        for cell, columns in self.cells.items():  # the columns of each stage that matter, the old state first
            needed = [sorted(columns)]
            for into in reversed(self.into):
                needed.insert(0, sorted({a for made in needed[0] for a in into.get(made, {})}))
            self.needed[cell] = needed
            self.reads[cell] = sorted({*self.machine.reads(cell), *(owner[a] for a in needed[0])})
        for i in stages[:-1]:  # so every unit is looked at, and none overflows
            inner = {a for needed in self.needed.values() for a in needed[i]}
            need(len(inner) == s.model.weights[f"{at}.b{i}"].shape[0], "a unit that no cell needs")
        self.intervals, self.names = list[Interval](), dict[Interval, int]()  # names are cheap to compare
        self.made, self.work, self.letters = dict[Ids, int](), 0, lru_cache(None)(self._letters)

    def _letters(self, cell: str, c: Class) -> list[tuple[dict[int, int], Any]]:
        """What a token of class c adds inside, xU + b₁, and how it acts."""
        s, x, units = self.s, self.s.x[c.name], self.needed[cell][1]
        u = x.times({a: self.U[a] for a in units if a in self.U}, self.f)
        u = u.plus(Vec.of({a: self.b[0].get(a, ZERO) for a in units}), self.f)
        named: dict[Any, Any] = {s.plain(field, c): field for field in x.terms if isinstance(field, Number)}
        acts = [
            named.get(n, n) for n in self.machine.numbers.get(c.name, ())
        ]  # one that is not shown may be any
        also = {n: x.keys[n] if n in x.terms else s.rows(n, c) for n in acts}
        letters: dict[Any, None] = {}
        for at, ends in readings(u, units, also):
            action = self.machine.action(c.name, tuple(at[n] for n in acts))
            letters[tuple(self.name(*end) for end in ends), action] = None
        return [(dict(zip(units, add, strict=True)), action) for add, action in letters]

    def name(self, lo: Fraction, hi: Fraction) -> int:
        if (lo, hi) not in self.names:
            self.names[lo, hi] = len(self.intervals)
            self.intervals.append((lo, hi))
        return self.names[lo, hi]

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

    def turned(self, cell: str, c: Class, now: Standing) -> dict[int, Ids]:
        """The values that a cell may take after a token of class c, and the numbers that stand there then."""
        needed, standing, reads = self.needed[cell], dict[int, Ids](), self.reads[cell]
        self.work += sum(map(len, needed[1:])) * len(self.letters(cell, c)) * prod(len(now[i]) for i in reads)
        need(self.work <= _WORK, "too many states to follow")
        for values in product(*(now[i] for i in reads)):
            at, old = dict(zip(reads, values, strict=True)), dict[int, int]()
            for i, value in at.items():
                old |= zip(self.cells[i], now[i][value], strict=True)
            for ids, action in self.letters(cell, c):
                h = old
                for stage, (into, units) in enumerate(zip(self.into, needed[1:], strict=True)):
                    add = {a: self.name(v, v) for a, v in self.b[stage].items()} if stage else ids
                    h = {
                        a: self.unit(stage, a, tuple([h[i] for i in into.get(a, {})]), add.get(a, 0))
                        for a in units
                    }
                value = self.machine.turn(cell, tuple(at[i] for i in self.machine.reads(cell)), action)
                made = tuple([h[a] for a in self.cells[cell]])
                need(standing.setdefault(value, made) == made, f"{cell} stands there in two ways")
        ends = [self.intervals[i] for made in standing.values() for i in made]
        need(all(lo == hi for lo, hi in ends), f"{cell} becomes no exact number")
        return standing

    def follow(self) -> dict[str, Standing]:
        """What stands in the cells after the tokens of each class, in the order of the text."""
        now: Standing = {cell: {0: (self.name(ZERO, ZERO),) * len(at)} for cell, at in self.cells.items()}
        after: dict[str, Standing] = {}
        for c in self.order:
            now = {cell: self.turned(cell, c, now) for cell in self.cells}
            stale, left = {*self.cells}, c.count - 1
            while stale and left:  # after as many tokens as the class has, or closed under further ones
                left -= 1
                new = {cell: self.turned(cell, c, now) for cell in stale}
                same = all(new[cell].get(v, ids) == ids for cell in new for v, ids in now[cell].items())
                need(same, "a cell stands there in two ways")
                changed = {cell for cell in new if new[cell].keys() - now[cell].keys()}
                now = now | {cell: now[cell] | new[cell] for cell in new}
                stale = {cell for cell in self.cells if changed & {*self.reads[cell]}}
            after[c.name] = now
        return after

    def vector(self, standing: Standing) -> Vec:
        """The state after a token of a class; a cell that stands there in binary, bit by bit."""
        out = Vec.of({})
        for cell, values in standing.items():
            keys, known = tuple(sorted(values)), Number(self.machine.cells[cell])
            rows = {
                c: [self.intervals[values[v][i]][0] for v in keys] for i, c in enumerate(self.cells[cell])
            }
            if len(keys) > 2 and all([v >> i & 1 for v in keys] == at for i, at in enumerate(rows.values())):
                for i, c in enumerate(rows):
                    bit = {c: Column.of([ZERO, ONE])}
                    out = out.plus(Vec.table(known._replace(div=1 << i, mod=2), (0, 1), bit))
            else:
                out = out.plus(Vec.table(known, keys, {c: Column.of(at) for c, at in rows.items()}))
        return out
