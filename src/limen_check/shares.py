"""R24–R27: softmax heads along a machine of few states, up to the first step that it does not know.

As in R21 a token is known by its STEP, the machine's state before it and its id; the first strange step is
known, too, and tokens behind it are WILD.  What a known token reads depends on known tokens alone:

    R24   a share v/N: the first token, whose value is v, and N - 1 others score the same, exactly
    R25   the latest of some tokens: places count, and less than what makes a token one of these
    R26   two shares, or a share and a number that stands in a table by place, are compared by a ReLU
    R27   the first token, if no other is ahead of it; else an average of those that are no blank

The text is cut into the first token, those between, the last one.
"""

from array import array
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import chain, cycle, repeat
from operator import add, mul, sub
from typing import Any, NamedTuple

from limen_check.attention import blur, weight
from limen_check.files import Model, Refused, expect, need
from limen_check.state import growth, rounded
from limen_check.tasks import Class, Decision, Spec, Steps
from limen_check.text import Call
from limen_check.vectors import ONE, ZERO, Format, Interval, Matrix, above, exp_above, grain, power

Kind = tuple[str, Any]  # a class and a step, (the state before it, its id); or None: behind a strange one
Box = dict[int, Interval]  # of a token: between which ends a number is that is not surely 0
Boxes = dict[Kind, Box]
Keys = frozenset[int]  # names of equal ones
_STATES, _PLACES, _WORK = 1 << 10, 1 << 21, 3 << 22
_NOTHING: Interval = (ZERO, ZERO)
_HALF, _NORMAL = Fraction(1, 2), power(-60)


class Share(NamedTuple):
    # v/N up to roundings: N tokens have a key of `counted` (whether it has one itself), the first has v
    head: tuple[int, int]
    counted: Keys
    own: bool
    v: Fraction


class Code(NamedTuple):
    # row (place // div) % rows of a table, of which these are one column
    column: int
    div: int
    rows: int
    numbers: Sequence[float]


class Walk:
    """The steps of all classes of tokens: all that occur, perhaps more."""

    def __init__(self, spec: Spec) -> None:
        if spec.steps is None:
            raise Refused("no machine of few states is known for this task")
        self.steps: Steps = spec.steps
        self.classes = [c for c in spec.classes if c.count and not c.view]
        self.n = sum(c.count for c in self.classes)
        self.parity, now = {self.steps.start: 0}, {self.steps.start}  # of the number of tokens before
        self.kinds, self.edges = list[Kind](), list[tuple[Any, Kind, Any]]()
        for c in self.classes:
            here, now = self._met(now, c.count)
            here = [state for state in here if c.count > 1 or self.parity[state] == c.first % 2]
            self.kinds += [(c.name, (state, a)) for state in here for a in range(self.steps.ids)]
        for kind in self.kinds:
            if self.good(kind) and kind[0] != self.classes[-1].name:
                self.edges.append((kind[1][0], kind, self.steps.turn(*kind[1])))

    def good(self, kind: Kind) -> bool:
        return kind[1] is not None and self.steps.turn(*kind[1]) is not None

    def _after(self, states: Iterable[Any]) -> set[Any]:
        """The states that a step leads to; the parity of the number of tokens is known in each."""
        found = set()
        for state in states:
            for new in (self.steps.turn(state, a) for a in range(self.steps.ids)):
                if new is not None:
                    odd = 1 - self.parity[state]
                    need(self.parity.setdefault(new, odd) == odd, "a state after odd and even numbers")
                    found.add(new)
        need(len(self.parity) <= _STATES, "too many states to follow")
        return found

    def _met(self, now: set[Any], count: int) -> tuple[list[Any], set[Any]]:
        """The states before the tokens of a class, and behind them."""
        met, layer = dict.fromkeys(sorted(now, key=repr)), now
        for left in range(count - 1, 0, -1):
            layer = self._after(layer)
            fresh = layer - met.keys()
            met |= dict.fromkeys(sorted(fresh, key=repr))
            if left > _STATES:  # further steps than there are states: all that can be met
                while fresh:
                    fresh = self._after(met) - met.keys()
                    met |= dict.fromkeys(sorted(fresh, key=repr))
                return list(met), self._after(met)
        return list(met), self._after(layer)

    def sums(self, w: Callable[[Kind], Fraction]) -> dict[Any, Fraction] | None:
        """Σ w over the tokens before a state, if that is a function of it."""
        found, fresh = {self.steps.start: ZERO}, [self.steps.start]
        out: dict[Any, list[tuple[Kind, Any]]] = {}
        for state, kind, new in self.edges:
            out.setdefault(state, []).append((kind, new))
        while fresh:
            state = fresh.pop()
            for kind, new in out.get(state, []):
                total = found[state] + w(kind)
                if new not in found:
                    fresh.append(new)
                if found.setdefault(new, total) != total:
                    return None
        return found

    def latest(self, told: Callable[[Kind], Hashable]) -> dict[Any, frozenset[Any]]:
        """What the latest of the tokens before a state told that told something: all it may be."""
        found: dict[Any, frozenset[Any]] = {self.steps.start: frozenset({None})}
        changed = True
        while changed:
            changed = False
            for state, kind, new in self.edges:
                here, old = told(kind), found.get(new, frozenset())
                new_set = old | (found.get(state, frozenset()) if here is None else {here})
                changed, found[new] = changed or new_set != old, new_set
        return found


class Run:
    """Every kind of token, layer by layer."""

    def __init__(self, model: Model, spec: Spec, f: Format) -> None:
        self.model, self.f, self.header, self.walk = model, f, model.header, Walk(spec)
        self.n, self.number = self.walk.n, lru_cache(None)(lambda v: f.rn(Fraction(v)))
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
        self.room = (1 + f.acc / 16) * (1 + f.acc) * (1 + f.u)  # of a share: what vanishes, 1/N, its rounding
        self.work = 0
        self.x = self._embedded()

    def spend(self, work: int) -> None:
        """What is looked at, kind by kind, is counted: so much and no more."""
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
        if code["of"] == "place" and not halves and needed > 1 and ends != _NOTHING:
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
            if (lo, hi) == _NOTHING:
                continue
            if row is not None:
                self.told.setdefault((kind, at), []).append(lo)
            a, b = x[kind].get(at, _NOTHING)
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
        names, all_of = _named(boxes)
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
        need(call.name == "softmax" and not call.arguments.get("bidirectional", False), "no causal softmax")
        d = call.number("d")
        sizes = {"Q": call.number("d_k", default=d), "K": call.number("d_k", default=d), "V": d}
        O, read = self.matrix(f"{i}.0.O"), {kind: Box() for kind in self.kinds}
        found: dict[Kind, dict[int, Share]] = {kind: {} for kind in self.kinds}
        whole = {name: self.matrix(f"{i}.0.{name}") for name in sizes}
        for head in range(call.number("h")):
            sides = []
            for name, size in sizes.items():
                first = head * size
                W = {c - first: column for c, column in whole[name].items() if first <= c < first + size}
                sides.append((W, self.all_times(self.x, W)))
            (_, q), (K, k), (_, v) = sides
            reads = Head(self, (i, head), K, q, k, v)
            for kind in self.kinds:
                got, claimed = reads.read(kind)
                for c, (lo, hi) in got.items():
                    read[kind][head * d + c] = self.f.rn(lo), self.f.rn(hi)
                found[kind] |= {head * d + c: share for c, share in claimed.items()}
        alone = {c: row for c, column in O.items() for row, w in column.items() if w == 1 == len(column)}
        self.spend(len(alone) * len(self.kinds) >> 2)
        kept = {
            kind: {
                c: found[kind][row]
                for c, row in alone.items()
                if row in found[kind] and c not in self.x[kind]
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
                    plain = y[kind].get(unit, _NOTHING)
                    y[kind][unit] = self.compared(kind, used, b[0].get(unit, _NOTHING)[0], plain)
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
        most = Fraction(self.n)
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
        """Of each token 1 if it is counted, less 1 if it is in the other head, less `each`."""
        self.spend(len(self.walk.edges))
        keys, others = self.keys[head], self.keys[minus[0]] if minus else {}

        def w(kind: Kind) -> Fraction:
            return Fraction(keys[kind] in counted) - Fraction(bool(minus) and others[kind] in minus[1]) - each

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
        """By how many more tokens x's head counts than y's, where the first token alone is in both."""
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
        total, c = self.sums(share.head, share.counted, (), _HALF), self.classes[kind[0]]
        if total is None:
            return None
        more, parity = total[kind[1][0]] + share.own - _HALF, self.walk.parity[kind[1][0]]
        at = c.first + (parity - c.first) % 2  # the first position of the class with this parity
        start = Fraction(at + 1, 2) + more
        many = (c.first + c.count - 1 - at) // 2 + 1
        skip = max(0, int(1 - start))  # the first token is counted: N ≥ 1
        lo, hi = self.x[kind].get(column, _NOTHING)
        if start.denominator > 1 or many <= skip:
            return None
        start, last = start + skip, start + many - 1
        if lo == hi:
            return (lo * start, lo * last, last) if lo >= _NORMAL else None
        codes, name = self.placed.get((c.name, column), []), (c.name, column, at, start, skip)
        if (
            len(codes) != 1
            or (codes[0].div, len(codes[0].numbers)) != (1, c.count)
            or (kind, column) in self.told
        ):
            return None
        if name not in self.products:
            self.spend(many >> 5)
            numbers = codes[0].numbers[at - c.first + 2 * skip :: 2]
            need(min(numbers) > _NORMAL and max(numbers) < 1 / _NORMAL, "a table by place that is not normal")
            made = [*map(mul, numbers, range(int(start), int(last) + 1))]
            need(len(made) == len(numbers) == many - skip, "a table by place that is too short")
            room = self.f.u + power(-48)  # the table is rounded, and so are these products, to 53 bits
            self.products[name] = Fraction(min(made)) * (1 - room), Fraction(max(made)) * (1 + room)
        return *self.products[name], last

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
        return (Fraction(step), Fraction(values[-1] - values[0])) if step > 0 else None

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


class Head:
    """One softmax head: queries, keys and values of all kinds of tokens; equal ones have one name."""

    def __init__(self, run: "Run", at: tuple[int, int], K: Matrix, q: Boxes, k: Boxes, v: Boxes) -> None:
        self.run, self.f, self.at, self.K, self.v = run, run.f, at, K, v
        top = sum((cap * _caps(k.values()).get(a, ZERO) for a, cap in _caps(q.values()).items()), ZERO)
        need(2 * (top + self.f.inside(top, max(1, len(K)), None)) <= self.f.largest, "a score overflows")
        self.caps = _caps(v.values())
        run.spend(len(v) * (1 + len(self.caps)))
        largest = max(self.caps.values(), default=ZERO)
        need(2 * run.n * run.grown * largest <= self.f.most, "a sum of values overflows")
        (self.query, self.queries), (self.key, self.keys) = _named(q), _named(k)
        run.keys[at] = self.key
        known = [self.keys[self.key[kind]] for kind in run.walk.kinds]
        self.moved = {a for a in K if any(len({*box.get(a, _NOTHING)}) > 1 for box in known)}  # by places
        self.score, self.on = lru_cache(None)(self._score), lru_cache(None)(self._on)
        self.ranked = lru_cache(None)(self._ranked)
        self.held, self.told = lru_cache(None)(self._held), lru_cache(None)(self._told)
        between = [kind for kind in run.good if kind[0] not in (run.first, run.last)]
        self.begun = frozenset(self.key[kind] for kind in run.good if kind[0] == run.first)
        self.between = frozenset(self.key[kind] for kind in between)
        self.valued = {c for kind in between for c in v[kind]}
        self.dust = {c: above(2 * run.n * run.grown * self.f.tiny) for c in self.caps}
        self.plain = self._average()

    def _average(self) -> Box:
        """R3: no claim."""
        out = Box()
        for c in self.caps:
            ends = [box.get(c, _NOTHING) for box in self.v.values()]
            low, high = min(ZERO, *(lo for lo, _ in ends)), max(ZERO, *(hi for _, hi in ends))
            out[c] = 2 * low - (self.dust[c] if low else 0), 2 * high + (self.dust[c] if high else 0)
        return out

    def read(self, kind: Kind) -> tuple[Box, dict[int, Share]]:
        """What a kind of token reads, and which numbers of it are shares."""
        if not self.caps:
            return {}, {}
        self.run.spend(len(self.between) + len(self.caps))
        if kind[1] is None:
            return (self._some(kind) if kind[0] == self.run.last else self.plain), {}
        claimed = self._shares(kind)
        if not claimed:
            return self._latest(kind) or self._ahead(kind) or self.plain, {}
        room = self.run.room
        ends = {c: sorted((share.v / self.run.n / room, share.v * room)) for c, share in claimed.items()}
        return self.plain | {c: (lo, hi) for c, (lo, hi) in ends.items()}, claimed

    def _score(self, query: int, key: int, skip: int | None) -> Interval:
        """Of a query and a key, without the part of one coordinate: exact, or with its roundings."""
        f, q, k = self.f, self.queries[query], self.keys[key]
        self.run.spend(1 + len(q))
        products = [[x * y for x in q[a] for y in k[a]] for a in q.keys() & k.keys() if a != skip]
        sizes = sum((max(map(abs, four)) for four in products), ZERO)
        lo, hi = (sum(map(end, products), ZERO) for end in (min, max))
        if lo == hi:
            step = min((grain(four[0]) for four in products if four[0]), default=ONE)
            if sizes <= step * power(f.t) and step >= power(f.least):
                return lo, hi
        e = f.inside(sizes, len(products), None)
        e = above(e + f.u * (sizes + e)) + power(f.least - f.t)
        return lo - e, hi + e

    def _seen(self, kind: Kind) -> tuple[Keys, Keys]:
        """The keys that a known token may see: of the first token, and of others, its own among them."""
        own = frozenset({self.key[kind]})
        return (own, frozenset()) if kind[0] == self.run.first else (self.begun, self.between | own)

    def _weight(self, n: int, gap: Fraction) -> Fraction:
        return weight(self.f, self.run.n, n, gap)

    def _on(self, query: int, first: Keys, others: Keys) -> Keys | None:
        """R24: the keys that score as the first token does, exactly, if all others vanish beside them."""
        scores = {key: self.score(query, key, None) for key in first | others}
        (low, high), *more = {scores[key] for key in first}
        on = frozenset(key for key, ends in scores.items() if ends == (low, low))
        off = max((hi for key, (_, hi) in scores.items() if key not in on), default=None)
        if more or low != high or (off is not None and off >= low):
            return None
        stray = ZERO if off is None else self._weight(self.run.n, low - off)
        return on if 16 * stray < self.f.acc else None

    def _shares(self, kind: Kind) -> dict[int, Share]:
        """R24: columns in which the first token alone has a value, which is 0 or a power of two."""
        on, claimed, begins = self.on(self.query[kind], *self._seen(kind)), {}, kind[0] == self.run.first
        if on is None:
            return {}
        for c in self.caps.keys() - (() if begins else self.valued | self.v[kind].keys()):
            (lo, hi), *more = self._firsts(c, kind if begins else kind[1][0])
            plain = lo == hi and (lo == 0 or _NORMAL <= grain(lo) == abs(lo) <= 1 / _NORMAL)
            if plain and not more:
                claimed[c] = Share(self.at, on, self.key[kind] in on, lo)
        return claimed

    def _firsts(self, c: int, where: Any) -> frozenset[Interval]:
        """The values that the first token may have had, before a state; or a kind of it."""
        if where in self.v:
            return frozenset({self.v[where].get(c, _NOTHING)})
        return self.told(c)[where]

    def _told(self, c: int) -> dict[Any, frozenset[Interval]]:
        first = self.run.first
        return self._walked(lambda kind: self.v[kind].get(c, _NOTHING) if kind[0] == first else None)

    def _walked(self, told: Callable[[Kind], Hashable]) -> dict[Any, frozenset[Any]]:
        self.run.spend(8 * len(self.run.walk.edges))
        return self.run.walk.latest(told)

    def _latest(self, kind: Kind) -> Box | None:
        """R25: the latest of the tokens that score most but for their place."""
        found = self.ranked(self.query[kind], *self._seen(kind))
        if found is None:
            return None
        on, stray = found
        held = {kind} if self.key[kind] in on else self.held(on)[kind[1][0]]
        self.run.spend(len(held) * len(self.caps))
        return None if None in held else self._blurred([self.v[k] for k in held], stray)

    def _ranked(self, query: int, first: Keys, others: Keys) -> tuple[Keys, Fraction] | None:
        """The keys that score most, and the weight of all tokens but the latest that has one of them."""
        f, q, seen = self.f, self.queries[query], first | others
        places = [a for a in self.moved if a in q]
        if len(places) != 1 or any(lo != hi for lo, hi in q.values()):
            return None
        a = places[0]
        (column, w), *more = self.K[a].items()
        rank, worth = self.run.rank(column), q[a][0] * w
        scores = {key: self.score(query, key, a) for key in seen}
        if more or rank is None or grain(w) != w or worth <= 0 or any(lo != hi for lo, hi in scores.values()):
            return None
        rises, wide = rank
        caps = _caps(self.keys[key] for key in seen)
        sizes = sum((abs(x) * caps.get(i, ZERO) for i, (x, _) in q.items()), ZERO)
        products = [q[i][0] * y for key in seen for i, (y, _) in self.keys[key].items() if i in q and i != a]
        step = min(grain(v) for v in (worth, *products) if v)
        top = max(lo for lo, _ in scores.values())
        gap = min((top - lo - worth * wide for lo, _ in scores.values() if lo < top), default=ONE * (1 << 10))
        each = exp_above(-worth * rises * (1 - 2 * f.acc))
        if sizes > step * power(f.t) or step < power(f.least) or gap <= 0 or each >= _HALF:
            return None
        on = frozenset(key for key, (lo, _) in scores.items() if lo == top)
        return on, 4 * each / (1 - each) + self._weight(self.run.n, gap)

    def _held(self, on: Keys) -> dict[Any, frozenset[Any]]:
        return self._walked(lambda kind: kind if self.key[kind] in on else None)

    def _blurred(self, values: list[Box], stray: Fraction) -> Box | None:
        """L3: between the values of those that may be ahead, and what others add."""
        if stray * (1 + self.f.u) ** 4 * self.run.grown >= Fraction(1, 64):
            return None
        share, out = blur(self.f, self.run.grown, stray), Box()
        for c, cap in self.caps.items():
            ends, e = [v.get(c, _NOTHING) for v in values], above(share * cap) + self.dust[c]
            out[c] = min(lo for lo, _ in ends) - e, max(hi for _, hi in ends) + e
        return out

    def _ahead(self, kind: Kind) -> Box | None:
        """R27: the first token is ahead of all others that a known token may see."""
        (first, others), query, run = self._seen(kind), self.query[kind], self.run
        low = min(self.score(query, key, None)[0] for key in first)
        gap = min((low - self.score(query, key, None)[1] for key in others), default=None)
        if gap is not None and gap <= 0:
            return None
        stray = ZERO if gap is None else self._weight(run.n, gap)
        begun = [kind] if kind[0] == run.first else [k for k in run.good if k[0] == run.first]
        return self._blurred([self.v[k] for k in begun], stray)

    def _some(self, kind: Kind) -> Box:
        """R27, behind a strange token, which is ahead of the first or is it: an average of the others."""
        run, f, out, query = self.run, self.f, dict(self.plain), self.query[kind]
        blank = max(self.score(query, self.key[k], None)[1] for k in run.good if k[0] == run.first)
        strange = [k for k in run.strange if k[0] not in (run.first, run.last)]
        gap = min((self.score(query, self.key[k], None)[0] - blank for k in strange), default=None)
        if gap is not None and gap <= 0:
            return out
        stray = ZERO if gap is None else self._weight(1, gap)
        lost = max(power(-18), run.n * power(f.least - f.t))  # weights that are subnormal
        slack = (1 + f.u) ** 4 / (1 - run.n * f.acc - lost) ** 2 * (1 + stray)
        behind = [k for k in run.kinds if k == kind or k[0] not in (run.first, run.last)]
        behind += [k for k in run.strange if k[0] == run.first]
        for c, (low, high) in self.plain.items():
            least = min(self.v[k].get(c, _NOTHING)[0] for k in behind)
            if least > 0 and low >= 0:  # no value is negative
                out[c] = max(ZERO, least / slack - self.dust[c]), high
        return out


def _scaled(ends: Interval, w: Fraction) -> Interval:
    """All of it times a number."""
    lo, hi = ends[0] * w, ends[0] * w if ends[0] == ends[1] else ends[1] * w
    return (lo, hi) if w > 0 else (hi, lo)


def _relu(x: Box) -> Box:
    return _used({c: (max(ZERO, lo), max(ZERO, hi)) for c, (lo, hi) in x.items()})


def _used(x: Box) -> Box:
    return {c: ends for c, ends in x.items() if ends != _NOTHING}


def _named(boxes: Boxes) -> tuple[dict[Kind, int], list[Box]]:
    """Equal ones have one number."""
    numbers: dict[Hashable, int] = {}
    names = {
        kind: numbers.setdefault(tuple(sorted(box.items())), len(numbers)) for kind, box in boxes.items()
    }
    return names, [dict(items) for items in numbers]  # type: ignore[call-overload]


def _caps(boxes: Iterable[Box]) -> dict[int, Fraction]:
    """The largest size of each column."""
    found: dict[int, Fraction] = {}
    for box in boxes:
        for c, (lo, hi) in box.items():
            found[c] = max(found.get(c, ZERO), -lo, hi)
    return found


def margin(
    model: Model, spec: Spec, f: Format, layers: list[tuple[Call, ...]], hidden: list[tuple[int, ...]]
) -> Fraction:
    """The right logit less the best wrong one, for every kind that the last token may be."""
    need(spec.steps is not None, "a task that is no machine of few states")
    run = Run(model, spec, f)
    for i, (layer, many) in enumerate(zip(layers, hidden, strict=True)):
        need(len(layer) == 1, "several mixers side by side")
        run.layer(i, layer[0], many)
    need(
        model.header["readout"] == "linear" and model.header["answers"] == spec.answers == 2,
        "no such readout",
    )
    U, u = run.matrix("readout.U"), {c: (column[0],) * 2 for c, column in run.matrix("readout.u").items()}
    (answer,), number, margins = spec.answer, {step: i for i, step in enumerate(run.walk.steps.all)}, []
    assert isinstance(answer, Decision)
    for kind, told in run.all_times({k: x for k, x in run.x.items() if k[0] == run.last}, U).items():
        logits = run.plus(told, u)
        ends = [logits.get(a, _NOTHING) for a in range(2)]
        right = 0 if kind[1] is None else answer.right((number[kind[1]],))
        margins.append(ends[right][0] - ends[1 - right][1])
    least = min(margins)
    need(least > 0, "no positive margin")
    return least
