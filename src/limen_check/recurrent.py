"""Recurrences: a linear state with one writer (R4, R11), a ReLU recurrence against the task's machine (R12).

A ReLU recurrence over finite fields whose states are exact numbers is a finite machine.  It is followed side
by side with the machine of the task's spec, cell by cell: a CELL (a flag, a slot of a stack, a counter)
stands in some columns of the state, and its value fixes the numbers there.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

from limen_check.automata import Machine, Values
from limen_check.files import need
from limen_check.vectors import NONE, ONE, ZERO, Format, Interval, Matrix, Vec, grain

_WORK = 1 << 18  # pairs of (cells, letter) that are followed in one layer
_LETTERS = 1 << 16  # of a class

Cells = Mapping[str, Sequence[int]]  # the columns of the state where a cell stands
Standing = dict[str, dict[int, Values]]  # cell -> its value -> the names of the numbers in its columns


def carried(q: Vec, keys: Mapping[str, Vec]) -> str | None:
    """R4: φ = relu, normalised.  The class whose value is read, or None where nothing is read, so 0.

    ReLU(q) = 0 makes the normaliser 0, and by definition the output, too.  Else one class alone has a key
    that ReLU leaves: exactly e_c, for a c where q is exactly 1.  If it is one token, and visible, then row c
    of the state is (v, 1), all other rows are 0, and (1·v + 0)/(1·1 + 0) = v, exactly, in any order.
    """
    if not _left(q):
        return None
    writers = [name for name, k in keys.items() if _left(k)]
    need(len(writers) == 1, "several classes write into a linear state")
    k = keys[writers[0]]
    (c, *others) = _left(k)
    exact = all(x.const.get(c) == 1 and not x.of(c) and c not in x.err for x in (q, k))
    need(not others and exact, "the weight in a linear state is not 1")
    return writers[0]


def _left(x: Vec) -> list[int]:
    """The columns that may be positive."""
    return [c for c in sorted(x.columns()) if max(x.values(c)[0]) + x.err.get(c, NONE)[1] > 0]


class Written(NamedTuple):
    """The query's field, the key's, and for each row of the one the row of the other."""

    asks: Hashable
    holds: Hashable
    choice: tuple[int, ...]


def written(q: Vec, k: Vec) -> Written:
    """R11: φ = identity, no normaliser.  Queries and keys are unit vectors, one for each row of a field.

    If a row of the key's field is one token, and the other tokens write nothing, row c of the state is the
    value of the token whose key is e_c, plus zeros, and so is the output: exactly, in any order and grouping.
    """
    (asks, at), (holds, under) = _units(q), _units(k)
    row = {c: b for b, c in enumerate(under)}
    need(len(row) == len(under), "two keys of a linear state are the same")
    need(all(c in row for c in at), "what is asked for was never written")
    return Written(asks, holds, tuple(row[c] for c in at))


def _units(x: Vec) -> tuple[Hashable, list[int]]:
    """The one field of a vector that is a unit vector in every row, and the column of each row's 1."""
    need(len(x.terms) == 1 and not x.const and not x.err, "the keys of a linear state are no unit vectors")
    [(field, rows)] = x.terms.items()
    at: list[list[int]] = [[] for _ in rows.keys]
    for c, column in rows.columns.items():
        need(set(column.levels) <= {ZERO, ONE}, "the keys of a linear state are no unit vectors")
        for i, level in enumerate(column.at):
            if column.levels[level]:
                at[i].append(c)
    need(all(len(found) == 1 for found in at), "the keys of a linear state are no unit vectors")
    return field, [found[0] for found in at]


class Recurrence:
    """h' = ReLU(… ReLU(hW₁ + xU + b₁)W₂ + b₂ …), rounded after every product and every sum.

    R12.  `follow` gives the numbers that stand in the columns of each cell, by the cell's value, after every
    token of a class.  Soundness: before the first token the state is 0 and the cells are `start`.  A step is
    evaluated for all values of the cells and all rows of the token's fields on which a cell's columns, or its
    `turn`, depend: a superset of what occurs, as cells and fields are taken as independent.  Every number
    that a step makes lies between the images of its ends, since rounding to nearest, ReLU and products with a
    constant are monotone; the new state must be one exact number a column, and the same one whenever the
    cell's value is the same.  What the first token of a class reaches, closed under further tokens, holds
    after each of them; a class of one token is one step.
    """

    def __init__(self, f: Format, W: Mapping[str, Matrix], stages: int) -> None:
        self.f, self.U = f, W["U"]
        self.into = [_transposed(W[f"W{s}"]) for s in range(1, stages + 1)]
        self.b = [W[f"b{s}"].get(0, {}) for s in range(1, stages + 1)]
        self.intervals: list[Interval] = []  # by name: names are cheap to compare
        self.names: dict[Values, int] = {}
        self.made: dict[Values, int] = {}
        self.work = 0

    def follow(self, m: Machine, cells: Cells, order: Iterable[tuple[str, int, Vec]]) -> dict[str, Standing]:
        """For the classes (name, tokens, vectors) in the order of the text."""
        owner = {column: cell for cell, columns in cells.items() for column in columns}
        known = cells.keys() == m.start.keys() and len(owner) == sum(map(len, cells.values()))
        need(known, "other cells than the task's, or a column in two of them")
        now: Standing = {cell: {m.start[cell]: (self.name(ZERO, ZERO),) * len(cells[cell])} for cell in cells}
        after: dict[str, Standing] = {}
        for name, count, x in order:
            steps = {cell: _Step(self, m, cells, owner, cell, name, x) for cell in cells}
            now = {cell: step.turned(now) for cell, step in steps.items()}
            stale = set(cells) if count > 1 else set()
            while stale:
                cell = stale.pop()
                new = steps[cell].turned(now)
                need(
                    all(now[cell].get(v, t) == t for v, t in new.items()), f"{cell} stands there in two ways"
                )
                if new.keys() - now[cell].keys():
                    now[cell] |= new
                    stale |= {c for c, step in steps.items() if cell in step.reads}
            after[name] = now
        return after

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
            e, (low, high), rn = (
                self.f.inside(size, len(ids), min(steps) if exact else None),
                self.intervals[add],
                self.f.rn,
            )
            ends = rn(rn(lo - e) + low), rn(rn(hi + e) + high)
            self.made[key] = self.name(max(ZERO, ends[0]), max(ZERO, ends[1]))
        return self.made[key]


class _Step:
    """What one token of a class makes of one cell."""

    def __init__(
        self, r: Recurrence, m: Machine, cells: Cells, owner: Mapping[int, str], cell: str,
        name: str, x: Vec,
    ) -> None:  # fmt: skip
        self.r, self.m, self.cells, self.cell = r, m, cells, cell
        self.needed = [sorted(cells[cell])]  # the columns of each stage that matter, the old state first
        for into in reversed(r.into):
            self.needed.insert(0, sorted({a for c in self.needed[0] for a in into.get(c, {})}))
        need(all(c in owner for c in self.needed[0]), "a column of no cell is read")
        self.inputs = [
            [(c, tuple(into.get(c, {}))) for c in made]
            for into, made in zip(r.into, self.needed[1:], strict=True)
        ]
        biases = zip(r.b, self.needed[1:], strict=True)
        self.b = [{c: r.name(b.get(c, ZERO), b.get(c, ZERO)) for c in made} for b, made in biases]
        self.reads = sorted({*m.reads(cell), *(owner[c] for c in self.needed[0])})
        self.letters = self._letters(name, x)

    def _letters(self, name: str, x: Vec) -> list[tuple[dict[int, int], Any]]:
        """What a token adds inside, by name, and how it acts."""
        r, units, wanted = self.r, self.needed[1], self.m.fields.get(name, ())
        u = x.times(_cut(r.U, units), r.f).plus(Vec({c: r.b[0].get(c, ZERO) for c in units}), r.f)
        keys = {field: x.terms[field].keys for field in x.terms if field in u.terms or field in wanted}
        need(all(field in keys for field in wanted), f"{name} does not tell how it acts")
        need(prod(map(len, keys.values())) <= _LETTERS, f"{name} has too many letters")
        parts = {c: (u.const.get(c, ZERO), u.err.get(c, NONE), u.of(c)) for c in units}
        found: dict[tuple[Values, Hashable], None] = {}
        for picked in product(*map(range, map(len, keys.values()))):
            at, add = dict(zip(keys, picked, strict=True)), []
            for base, (lo, hi), columns in parts.values():
                v = sum((column.levels[column.at[at[field]]] for field, column in columns.items()), base)
                add.append(r.name(v + lo, v + hi))
            acts = self.m.action(name, tuple(keys[field][at[field]] for field in wanted))
            found[tuple(add), acts] = None
        return [(dict(zip(units, add, strict=True)), action) for add, action in found]

    def turned(self, now: Standing) -> dict[int, Values]:
        """The values that the cell may take, and the numbers that stand there then."""
        r, found = self.r, dict[int, Values]()
        r.work += len(self.letters) * prod(len(now[c]) for c in self.reads)
        need(r.work <= _WORK, "too many states to follow")
        for values in product(*(now[c] for c in self.reads)):
            at = dict(zip(self.reads, values, strict=True))
            old = {
                c: i for cell, a in at.items() for c, i in zip(self.cells[cell], now[cell][a], strict=True)
            }
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


def _transposed(M: Matrix) -> dict[int, dict[int, Fraction]]:
    found: dict[int, dict[int, Fraction]] = {}
    for r, row in M.items():
        for c, v in row.items():
            if v:
                found.setdefault(c, {})[r] = v
    return found


def _cut(M: Matrix, columns: Iterable[int]) -> Matrix:
    """The columns of a matrix that matter."""
    kept = set(columns)
    return {r: new for r, row in M.items() if (new := {c: v for c, v in row.items() if c in kept})}
