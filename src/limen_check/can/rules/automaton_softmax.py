"""R24–R27: softmax heads along a machine of few states, up to the first step that it does not know.

As in R21 a token is known by its STEP, the machine's state before it and its id; the first strange step is
known, too, and tokens behind it are WILD.  What a known token reads (`automaton_head`) depends on known
tokens alone.

    R26   two shares, or a share and a number that stands in a table by place, are compared by a ReLU

The text is cut into the first token, those between, the last one.
"""

from array import array
from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import chain, cycle, repeat
from operator import add, mul, sub
from typing import Any, NamedTuple

from limen_check.can.rational import Rational
from limen_check.can.rules.automaton_head import HALF, NORMAL, NOTHING, Box, Boxes, Head, Keys, Share, named
from limen_check.can.rules.automaton_paths import Kind, Walk, least, looked_at
from limen_check.can.state import cut, growth, rounded
from limen_check.can.tasks import Class, Spec
from limen_check.can.vectors import ONE, ZERO, Format, Interval, Matrix, grain, power
from limen_check.files import Model, expect, need
from limen_check.text import Call

_PLACES, _WORK = 1 << 21, 3 << 22


class Code(NamedTuple):
    # row (place // div) % rows of a table, of which these are one column
    column: int
    div: int
    rows: int
    numbers: "array[float]"


class Run:
    """Every kind of token, layer by layer."""

    def __init__(self, model: Model, spec: Spec, f: Format) -> None:
        self.model, self.f, self.header, self.walk = model, f, model.header, Walk(spec)
        self.n, self.number = self.walk.n, lru_cache(None)(lambda v: f.rn(Rational(v)))
        self.short, self.grown = growth(f, self.n)
        need(self.short and self.n <= _PLACES, "the input is too long for sums in this precision")
        self.classes = {c.name: c for c in self.walk.classes}
        self.first, *_, self.last = (c.name for c in self.walk.classes)
        need(self.first != self.last, "one token")
        self.wild: list[Kind] = [(c.name, None) for c in self.walk.classes if c.name != self.first]
        self.kinds = [*self.walk.kinds, *self.wild]
        self.good = [kind for kind in self.walk.kinds if self.walk.good(kind)]
        self.strange = [kind for kind in self.walk.kinds if not self.walk.good(kind)]
        self.placed: dict[tuple[str, int], list[Code]] = {}  # what a place adds to a column of a class
        self.told: dict[tuple[Kind, int], list[Fraction]] = {}  # and what else is added there
        self.shares: dict[Kind, dict[int, Share]] = {kind: {} for kind in self.kinds}
        self.ranks: dict[int, tuple[Fraction, Fraction] | None] = {}
        self.products: dict[Hashable, tuple[Fraction, Fraction]] = {}
        self.keys: dict[tuple[int, int], dict[Kind, int]] = {}
        self.sums, self.both = lru_cache(None)(self._sums), lru_cache(None)(self._both)
        self.halved = lru_cache(None)(self._halved)
        self.room = (1 + f.acc / 16) * (1 + f.acc) * (1 + f.u)  # of a share: what vanishes, 1/N, its rounding
        self.work = 0
        self.x = self._embedded()

    def spend(self, work: int) -> None:
        """Counts what is looked at, kind by kind, and refuses where it is too much."""
        self.work += work
        need(self.work <= _WORK, "too many kinds of tokens to look at")

    def matrix(self, name: str) -> Matrix:
        return rounded(self.model, name, self.number)

    # The embedding

    def _embedded(self) -> Boxes:
        """R0, kind by kind: of a place its parity is known, of all else that it adds the ends."""
        e, width = self.header["embedding"], self.header["width"]
        sizes = {name: (rows, columns) for name, rows, columns in e["tables"]}
        expect(e["width"] == width and len(sizes) == len(e["tables"]), "tables of one name, or another width")
        need([s["count"] for s in e["segments"]] == [1, self.n - 2, 1], "other segments than the task's")
        by_class = dict(zip(self.classes, (s for s in e["segments"] if s["count"]), strict=True))
        x: Boxes = {kind: {} for kind in self.kinds}
        for name, segment in by_class.items():
            for code in segment["codes"]:
                expect(code["table"] in sizes and code["of"] in ("token", "place"), "a code is unknown")
                rows, columns = sizes[code["table"]]
                fits = 0 <= code["column"] <= width - columns and code["div"] >= 1 and rows >= 1
                expect(fits, "a code does not fit")
                for j in range(columns):
                    self._code(x, self.classes[name], code, rows, columns, j)
        return x

    def _code(
        self, x: dict[Kind, Box], c: Class, code: Mapping[str, Any], rows: int, columns: int, j: int
    ) -> None:
        """One column of a table is added to all kinds of a class."""
        numbers, at, div = (
            self.model.weights[f"embedding.{code['table']}"].numbers,
            code["column"] + j,
            code["div"],
        )
        count = c.count if code["of"] == "place" else self.walk.steps.ids
        needed = min(rows, (count - 1) // div + 1)  # rows 0, 1, … that occur
        self.spend(4 * len(self.kinds) + (needed >> 3))
        column = array("d", numbers[j : needed * columns : columns])
        ends = self.number(min(column)), self.number(max(column))
        halves = code["of"] == "place" and (div, rows) == (1, 2)
        if code["of"] == "place" and not halves and needed > 1 and ends != NOTHING:
            self.placed.setdefault((c.name, at), []).append(Code(at, div, rows, column))
        for kind in (kind for kind in self.kinds if kind[0] == c.name):
            known = kind[1] is not None and (code["of"] == "token" or halves)
            if needed == 1:
                row: int | None = 0
            elif known:
                row = (
                    (kind[1][1] if code["of"] == "token" else self.walk.parity[kind[1][0]] - c.first)
                    // div
                    % rows
                )
            else:
                row = None
            lo, hi = ends if row is None else (self.number(column[row]),) * 2
            if (lo, hi) == NOTHING:
                continue
            if row is not None:
                self.told.setdefault((kind, at), []).append(lo)
            a, b = x[kind].get(at, NOTHING)
            x[kind][at] = self.f.rn(a + lo), self.f.rn(b + hi)

    # Products, heads

    def times(self, x: Box, W: Matrix) -> Box:
        """x W, rounded; each product of a sum errs by what all additions together do to it."""
        f, out = self.f, Box()
        for c, column in W.items():
            parts = [(x[r], w) for r, w in column.items() if r in x]
            if not parts:
                continue
            products = [_scaled(ends, w) for ends, w in parts]
            sizes = sum((max(-lo, hi) for lo, hi in products), ZERO)
            need(2 * sizes <= f.largest and 8 * len(parts) * f.acc <= 1, "a sum overflows, or is too long")
            exact = all(lo == hi for lo, hi in products)
            step = min((grain(lo) for lo, _ in products if lo), default=ONE) if exact else None
            ends = [sum(end, ZERO) for end in zip(*products, strict=True)]
            if len(parts) == 1 and grain(parts[0][1]) == abs(parts[0][1]):  # times a power of two
                errors = [ZERO if step and step >= f.tiny else f.tiny] * 2
            elif exact:
                errors = [f.inside(sizes, len(parts), step)] * 2
            else:
                errors = [
                    f.inside(sum(map(abs, end), ZERO), len(parts), None)
                    for end in zip(*products, strict=True)
                ]
                errors = [e + len(parts) * f.tiny for e in errors]
            low, high = ends[0] - errors[0], ends[1] + errors[1]
            if all(lo >= 0 for lo, _ in products):  # so is their sum
                low = max(low, ZERO)
            out[c] = f.rn(low), f.rn(high)
        return _used(out)

    def all_times(self, boxes: Boxes, W: Matrix) -> Boxes:
        names, all_of = named(boxes)
        each = sum(map(len, boxes.values())) >> 2
        self.spend(len(boxes) + each + len(all_of) * sum(map(len, W.values())))
        made = [self.times(x, W) for x in all_of]
        return {kind: made[name] for kind, name in names.items()}

    def plus(self, x: Box, y: Box) -> Box:
        """Rounded where both have the column."""
        self.spend(2 * (len(x) + len(y)))
        out = x | y
        for c in x.keys() & y.keys():
            out[c] = self.f.rn(x[c][0] + y[c][0]), self.f.rn(x[c][1] + y[c][1])
        return _used(out)

    def mix(self, i: int, call: Call) -> None:
        """All heads side by side, times W_O; where one head alone writes a share, it is one."""
        d = call.number("d")
        sizes = {"Q": call.number("d_k", default=d), "K": call.number("d_k", default=d), "V": d}
        O, read = self.matrix(f"{i}.0.O"), {kind: Box() for kind in self.kinds}
        claims: dict[Kind, dict[int, Share]] = {kind: {} for kind in self.kinds}
        whole = {name: self.matrix(f"{i}.0.{name}") for name in sizes}
        for head in range(call.number("h")):
            sides = []
            for name, size in sizes.items():
                W = cut(whole[name], head * size, size)
                sides.append((W, self.all_times(self.x, W)))
            (_, q), (K, k), (_, v) = sides
            reads = Head(self, (i, head), K, q, k, v)
            for kind in self.kinds:
                got, claimed = reads.read(kind)
                for c, (lo, hi) in got.items():
                    read[kind][head * d + c] = self.f.rn(lo), self.f.rn(hi)
                claims[kind] |= {head * d + c: share for c, share in claimed.items()}
        alone = {c: row for c, column in O.items() for row, w in column.items() if w == 1 == len(column)}
        self.spend(len(alone) * len(self.kinds) >> 2)
        kept = {
            kind: {
                c: claims[kind][row]
                for c, row in alone.items()
                if row in claims[kind] and c not in self.x[kind]
            }
            for kind in self.kinds
        }
        self._add(self.all_times({kind: _used(box) for kind, box in read.items()}, O))
        for kind, shares in kept.items():
            self.shares[kind] |= shares

    # The position-wise function

    def local(self, W: list[Matrix], b: list[Box]) -> Boxes:
        """R5: ReLU(x W₁ + b₁) …, each operation as it is rounded; R26 where a unit compares."""
        y = {kind: self.plus(x, b[0]) for kind, x in self.all_times(self.x, W[0]).items()}
        for kind, x in self.x.items():
            self.spend(sum(map(len, W[0].values())) if self.shares[kind] else 0)
            for unit, column in W[0].items() if self.shares[kind] else ():
                used = {c: w for c, w in column.items() if c in x}
                if used.keys() & self.shares[kind].keys():
                    plain = y[kind].get(unit, NOTHING)
                    y[kind][unit] = self.compared(kind, used, b[0].get(unit, NOTHING)[0], plain)
        for into, bias in zip(W[1:], b[1:], strict=True):
            y = self.all_times({kind: _relu(x) for kind, x in y.items()}, into)
            y = {kind: self.plus(x, bias) for kind, x in y.items()}
        return y

    def compared(self, kind: Kind, used: dict[int, Fraction], b: Fraction, plain: Interval) -> Interval:
        """R26: Σ + b, of which surely Σ ≤ -b, or Σ ≥ b; else what is known of it anyway."""
        self.spend(1 << 4)
        (lo, hi), most = plain, max(b, ZERO)
        sign = self._sign(kind, used, most)
        if sign < 0:
            return min(lo, ZERO), min(hi, ZERO)
        return (max(lo, b + most), max(hi, b + most)) if sign > 0 else (lo, hi)

    def _sign(self, kind: Kind, used: dict[int, Fraction], b: Fraction) -> int:
        """-1 if Σ ≤ -b for sure, 1 if Σ ≥ b ≥ 0 for sure, for a sum of one or two products; else 0."""
        shares = {c: s for c, s in self.shares[kind].items() if c in used and s.v}
        others = used.keys() - self.shares[kind].keys()
        heads = list(dict.fromkeys((s.head, s.counted, s.own) for s in shares.values()))
        if not heads or len(shares) + len(others) > 2 or min(map(abs, used.values())) < power(-20):
            return 0
        f = self.f
        e = self.room * (1 + f.acc) - 1  # of a share, and of a product one rounding
        ends = {
            c: (used[c] * s.v - e * abs(used[c] * s.v), used[c] * s.v + e * abs(used[c] * s.v))
            for c, s in shares.items()
        }
        if len(heads) == 2:
            (a, x), (c, y) = shares.items()
            apart = self._apart(kind, x, y)
            if apart is None:
                return 0
            low, high = max(ONE, 1 - apart), (self.n + 1 - apart) / 2  # of y's N; x's is `apart` more
            at = [(Ny + apart, Ny) for Ny in (low, high)] if low <= high else []
            tops = [ends[a][1] * Ny + ends[c][1] * Nx + b * Nx * Ny for Nx, Ny in at]
            lows = [ends[a][0] * Ny + ends[c][0] * Nx - b * Nx * Ny for Nx, Ny in at]
            return 0 if not at else -1 if max(tops) <= 0 else int(min(lows) >= 0)
        lo, hi = (sum(end, ZERO) for end in zip(*ends.values(), strict=True))  # of Σ·N
        most: Fraction = Rational(self.n)
        for c in others:
            product = self._product(kind, next(iter(shares.values())), c)
            if product is None:
                return 0
            (least, top, most), w = product, used[c]
            near, far = w * least * (1 - e), w * top * (1 + e)  # of one sign
            lo, hi = lo + min(near, far), hi + max(near, far)
        return -1 if hi + b * most <= 0 else int(lo >= b * most)

    def _sums(
        self, head: tuple[int, int], counted: Keys, minus: tuple[Any, ...], each: Fraction
    ) -> dict[Any, Fraction] | None:
        """Per state: Σ [counted here] - [counted there] - each over the tokens before; None if paths vary."""
        self.spend(len(self.walk.edges))
        keys, others = self.keys[head], self.keys[minus[0]] if minus else {}

        def w(kind: Kind) -> Fraction:
            return Rational(keys[kind] in counted) - Rational(bool(minus) and others[kind] in minus[1]) - each

        return self.walk.sums(w)

    def _both(
        self, head: tuple[int, int], counted: Keys, other: tuple[int, int], counted_there: Keys
    ) -> bool:
        """Whether a token between the first and the last may be counted by both."""
        self.spend(len(self.good))
        here, there = self.keys[head], self.keys[other]
        between = (kind for kind in self.good if kind[0] not in (self.first, self.last))
        return any(here[kind] in counted and there[kind] in counted_there for kind in between)

    def _apart(self, kind: Kind, x: Share, y: Share) -> Fraction | None:
        """How many more tokens x's head counts than y's, the first token alone being in both; else None."""
        total = self.sums(x.head, x.counted, (y.head, y.counted), ZERO)
        if (
            self.both(x.head, x.counted, y.head, y.counted)
            or (x.own and y.own)
            or kind[0] == self.first
            or total is None
        ):
            return None
        return total[kind[1][0]] + x.own - y.own

    def _product(self, kind: Kind, share: Share, column: int) -> tuple[Fraction, Fraction, Fraction] | None:
        """Ends of θ·N over all places, where θ stands in a table by place; and the largest N.

        N is half the number of tokens and something that the state knows.
        """
        total, c = self.sums(share.head, share.counted, (), HALF), self.classes[kind[0]]
        if total is None:
            return None
        more, parity = total[kind[1][0]] + share.own - HALF, self.walk.parity[kind[1][0]]
        at = c.first + (parity - c.first) % 2  # the first position of the class with this parity
        start = Rational(at + 1, 2) + more
        many = (c.first + c.count - 1 - at) // 2 + 1
        skip = max(0, int(1 - start))  # the first token is counted: N ≥ 1
        lo, hi = self.x[kind].get(column, NOTHING)
        if start.denominator > 1 or many <= skip:
            return None
        start, last = start + skip, start + many - 1
        if lo == hi:
            return (lo * start, lo * last, last) if lo >= NORMAL else None
        codes, name = self.placed.get((c.name, column), []), (c.name, column, at, start, skip)
        if (
            len(codes) != 1
            or (codes[0].div, len(codes[0].numbers)) != (1, c.count)
            or (kind, column) in self.told
        ):
            return None
        if name not in self.products:
            self.spend(many >> 5)
            numbers = self.halved(c.name, column, at - c.first + 2 * skip)
            made = [*map(mul, numbers, range(int(start), int(last) + 1))]
            need(len(made) == len(numbers) == many - skip, "a table by place that is too short")
            room = self.f.u + power(-48)  # the table is rounded, and so are these products, to 53 bits
            self.products[name] = Rational(min(made)) * (1 - room), Rational(max(made)) * (1 + room)
        return *self.products[name], last

    def _halved(self, name: str, column: int, first: int) -> list[float]:
        """Every second number of a table by place."""
        numbers = self.placed[name, column][0].numbers[first::2].tolist()
        need(min(numbers) > NORMAL and max(numbers) < 1 / NORMAL, "a table by place that is not normal")
        return numbers

    def rank(self, column: int) -> tuple[Fraction, Fraction] | None:
        """A whole number that rises from token to token, the same for all ids: by how much, and the range."""
        if column not in self.ranks:
            self.ranks[column] = self._rank(column)
        return self.ranks[column]

    def _rank(self, column: int) -> tuple[Fraction, Fraction] | None:
        values, most = list[int](), power(self.f.t)
        for c in self.walk.classes:
            codes = self.placed.get((c.name, column), [])
            self.spend(len(self.kinds) + (len(codes) * c.count >> 3))
            kinds = [kind for kind in self.walk.kinds if kind[0] == c.name]
            told, *more = {tuple(self.told.get((kind, column), [])) for kind in kinds}
            size = sum(map(abs, told)) + sum(max(map(abs, code.numbers)) for code in codes)
            whole = all(v.denominator == 1 for v in told)
            if (
                more
                or size > most
                or not (whole and all(all(map(float.is_integer, code.numbers)) for code in codes))
            ):
                return None
            made: Iterable[int] = repeat(int(sum(told)), c.count)
            for code in codes:
                # row (place // div) % rows: each row `div` times, again and again
                rows = map(repeat, cycle(map(int, code.numbers)), repeat(code.div))
                made = map(add, made, chain.from_iterable(rows))
            values += made
        step = min(map(sub, values[1:], values))
        return (Rational(step), Rational(values[-1] - values[0])) if step > 0 else None

    def layer(self, i: int, call: Call, hidden: tuple[int, ...]) -> None:
        """Mixer and position-wise function; what they write is no place any more."""
        self.mix(i, call)
        if hidden:
            W = [self.matrix(f"{i}.local.W{j}") for j in range(1, len(hidden) + 2)]
            b = [
                {c: (column[0],) * 2 for c, column in self.matrix(f"{i}.local.b{j}").items()}
                for j in range(1, len(hidden) + 2)
            ]
            self._add(self.local(W, b))

    def _add(self, more: dict[Kind, Box]) -> None:
        written = {c for box in more.values() for c in box}
        self.placed = {at: codes for at, codes in self.placed.items() if at[1] not in written}
        self.ranks |= dict.fromkeys(written)
        for kind, box in more.items():
            self.shares[kind] = {c: share for c, share in self.shares[kind].items() if c not in box}
        self.x = {kind: self.plus(x, more[kind]) for kind, x in self.x.items()}


def _scaled(ends: Interval, w: Fraction) -> Interval:
    """All of it times a number."""
    lo, hi = ends[0] * w, ends[0] * w if ends[0] == ends[1] else ends[1] * w
    return (lo, hi) if w > 0 else (hi, lo)


def _relu(x: Box) -> Box:
    return _used({c: (max(ZERO, lo), max(ZERO, hi)) for c, (lo, hi) in x.items()})


def _used(x: Box) -> Box:
    return {c: ends for c, ends in x.items() if ends != NOTHING}


def margin(
    model: Model, spec: Spec, f: Format, layers: list[tuple[Call, ...]], hidden: list[tuple[int, ...]]
) -> Fraction:
    """The least margin of the last token."""
    looked_at(model, spec, layers, both=False)
    run = Run(model, spec, f)
    heads = sum(1 + call.number("h") for (call,) in layers)
    run.spend(heads * len(run.kinds) << 6)  # what the emptiest of them take, before the first is looked at
    for i, ((call,), many) in enumerate(zip(layers, hidden, strict=True)):
        run.layer(i, call, many)
    U, u = run.matrix("readout.U"), {c: (column[0],) * 2 for c, column in run.matrix("readout.u").items()}
    told = run.all_times({k: x for k, x in run.x.items() if k[0] == run.last}, U)
    logits = {kind: run.plus(x, u) for kind, x in told.items()}
    return least(run.walk, spec, {kind: [x.get(a, NOTHING) for a in range(2)] for kind, x in logits.items()})
