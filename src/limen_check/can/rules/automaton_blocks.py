"""R33: bidirectional softmax heads that average over blocks of places, along a machine of few states.

A token is known by its step up to the first strange one, as in R24–R27; tokens behind it are wild.  Scores
are made of digits of the places alone: a head gives 1/N to each of the N tokens that share some digits with
the one that asks, and 0 to all others, whatever they hold.  It sees later tokens, wild ones among them, but

    Σ_{j<i} v_j  =  Σ_g Σ_{c < d_g(i)} (the v_j of i's block of digit g whose own digit g is c)

and each inner sum is N times a column of what a head reads, whose values are 0 at all other digits.  A unit
that is closed where c ≥ d_g takes it in or leaves it out.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

from limen_check.can.rational import Rational
from limen_check.can.rules.attention import weight
from limen_check.can.rules.automaton_paths import Kind, Walk, least, looked_at
from limen_check.can.rules.by_digit import (
    NOTHING,
    Before,
    Box,
    Boxes,
    Digit,
    Sums,
    Value,
    apart,
    cap,
    chain,
    constants,
    digit,
    each,
    relu,
    rows,
    used,
    value,
)
from limen_check.can.scores import Table
from limen_check.can.state import cut, growth, rounded
from limen_check.can.tasks import Spec
from limen_check.can.vectors import ONE, ZERO, Column, Format, Interval, Matrix, above, grain, level, power
from limen_check.files import Model, Refused, expect, need
from limen_check.text import Call

_ROWS = 1 << 10


class Part(NamedTuple):
    # A column: scale times the sum of v over the token's block of N places.
    N: int
    scale: Fraction
    v: dict[Kind, Value]


class Gate(NamedTuple):
    # A unit: a times column r, or 0 if that is negative, where the digit is larger than c; elsewhere 0.
    r: int
    a: Fraction
    digit: Digit
    c: int


class Run(Sums):
    """Every kind of token, layer by layer."""

    def __init__(self, model: Model, spec: Spec, f: Format) -> None:
        super().__init__(f)
        self.model, self.header, self.walk = model, model.header, Walk(spec)
        self.n, self.number = self.walk.n, lru_cache(None)(lambda v: f.rn(Rational(v)))
        short, self.grown = growth(f, self.n)
        need(short, "the input is too long for sums in this precision")
        self.first, *_, self.last = (c.name for c in self.walk.classes)
        need(self.first != self.last, "one token")
        wild: list[Kind] = [(c.name, None) for c in self.walk.classes if c.name != self.first]
        self.kinds = [*self.walk.kinds, *wild]
        self.good = [kind for kind in self.walk.kinds if self.walk.good(kind)]
        self.strange = [kind for kind in self.walk.kinds if not self.walk.good(kind)]
        self.parts = dict[int, Part]()
        self.x = self._embedded()

    def matrix(self, name: str) -> Matrix:
        return rounded(self.model, name, self.number)

    def _embedded(self) -> Boxes:
        """R0: each code is added and rounded.  Of wild tokens the place is known, not the id."""
        e, width, ids = self.header["embedding"], self.header["width"], self.walk.steps.ids
        sizes = {name: (size, columns) for name, size, columns in e["tables"]}
        expect(e["width"] == width and len(sizes) == len(e["tables"]), "tables of one name, or another width")
        need([s["count"] for s in e["segments"]] == [self.n], "other segments than one")
        x: Boxes = {kind: {} for kind in self.kinds}
        for code in e["segments"][0]["codes"]:
            expect(code["table"] in sizes, "a code is unknown")
            (size, columns), div, of = sizes[code["table"]], code["div"], code["of"]
            expect(0 <= code["column"] <= width - columns and div >= 1 and size >= 1, "a code does not fit")
            need(of in ("token", "place", f"place*{ids}+token") and size <= _ROWS, "a code of another kind")
            need(of in ("token", "place") or size % ids == 0, "a table of other ids")
            self.spend(size * columns * len(self.kinds))
            table = self.model.weights[f"embedding.{code['table']}"].numbers
            for j in range(columns):
                column, at = [self.number(v) for v in table[j::columns]], code["column"] + j
                for kind, box in x.items():
                    told = self._code(column, of, div, kind)
                    box[at] = self.added(box[at], told) if at in box else told
        return each(used, x)

    def _code(self, column: list[Fraction], of: str, div: int, kind: Kind) -> Value:
        """The numbers that a column of a table adds to a kind of token."""
        ids = self.walk.steps.ids
        some = [kind[1][1]] if kind[1] else range(ids)
        if of == "place":
            return value((div, len(column)), [(v, v) for v in column])
        if of == "token":
            told = [column[a // div % len(column)] for a in some]
            return None, ((min(told), max(told)),)
        both = [[column[first + a] for a in some] for first in range(0, len(column), ids)]
        return value((div, len(both)), [(min(told), max(told)) for told in both])

    # Heads

    def mix(self, i: int, call: Call) -> None:
        """All heads side by side, times W_O; a column that one number of one head alone writes is a part."""
        d, made, plain = call.number("d"), dict[int, Part](), dict[int, Interval]()
        keys = call.number("d_k", default=d)
        Q, K, V, O = (self.matrix(f"{i}.0.{name}") for name in "QKVO")
        for head in range(call.number("h")):
            self.spend(len(self.kinds) + len(Q) + len(K) + len(V))
            N = self._block(*(self._alike(cut(W, head * keys, keys)) for W in (Q, K)))
            v = self.all_times(self.x, cut(V, head * d, d))
            for c in sorted({c for box in apart(v.values()) for c in box}):
                self.spend(len(self.kinds))
                part = Part(N, ONE, {kind: box[c] for kind, box in v.items() if c in box})
                made[head * d + c], plain[head * d + c] = part, self._average(part)
        read = dict.fromkeys(self.kinds, used({c: (None, (ends,)) for c, ends in plain.items()}))
        for c, part in made.items():
            if self.n == part.N and not digit(part.v.values()):
                for kind, ends in self._whole(part, plain[c]).items():
                    read[kind] = used(read[kind] | {c: (None, (ends,))})
        taken, self.parts = {c for box in self._boxes() for c in box}, {}
        for r, column in O.items():
            (row, w), *others = column.items()
            if not others and row in made and grain(w) == abs(w) and r not in taken:
                self.parts[r] = made[row]._replace(scale=w / made[row].N)
        self.x = each(self.plus, self.x, self.all_times(read, O))

    def _boxes(self) -> list[Box]:
        return apart(self.x.values())

    def _alike(self, W: Matrix) -> Box:
        """x W, the same for all kinds of tokens, and exact."""
        one, *others = [self.times(x, W) for x in self._boxes()]
        well = all(x == one for x in others) and all(lo == hi for _, some in one.values() for lo, hi in some)
        need(well, "scores that are not made of places alone")
        return one

    def _block(self, q: Box, k: Box) -> int:
        """The number of tokens that share the weight: those whose places have the same digits from N on.

        Whoever differs in one of them weighs 0, as it is computed.
        """
        f, columns, sizes, steps = self.f, dict[Digit, list[int]](), ZERO, list[Fraction]()
        for a in sorted(q.keys() & k.keys()):
            (x, y), at = ([v for v, _ in side[a][1] if v] for side in (q, k)), digit([q[a], k[a]])
            sizes += max(map(abs, x)) * max(map(abs, y))
            steps.append(min(map(grain, x)) * min(map(grain, y)))
            if at:
                columns.setdefault(at, []).append(a)
        step = min(steps, default=ONE)
        well = sizes * f.u <= step >= power(f.least) and 2 * sizes <= f.largest
        need(well, "a score is not exact")
        for at, some in columns.items():
            self.spend(at[1] * at[1] * len(some))
            best = Table(*({a: _column(side[a], at[1]) for a in some} for side in (q, k))).best(
                level(ZERO, at[1])
            )
            ahead = best.choice == tuple(range(at[1])) and best.miss > 0
            need(ahead and weight(f, self.n, 1, best.miss) < f.tiny, "another token weighs something")
        N = min((w for w, _ in columns), default=self.n)
        need(chain(columns) in ((N, self.n), None) and N.bit_count() == 1, "no block of places")
        return N

    def _average(self, part: Part) -> Interval:
        """Between which ends an average of N values is; each row of a digit in the block has its share."""
        f, values = self.f, apart(part.v.values())
        at, some = digit(values), [[*row, NOTHING] for row in rows(values)]
        self.spend(len(values) * len(some))
        lows, highs = [min(lo for lo, _ in row) for row in some], [max(hi for _, hi in row) for row in some]
        largest = max(-min(lows), max(highs))
        need(2 * self.n * self.grown * largest <= f.most, "a sum of values overflows")
        low, high = min(lows), max(highs)
        if at and part.N % (at[0] * at[1]) == 0:
            low, high = sum(lows, ZERO) / at[1], sum(highs, ZERO) / at[1]
        dust = above(2 * self.n * self.grown * f.tiny)
        return f.rn(self.grown * low - (dust if low else 0)), f.rn(self.grown * high + (dust if high else 0))

    def _whole(self, part: Part, plain: Interval) -> dict[Kind, Interval]:
        """The last token's average of all: of known ones, or with a strange one among them."""
        f, n, at = self.f, self.n, {kind: part.v.get(kind, (None, (NOTHING,)))[1][0] for kind in self.kinds}
        self.spend(8 * len(self.kinds))
        known, ends = {kind: at[kind][0] for kind in self.good}, dict[Kind, Interval]()
        exact = all(at[kind][0] == at[kind][1] for kind in known) and self._counts(known.values(), n, ONE / n)
        of = self.walk.sums(known.__getitem__) if exact else None
        rises = min(lo for lo, _ in at.values()) >= 0  # no value is negative, so no sum is below one of them
        least = min((at[kind][0] for kind in self.strange), default=ZERO) / n  # a number, if it is normal
        for kind in (kind for kind in self.kinds if kind[0] == self.last):
            if kind not in known:
                ends[kind] = (least if least >= power(f.least) else ZERO, plain[1]) if rises else plain
            elif of is not None:
                ends[kind] = ((of[kind[1][0]] + known[kind]) / n,) * 2
        return ends

    def _counts(self, values: Iterable[Fraction], N: int, scale: Fraction) -> bool:
        """Whether sums of at most N of these are numbers of the format, also over N and times the scale."""
        sizes = [abs(v) for v in values if v]
        unit = min(map(grain, sizes), default=ONE)
        well = N * max(sizes, default=ZERO) * self.f.u <= unit
        return well and unit * min(abs(scale), Rational(1, N)) >= power(self.f.least)

    # The position-wise function

    def local(self, W: list[Matrix], b: list[Box]) -> Boxes:
        """R5, each operation as it is rounded; some of the first units are gates."""
        late, gates = lru_cache(None)(self._late), dict[int, Gate]()
        for unit, column in W[0].items():
            gate = None if unit in b[0] else self._gate(column, late)
            gates |= {} if gate is None else {unit: gate}
        plain = {unit: column for unit, column in W[0].items() if unit not in gates}
        y = each(lambda x: relu(self.plus(self.times(x, plain), b[0])), self.x)
        caps = {unit: abs(gate.a) * cap(self._boxes(), gate.r) for unit, gate in gates.items()}
        least = power(self.f.least - self.f.t + 1)
        seen = {u: (None, ((ZERO, above(most) + least),)) for u, most in caps.items()}
        y |= each(lambda x: x | seen, {kind: x for kind, x in y.items() if not kind[1]})  # of wild ones
        y = self._with(y, W[1], gates)
        y = each(lambda x: self.plus(x, b[1]), y)
        for into, bias in zip(W[2:], b[2:], strict=True):
            y = each(lambda x: self.plus(self.times(relu(x), into), bias), y)  # noqa: B023
        return y

    def _with(self, y: Boxes, W: Matrix, gates: dict[int, Gate]) -> Boxes:
        """x W, where known tokens read in gates what earlier ones add: by what differs, each once."""
        before = lru_cache(None)(lambda some: self._before(gates, some))
        read = {
            c: tuple((unit, w) for unit, w in sorted(column.items()) if unit in gates)
            for c, column in W.items()
        }
        told: dict[int, Before] = {c: before(some) for c, some in read.items() if some}
        all_of, made, out = apart(told.values()), dict[Any, Box](), Boxes()
        for kind, x in y.items():
            self.spend(len(all_of))
            key = id(x), kind[1] and tuple(of[kind[1][0]] for of, _, _ in all_of)
            if key not in made:
                made[key] = self.times(x, W, told, kind[1][0]) if kind[1] else self.times(x, W)
            out[kind] = made[key]
        return out

    def _late(self, l: int) -> Value | None:
        """A number that all kinds of tokens have alike; else None."""
        self.spend(len(self.kinds))
        one, *others = (x.get(l) for x in self._boxes())
        return one if all(v == one for v in others) else None

    def _gate(self, column: Mapping[int, Fraction], late: Callable[[int], Value | None]) -> Gate | None:
        """A unit that reads a part, and a number of a digit of the place by which it is closed; else None."""
        parts, others = [r for r in column if r in self.parts], [l for l in column if l not in self.parts]
        at, some = (late(others[0]) if len(parts) == len(others) == 1 else None) or (None, ())
        if at is None or grain(column[parts[0]]) != abs(column[parts[0]]):
            return None
        (r,), (l,) = parts, others
        self.spend(len(self.kinds) + len(some) * len(self._boxes()))
        a, part, values = column[r], self.parts[r], apart(self.parts[r].v.values())
        filled = {c for _, ends in values for c, row in enumerate(ends) if row != NOTHING}
        if len(filled) != 1 or any(its != at for its, _ in values) or at[0] * at[1] != part.N:
            return None
        (c,), most = filled, abs(a) * cap(self._boxes(), r)
        need(
            2 * (max(abs(column[l] * v) for ends in some for v in ends) + most) <= self.f.largest,
            "a sum overflows",
        )
        closed = [lo == hi and -column[l] * lo >= most > 0 for lo, hi in some]
        opened = [ends == NOTHING for ends in some]
        well = closed == [own <= c for own in range(at[1])] and opened == [own > c for own in range(at[1])]
        return Gate(r, a, at, c) if well else None

    def _before(self, gates: dict[int, Gate], read: tuple[tuple[int, Fraction], ...]) -> Before:
        """Σ over all earlier tokens: for each digit and each smaller one the same function of a token."""
        adds: dict[tuple[Digit, int], dict[Kind, Fraction]] = {}
        sizes: dict[tuple[Digit, int], dict[Kind, Fraction]] = {}
        unit, by_part = ONE, dict[int, list[tuple[Gate, Fraction]]]()
        for u, w in read:
            by_part.setdefault(gates[u].r, []).append((gates[u], w))
        for r, some in by_part.items():
            self.spend(len(some) + len(self.good))
            (N, scale, v), (gate, _), a = self.parts[r], some[0], min(abs(g.a) for g, _ in some)
            rises, falls = (sum((w * g.a for g, w in some if (g.a > 0) is up), ZERO) for up in (True, False))
            need(rises == falls, "a part that is not added as it is")
            known = {kind: v[kind][1][gate.c] for kind in self.good if kind in v}
            need(all(lo == hi for lo, hi in known.values()), "a value that is not exact")
            well = self._counts((lo for lo, _ in known.values()), N, scale * min(a, ONE))
            need(well, "sums that the format does not hold")
            least = min((grain(lo) for lo, _ in known.values() if lo), default=ONE) * abs(scale)
            unit = min([unit, *(least * abs(g.a) * grain(w) for g, w in some)])
            size, at = sum(abs(w * g.a) for g, w in some), (gate.digit, gate.c)
            for kind in self.good:
                x = known.get(kind, NOTHING)[0] * scale
                for to, more in ((adds, rises * x), (sizes, size * abs(x))):
                    of = to.setdefault(at, {})
                    of[kind] = of.get(kind, ZERO) + more
        every = {(at, c) for at, _ in adds for c in range(at[1] - 1)}
        need(chain({at for at, _ in adds}) == (1, self.n) and every <= adds.keys(), "not all earlier tokens")
        one, *others = (adds[at] for at in sorted(every))
        need(all(other == one for other in others), "earlier tokens that count differently")
        totals = self.walk.sums(one.__getitem__)
        if totals is None:
            raise Refused("what earlier tokens add is no function of the machine's state")
        return Before(totals, self.n * max(max(of.values()) for of in sizes.values()), unit)

    def layer(self, i: int, call: Call, hidden: tuple[int, ...]) -> None:
        self.mix(i, call)
        if hidden:
            many = range(1, len(hidden) + 2)
            W = [self.matrix(f"{i}.local.W{j}") for j in many]
            b = [constants(self.matrix(f"{i}.local.b{j}")) for j in many]
            self.x = each(self.plus, self.x, self.local(W, b))


def _column(x: Value, rows: int) -> Column:
    """A number that is known, by the rows of its digit."""
    some = [v for v, _ in x[1]]
    return level(some[0], rows) if len(some) == 1 else Column.of(some)


def margin(
    model: Model, spec: Spec, f: Format, layers: list[tuple[Call, ...]], hidden: list[tuple[int, ...]]
) -> Fraction:
    """The least margin of the last token, in whatever row of a digit it stands."""
    looked_at(model, spec, layers, both=True)
    run = Run(model, spec, f)
    for i, ((call,), many) in enumerate(zip(layers, hidden, strict=True)):
        run.layer(i, call, many)
    U, u = run.matrix("readout.U"), constants(run.matrix("readout.u"))
    told = run.all_times({k: x for k, x in run.x.items() if k[0] == run.last}, U)
    logits = {kind: run.plus(x, u) for kind, x in told.items()}
    return least(run.walk, spec, {kind: [_hull(x.get(a)) for a in range(2)] for kind, x in logits.items()})


def _hull(x: Value | None) -> Interval:
    """The least and the largest that a number may be; 0 of one that is not named."""
    ends = (NOTHING,) if x is None else x[1]
    return min(lo for lo, _ in ends), max(hi for _, hi in ends)
