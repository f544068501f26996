r"""RIGHT EVERYWHERE: the least margin over all inputs of a task, from a model's files and multipliers.

A question is (the asking token and the right answer a with its place, a rival b); a proof goes through all of
them in a fixed order.  Each has a tree in preorder, whose steps are lists of whole numbers:

    [1, j]           ReLU j is on, then off
    [2, i, t]        token t stands at position i, then another one
    [0, λ…, α…, β…]  a leaf: multipliers in 2^-16, one λ a ratio where heads are bounded together, one α
                     a ReLU, one β a ReLU that the path has fixed

The tree covers its question by construction.  A leaf says: on all inputs that its path leaves, the margin
is at least the one claimed; it is derived from tables of the weights, whatever the multipliers.  See
rules.md.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from math import isqrt
from operator import mul
from typing import Any, NamedTuple

from limen_check.everywhere.balls import ONE, PLACES, Ball, Vec, dot, root, vec
from limen_check.everywhere.one_layer import EPSILON, Head, Layer, Table, read
from limen_check.everywhere.rounding import error
from limen_check.files import Model, expect, need, rational, shown
from limen_check.text import Call, parse_call, parse_stack

_GRID, _DEEPEST, _LARGEST, _QUESTIONS, _MASKS = 16, 4096, 1 << 56, 1 << 20, 1 << 22
_PASSES, _CLOSE = 8, 1 << 24  # of Dinkelbach's iteration, and where it may stop; any are sound
_WORK, _FUNCTION = (
    1 << 30,
    1 << 7,
)  # whole numbers computed, in a minute or two; an exp takes as long as these
Mask = tuple[tuple[int, ...], ...]  # the tokens that may stand at each position


class Promise(NamedTuple):
    # Texts of so many tokens below `vocab`; cases: the token that asks, the answer, who may stand where.
    length: int
    vocab: int
    answers: int
    cases: list[tuple[int, int, Mask]]
    keys: dict[int, int]  # position: a token's key there is token // this; no two positions have one key

    def narrowed(self, mask: Mask) -> Mask | None:
        """Without tokens whose key another position must have; None if a position has none left."""
        rows, done = list(mask), set[int]()
        while True:
            if not all(rows):
                return None
            held = {i: {t // by for t in rows[i]} for i, by in self.keys.items() if i not in done}
            fixed = next((i for i, keys in held.items() if len(keys) == 1), None)
            if fixed is None:
                return tuple(rows)
            done.add(fixed)
            (key,) = held[fixed]
            for i, by in self.keys.items():
                if i != fixed:
                    rows[i] = tuple(t for t in rows[i] if t // by != key)


def promise(text: str) -> Promise:
    """The inputs of a task as products of sets of tokens, every one in one of them."""
    call = parse_call(text)
    need(call.name in _TASKS, f"no worst case is known of {call.name}")
    names, made = _TASKS[call.name]
    expect(call.arguments.keys() <= names, f"{call.name}: another size")
    return made(call)


def _some(count: int, numbers: int, masks: int) -> None:
    """So many cases with so many answers each; all masks together hold no more than `read` allows."""
    need(0 < count * numbers <= _QUESTIONS and masks <= _MASKS, "too large")


def _table(call: Call) -> Promise:
    """eva, index: values f(0) … f(n-1) below S, then x; f(x) = a."""
    n = call.number("n", most=1 << 10)
    S = n if call.name == "eva" else call.number("S", 2, 1 << 10)
    _some(n * S, S, n * n * max(n, S))
    every, cases = tuple(range(S)), []
    for x in range(n):
        for a in range(S):
            cases.append((x, a, (*[every] * x, (a,), *[every] * (n - 1 - x), (x,))))
    return Promise(n + 1, max(n, S), S, cases, {})


def _retrieval(call: Call) -> Promise:
    """Pairs as key·V + value, keys below 2^D all different, then 2^D·V + key; `absent`: maybe nobody's."""
    n, D, V = call.number("n", most=1 << 10), call.number("D", most=16), call.number("V", most=1 << 10)
    absent, keys = call.arguments.get("absent", False), 1 << D
    expect(
        type(absent) is bool and n + bool(absent) <= keys, "retrieval: absent is true or false, n at most 2^D"
    )
    _some(keys * (n * V + 1), V + 1, n * keys * keys * (V + 1))
    need(keys * keys * V <= _QUESTIONS, "too large")  # tokens of the masks: each key's others are listed
    cases = []
    for key in range(keys):
        others = tuple(t for t in range(keys * V) if t // V != key)
        for place in range(n):
            for b in range(V):
                mask = (*[others] * place, (key * V + b,), *[others] * (n - 1 - place), (keys * V + key,))
                cases.append((keys * V + key, b, mask))
        if absent:
            cases.append((keys * V + key, V, (*[others] * n, (keys * V + key,))))
    return Promise(n + 1, keys * (V + 1), V + bool(absent), cases, dict.fromkeys(range(n), V))


def _recall(call: Call) -> Promise:
    """n pairs of tokens key, value, keys all different, then one of the keys."""
    n, V = call.number("n", most=1 << 10), call.number("V", 2, 1 << 10)
    need(call.number("q", default=1) == 1, "several answers")
    expect(2 * n <= V, "recall: V is at least 2n")
    _some(V * n * V, V, n * V * V)
    cases, every = [], tuple(range(V))
    for key in range(V):
        others = tuple(t for t in every if t != key)
        for place in range(n):
            for value in range(V):
                rows = [others, every] * n
                rows[2 * place : 2 * place + 2] = [(key,), (value,)]
                cases.append((key, value, (*rows, (key,))))
    return Promise(2 * n + 1, V, V, cases, dict.fromkeys(range(0, 2 * n, 2), 1))


_TASKS: dict[str, tuple[set[str], Callable[[Call], Promise]]] = {
    "eva": ({"n"}, _table), "index": ({"n", "S"}, _table),
    "retrieval": ({"n", "D", "V", "absent"}, _retrieval), "recall": ({"n", "V", "q"}, _recall),
}  # fmt: skip


def work(model: Model, text: Promise, proof: list[list[list[int]]]) -> tuple[int, int]:
    """About how many whole numbers a check computes, for its tables and for the proof; known beforehand.

    A leaf goes through the table of all tokens at all positions, once a pass and head.  Ranges of ReLUs, and
    of the numbers behind a norm, are found again where the mask changes: with s splits by tokens at most
    1 + 5s times a case; see rules.md.
    """
    h, steps = model.header, [step[:1] for tree in proof for step in tree]
    leaves, splits = steps.count([0]), steps.count([2])
    local, norm, D = (h["locals"] or [None])[0], h["norm"], h["width"]
    hidden = 0 if local is None else parse_call(local).number("hidden", 0, 1 << 12, 0)
    table, queries, cases = text.length * text.vocab, len({x for x, _, _ in text.cases}), len(text.cases)
    heads = keys = values = passes = 0
    for call in parse_stack(h["architecture"])[0]:
        many, d = call.number("h", 1, 1 << 10, 1), call.number("d", 1, 1 << 12, 1)
        d_k = call.number("d_k", 1, 1 << 12, d)
        heads, keys, values = heads + many, keys + many * d_k, values + many * d
        passes += _PASSES * many * (2 * d_k if call.name in ("delta", "gated_delta") else 1)
    read = table * (2 * D * (keys + values) + queries * (keys + _FUNCTION * heads) + _FUNCTION * keys)
    read += _PASSES * sum(len(w.numbers) for w in model.weights.values())
    made = (text.answers + hidden + norm * (D + queries * D)) * (table + D) * values
    made += (text.answers + queries) * hidden * D
    masks = (cases + 5 * splits) * table * (4 * (hidden + norm * D) * passes + values)
    each = table * (passes + bool(hidden) * values) + 4 * D + hidden * (values + _FUNCTION) + 4 * _FUNCTION
    trees = len(steps) * (hidden + _FUNCTION) + (len(proof) + 2 * splits) * table * (1 + len(text.keys))
    return read + made, masks + leaves * each + trees


def check_everywhere(c: dict[str, Any], model: Model) -> str:
    """Refused unless the margin is at least the one claimed on every input, and that beats all rounding."""
    need(c["weights"] == model.digest, "these are other weights")
    text = promise(c["task"])
    numbers = sum(work(model, text, c["proof"]))
    expect(
        numbers <= _WORK, f"the check would compute {shown(numbers)} numbers; at most {_WORK:,} are computed"
    )
    layer = read(model, text.length, text.vocab, text.answers, sorted({query for query, _, _ in text.cases}))
    least = rational(c["margin"])
    need(0 < least < 1 << 32, "no positive margin")
    blur = error(model, layer, text.length, c["precision"])
    need(
        least > blur,
        f"a margin of {float(least):.3g} may be lost in rounding, which may be {float(blur):.3g}",
    )
    proof, at = c["proof"], 0
    worst = Worst(layer, text, -(-least.numerator * ONE // least.denominator))
    for query, answer, mask in text.cases:
        for rival in range(text.answers):
            if rival != answer:
                need(at < len(proof), "a question has no proof")
                worst.question(query, answer, rival, mask, iter(proof[at]))
                at += 1
    need(at == len(proof), "more proofs than questions")
    of = "of ρ times the margin, " if layer.norm else ""
    return (
        f"{c['task']} in {c['precision']}: right on every input; the margin is at least {float(least):.6g}, "
        f"{of}and rounding moves it by at most {float(blur):.3g}; {at} questions"
    )


class Worst:
    """Holds leaves to the margin that is claimed, `least` (an integer over 2^64)."""

    def __init__(self, layer: Layer, text: Promise, least: int) -> None:
        self.layer, self.text, self.least = layer, text, least
        sizes = [len(head.v[0][0].mid) for head in layer.heads]
        ends = [sum(sizes[: h + 1]) for h in range(len(sizes))]
        self.parts = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
        self.ratios = sum(head.kind == "ratio" for head in layer.heads) if len(sizes) > 1 else 0  # with a λ
        self.at: tuple[int, Mask] | None = None
        self.sizes = [
            (max(v.most for r in h.v for v in r), max(v.rad for r in h.v for v in r)) for h in layer.heads
        ]
        self.e = [vec(dot(row, column) for row in layer.O) for column in layer.U]
        self.answers = [self.functional(C) for C in self.e]
        W1, b1, W2, _ = layer.local or ([], Vec([], 0), [], Vec([], 0))
        self.G = [vec(dot(row, W) for W in W1) for row in layer.O]  # h = G y + g₀
        self.hidden = [self.functional(vec(dot(row, W) for row in layer.O)) for W in W1]
        self.g0 = {x: vec(dot(own, W).plus(b1.at(j)) for j, W in enumerate(W1)) for x, own in layer.x.items()}
        self.s = [vec(dot(column, W) for W in W2) for column in layer.U]
        self.ranges = lru_cache(maxsize=64)(self._ranges)
        self.spread = lru_cache(maxsize=64)(self._spread)
        self.lengths = lru_cache(maxsize=None)(self._lengths)

    def functional(self, C: Vec) -> "Functional":
        """C·y of every head's output, as tables of what each token would give."""
        made = []
        for head, part, (most, rad) in zip(self.layer.heads, self.parts, self.sizes, strict=True):
            C_h = Vec(C.mid[part], C.rad)
            rows = [[sum(map(mul, C_h.mid, v.mid)) >> PLACES for v in row] for row in head.v]
            made.append(_spread_of(rows, (C_h.most * rad + most * C_h.rad >> PLACES) + 2))
        return Functional(made)

    def question(self, query: int, answer: int, rival: int, mask: Mask, steps: Iterator[list[int]]) -> None:
        """Goes through one tree."""
        open_: list[tuple[Mask | None, dict[int, int]]] = [(self.text.narrowed(mask), {})]
        while open_:
            mask_, signs = open_.pop()
            step = next(steps, None)
            need(step, "a tree that ends too early")
            assert step is not None
            expect(len(signs) + len(open_) <= _DEEPEST, "a tree that is too deep")
            if step[0] == 1:
                expect(len(step) == 2 and 0 <= step[1] < len(self.hidden), "no such ReLU")
                open_ += [(mask_, {step[1]: sign} | signs) for sign in (-1, 1)]
                need(step[1] not in signs, "a ReLU that is fixed already")
            elif step[0] == 2:
                expect(len(step) == 3 and 0 <= step[1] < self.text.length, "no such position")
                open_ += [(self._split(mask_, step[1], step[2], it), signs) for it in (False, True)]
            else:
                expect(step[0] == 0, "no such step")
                self.leaf(query, answer, rival, mask_, signs, step[1:])
        need(next(steps, None) is None, "a tree that goes on after its end")

    def _split(self, mask: Mask | None, i: int, t: int, is_t: bool) -> Mask | None:
        if mask is None:
            return None
        return self.text.narrowed((*mask[:i], tuple(x for x in mask[i] if (x == t) == is_t), *mask[i + 1 :]))

    def leaf(
        self,
        query: int,
        answer: int,
        rival: int,
        mask: Mask | None,
        signs: dict[int, int],
        multipliers: Sequence[int],
    ) -> None:
        """The margin is at least the one claimed on all inputs of the mask whose ReLUs have these signs."""
        m = len(self.hidden)
        expect(len(multipliers) == self.ratios + m + len(signs), "a leaf with more or fewer multipliers")
        λ, α = multipliers[: self.ratios], multipliers[self.ratios : self.ratios + m]
        β = dict(zip(sorted(signs), multipliers[self.ratios + m :], strict=True))
        expect(all(abs(one) <= _LARGEST for one in multipliers), "a multiplier is too large")
        need(all(0 <= one <= 1 << _GRID for one in α), "an α that is not in [0, 1]")
        need(all(one >= 0 for one in β.values()), "a β below 0")
        if mask is None:
            return  # no input is left
        column = self.layer.U[answer].minus(self.layer.U[rival])
        u = self.layer.u.at(answer).minus(self.layer.u.at(rival))
        const = dot(column, self.layer.x[query])
        if m:
            made = self._relus(query, mask, signs, α, β, self.s[answer].minus(self.s[rival]))
            if made is None:
                return  # a sign that no input of the mask has
            assert self.layer.local is not None
            slopes, low = made
            C = vec(dot(slopes, row) for row in self.G)
            if self.layer.residual:
                C, low = C.plus(self.e[answer].minus(self.e[rival])), low + const.low
            self.need(query, mask, self.functional(C), low + dot(column, self.layer.local[3]).low + u.low, λ)
        elif self.layer.norm:
            self._normed(query, mask, self.answers[answer].minus(self.answers[rival]), const, u, λ)
        else:
            self.need(query, mask, self.answers[answer].minus(self.answers[rival]), const.low + u.low, λ)

    def need(self, query: int, mask: Mask, C: "Functional", const: int, λ: Sequence[int]) -> None:
        need(
            self.at_least(query, mask, C, self.least - const, λ),
            "a leaf whose bound is below the margin claimed",
        )

    def _relus(
        self, query: int, mask: Mask, signs: dict[int, int], α: Sequence[int], β: dict[int, int], s: Vec
    ) -> tuple[Vec, int] | None:
        """Σ s_j ReLU(h_j) ≥ slopes·(G y) + low: each over a line, or under one where it counts against."""
        low, slopes, g0 = 0, [], self.g0[query]
        for j, (down, up) in enumerate(self.ranges(query, mask)):
            sign, s_j = signs.get(j, 0), s.mid[j]
            if (sign > 0 and up < 0) or (sign < 0 and down > 0):
                return None
            low -= s.rad * max(up, 0) // ONE + 1  # from here on s is its midpoint
            slope = (1 << _GRID if sign > 0 else 0) if sign else α[j]
            if not sign and s_j < 0:
                above = max((max(end, 0) << _GRID) - slope * end for end in (down, up))
                low += s_j * above >> PLACES + _GRID
            slopes.append(s_j * slope - (β.get(j, 0) * sign << PLACES) >> _GRID)
        made = Vec(slopes, 1)
        return made, low + dot(made, g0).low

    def _ranges(self, query: int, mask: Mask) -> list[tuple[int, int]]:
        """The ends of every ReLU's argument, over all inputs of the mask."""
        ends = []
        for j, h in enumerate(self.hidden):
            const = self.g0[query].at(j)
            low, high = self.smallest(query, mask, h), -self.smallest(query, mask, h.negative())
            ends.append((low + const.low, high + const.high))
        return ends

    # X1: minima over all texts of a mask

    def smallest(self, query: int, mask: Mask, C: "Functional") -> int:
        """Not above C·y on any text of the mask: the sum of every head's own minimum."""
        heads = zip(self.layer.heads, C.tables, strict=True)
        return sum(_MINIMA[head.kind](head, query, mask, table) for head, table in heads)

    def at_least(self, query: int, mask: Mask, C: "Functional", bound: int, λ: Sequence[int]) -> bool:
        """Whether C·y ≥ bound on every text of the mask."""
        heads = list(zip(self.layer.heads, C.tables, strict=True))
        if len(heads) == 1 and heads[0][0].kind == "ratio":
            return (
                _normaliser(heads[0][0], query, mask)[0] > 0 and _shifted(*heads[0], query, mask, bound) >= 0
            )
        joint = [one for one in heads if len(heads) > 1 and one[0].kind in ("ratio", "sum")]
        alone = [one for one in heads if not joint or one[0].kind not in ("ratio", "sum")]
        low = sum(_MINIMA[head.kind](head, query, mask, table) for head, table in alone)
        return low + (_together(joint, query, mask, λ) if joint else 0) >= bound

    # X3: behind a norm, ρ·margin = z·c + u·ρ(z), z = x + y O

    def _normed(
        self, query: int, mask: Mask, C: "Functional", const: Ball, u: Ball, λ: Sequence[int]
    ) -> None:
        """u < 0: one ratio averages, so ρ(z) ≤ the average of ρ; else ρ at its largest.  u > 0: a tangent."""
        low = const.low - (u.rad * self.spread(query, mask) >> PLACES) - 1  # from here on u is its midpoint
        one_ratio = len(self.layer.heads) == 1 and self.layer.heads[0].kind == "ratio"
        if u.mid > 0:
            z, tangent = self._tangent(query, mask)
            by = Ball(u.mid, 0).over(root(z, EPSILON, True))
            low += by.times(dot(self.layer.x[query], z)).low // len(z.mid) + by.times(Ball(EPSILON, 1)).low
            C = C.plus(tangent.scaled(Ball(by.mid // len(z.mid), by.rad + 1)))
        elif one_ratio:
            C = C.plus(Functional([self.lengths(query)]).scaled(Ball(u.mid, 0)))
        else:
            low += u.mid * self.spread(query, mask) >> PLACES
        self.need(query, mask, C, low, λ)

    def _tangent(self, query: int, mask: Mask) -> tuple[Vec, "Functional"]:
        """Any z̄, here that of each position's first token, and z̄·(y O): ρ(z) ≥ (z·z̄/D + ε)/ρ(z̄)."""
        if self.at != (query, mask):
            y = [c for head in self.layer.heads for c in _output(head, query, [row[0] for row in mask])]
            columns = zip(*(row.mid for row in self.layer.O), strict=True)
            parts = [sum(map(mul, y, column)) >> PLACES for column in columns]
            z = Vec([a + b for a, b in zip(self.layer.x[query].mid, parts, strict=True)], 0)
            self.at, self.tangent = (
                (query, mask),
                (z, self.functional(vec(dot(row, z) for row in self.layer.O))),
            )
        return self.tangent

    def _lengths(self, query: int) -> "Spread":
        """ρ(x + v O) of every token, where the layer is one ratio."""
        x, (head,) = self.layer.x[query], self.layer.heads
        columns = [vec(row.at(k) for row in self.layer.O) for k in range(len(x.mid))]
        return _spread(
            [[root(x.plus(vec(dot(v, c) for c in columns)), EPSILON, True) for v in r] for r in head.v]
        )

    def _spread(self, query: int, mask: Mask) -> int:
        """Not below ρ(z) on any text of the mask."""
        if len(self.layer.heads) == 1 and self.layer.heads[0].kind == "ratio":
            return self.lengths(query).top
        x, squares = self.layer.x[query], 0
        for k, C in enumerate(self.coordinates):
            low, high = self.smallest(query, mask, C), -self.smallest(query, mask, C.negative())
            squares += max(abs(low + x.mid[k]), abs(high + x.mid[k])) ** 2
        return isqrt(squares // len(x.mid) + (EPSILON << PLACES)) + x.rad + 2

    @cached_property
    def coordinates(self) -> list["Functional"]:
        """Each number of y O."""
        return [
            self.functional(vec(row.at(k) for row in self.layer.O)) for k in range(len(self.layer.U[0].mid))
        ]


class Spread(NamedTuple):  # numbers for every token at every position, one radius, and none larger than `top`
    mid: Table
    rad: int
    top: int

    def plus(self, other: "Spread", sign: int = 1) -> "Spread":
        rows = [
            [a + sign * b for a, b in zip(*r, strict=True)] for r in zip(self.mid, other.mid, strict=True)
        ]
        return Spread(rows, self.rad + other.rad, self.top + other.top)


class Functional(NamedTuple):  # C·y: a table a head, of C·v
    tables: list[Spread]

    def plus(self, other: "Functional") -> "Functional":
        return Functional([a.plus(b) for a, b in zip(self.tables, other.tables, strict=True)])

    def minus(self, other: "Functional") -> "Functional":
        return Functional([a.plus(b, -1) for a, b in zip(self.tables, other.tables, strict=True)])

    def negative(self) -> "Functional":
        return Functional([Spread([[-a for a in row] for row in t.mid], t.rad, t.top) for t in self.tables])

    def scaled(self, by: Ball) -> "Functional":
        made = []
        for t in self.tables:
            lost = (t.top * by.rad + by.most * t.rad >> PLACES) + 2
            made.append(
                Spread(
                    [[a * by.mid >> PLACES for a in r] for r in t.mid],
                    lost,
                    (t.top * by.most >> PLACES) + lost,
                )
            )
        return Functional(made)


def _spread(table: list[list[Ball]]) -> Spread:
    rad = max(ball.rad for row in table for ball in row)
    return _spread_of([[ball.mid for ball in row] for row in table], rad)


def _spread_of(rows: Table, rad: int) -> Spread:
    return Spread(rows, rad, max(max(map(abs, row)) for row in rows) + rad)


# X1: each position's own minimum, over the tokens that may stand there


def _products(head: Head, c: Spread, query: int, shift: int = 0) -> tuple[Table, int]:
    """2^64·α(c - shift) at every position and token, and by how much each may err."""
    both = zip(head.α[query], c.mid, strict=True)
    rows = [[a * (b - shift) for a, b in zip(*row, strict=True)] for row in both]
    return rows, head.most[query] * c.rad + (c.top + abs(shift)) * head.rad


def _ends(rows: Table, lost: int, mask: Mask) -> tuple[int, int]:
    """The ends of the sum over all positions."""
    seen = [
        row if len(row) == len(here) else [row[t] for t in here] for row, here in zip(rows, mask, strict=True)
    ]
    return sum(map(min, seen)) - lost * len(seen), sum(map(max, seen)) + lost * len(seen)


def _normaliser(head: Head, query: int, mask: Mask) -> tuple[int, int]:
    return _ends(head.α[query], head.rad, mask)


def _shifted(head: Head, c: Spread, query: int, mask: Mask, bound: int) -> int:
    """Not above 2^64·Σα(c - bound): if 0 or more, and the normaliser positive, the ratio is ≥ bound."""
    return _ends(*_products(head, c, query, bound), mask)[0]


def _sum_minimum(head: Head, query: int, mask: Mask, c: Spread) -> int:
    return _ends(*_products(head, c, query), mask)[0] >> PLACES


def _ratio_minimum(head: Head, query: int, mask: Mask, c: Spread) -> int:
    """Dinkelbach: from any λ, ratio ≥ λ + min(0, Σα(c - λ))/(least normaliser); λ is then one that occurs."""
    least, _ = _normaliser(head, query, mask)
    need(least > 0, "a normaliser that may be 0")
    α, (plain, _), best = head.α[query], _products(head, c, query), -(1 << 256)
    chosen = [min(here, key=row.__getitem__) for row, here in zip(c.mid, mask, strict=True)]
    for _ in range(_PASSES):
        λ = sum(plain[i][t] for i, t in enumerate(chosen)) // sum(α[i][t] for i, t in enumerate(chosen))
        rows = [[p - λ * a for p, a in zip(*both, strict=True)] for both in zip(plain, α, strict=True)]
        lost = head.most[query] * c.rad + (c.top + abs(λ)) * head.rad
        short = min(_ends(rows, lost, mask)[0], 0) // least
        best = max(best, λ + short)
        if short > -_CLOSE:
            break
        chosen = [min(here, key=row.__getitem__) for row, here in zip(rows, mask, strict=True)]
    return best


def _chain_minimum(head: Head, query: int, mask: Mask, c: Spread) -> int:
    """m_i ≥ g m + αc at the least m so far, since g > 0."""
    rows, lost = _products(head, c, query)
    m = 0
    for row, here, g in zip(rows, mask, head.g, strict=True):
        need(min(g.mid) > g.rad, "a gate that may not be positive")
        m = min(row[t] + g.mid[t] * m for t in here) - lost - abs(m) * g.rad >> PLACES
    return m


def _erase_minimum(head: Head, query: int, mask: Mask, c: Spread) -> int:
    """y = Σ (p_i·w_i)v_i, p_{i-1} = g_i(p_i - e_i(w_i·p_i)): all p_i lie within `away` of p."""
    assert head.erased is not None
    (unit, keys, erase, _), total = head.erased, 0
    q = unit[query]
    sides = isqrt(len(q.mid)) + 1
    p, away = q.mid, q.rad * sides
    for i in range(len(mask) - 1, -1, -1):
        lows, ends = [], []
        for t in mask[i]:
            w, along = keys[i][t], dot(Vec(p, 0), keys[i][t])
            length = isqrt(sum(map(mul, w.mid, w.mid))) + 1 + w.rad * sides
            lows.append(
                Ball(along.mid, along.rad + (away * length >> PLACES) + 1).times(Ball(c.mid[i][t], c.rad)).low
            )
            left = Vec(p, 0).minus(erase[i][t].scaled(along))
            g = head.g[i].at(t) if head.g else Ball(ONE, 0)
            left = left.scaled(g)
            ends.append((left, (g.high * away >> PLACES) + 1 + left.rad * sides))
        total += min(lows)
        columns = list(zip(*(left.mid for left, _ in ends), strict=True))
        p = [(min(column) + max(column)) // 2 for column in columns]
        away = max(
            isqrt(sum((a - b) ** 2 for a, b in zip(left.mid, p, strict=True))) + 1 + more
            for left, more in ends
        )
    return total


def _together(heads: list[tuple[Head, Spread]], query: int, mask: Mask, multipliers: Sequence[int]) -> int:
    """X4: sums and ratios as one separable sum, N/D = λ + R/D and R/D above a line in R."""
    total, table, lost, λs = 0, [[0] * len(row) for row in heads[0][1].mid], 0, iter(multipliers)
    for head, c in heads:
        if head.kind == "sum":
            rows, err = _products(head, c, query)
            κ = ONE
        else:
            λ = next(λs) << PLACES - _GRID
            rows, err = _products(head, c, query, λ)
            least, most = _normaliser(head, query, mask)
            need(least > 0, "a normaliser that may be 0")
            ends = _ends(rows, err, mask)  # of 2^64·R
            g = [R // (most if R >= 0 else least) for R in ends]
            κ = (g[1] - g[0] << 2 * PLACES) // max(ends[1] - ends[0], 1)
            total += λ + min(at - (κ * R >> 2 * PLACES) - 1 for at, R in zip(g, ends, strict=True))
        table = [
            [a + (κ * b >> 2 * PLACES) for a, b in zip(*both, strict=True)]
            for both in zip(table, rows, strict=True)
        ]
        lost += (abs(κ) * err >> 2 * PLACES) + 2
    return total + _ends(table, lost, mask)[0]


def _output(head: Head, query: int, text: list[int]) -> list[int]:
    """About what a head gives on one text."""
    v = [head.v[i][t].mid for i, t in enumerate(text)]
    if head.erased is not None:
        p, weight = head.erased.unit[query].mid, [0] * len(v)
        for i in range(len(v) - 1, -1, -1):
            weight[i] = sum(map(mul, p, head.erased.w[i][text[i]].mid)) >> PLACES
            p = [a - (weight[i] * b >> PLACES) for a, b in zip(p, head.erased.e[i][text[i]].mid, strict=True)]
            p = [a * head.g[i].mid[text[i]] >> PLACES for a in p] if head.g else p
    else:
        weight = [head.α[query][i][t] for i, t in enumerate(text)]
    if head.kind == "chain":
        left = ONE
        for i in range(len(v) - 1, -1, -1):
            weight[i], left = weight[i] * left >> PLACES, left * head.g[i].mid[text[i]] >> PLACES
    total = max(sum(weight), 1) if head.kind == "ratio" else ONE
    return [sum(map(mul, weight, column)) // total for column in zip(*v, strict=True)]


_MINIMA = {"ratio": _ratio_minimum, "sum": _sum_minimum, "chain": _chain_minimum, "erase": _erase_minimum}
