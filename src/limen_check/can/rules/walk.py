"""R32: a ReLU recurrence walks over the edges of a graph, which a chain of thought writes again and again.

    v = 0, seen = 0;   at a mark seen becomes 1 if v = 0;   an edge a-b turns v = a into b, and v = b into a

The n-1 edges are read n-1 times, the first time in the prompt, and a mark is at the first edge of each
further reading.  The graph is a tree iff v is never 0 behind a reading.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, permutations, product
from operator import add
from typing import NamedTuple

from limen_check.can.readout import Also, Digits
from limen_check.can.state import State, Vecs
from limen_check.can.tasks import PLACE, TOKEN, Cell, Class, Listed, Number, Read, Spec, text
from limen_check.can.vectors import NONE, ONE, ZERO, Column, Vec
from limen_check.files import need
from limen_check.text import Call

_VERTICES, _UNITS, _WORK = 1 << 12, 1 << 8, 1 << 13  # units of a stage; weights, over all letters
Corner = tuple[int, int, int]  # v, a, b
Add = tuple[int, int, int]  # what a token adds to a unit: α·a + β·b + γ
Letter = tuple[tuple[Add, ...], bool]  # to all units; whether it is a mark


class Unit(NamedTuple):
    into: list[tuple[int, int]]  # a unit of the stage before, and its weight
    bias: int


def margin(n: int, steps: int, forward: Callable[[Spec], State], digits: Digits) -> Fraction:
    """The least margin of all edges that are written, and of the answer."""
    need(n <= _VERTICES, "too many vertices to look at")
    need(steps == (n - 1) * (n - 2) and 1 << digits.bits >= n * n, "not n-1 readings of the edges")
    edges, walk, end = text(("edges", n - 1, 0, n * n), ("walk", steps - 1, 0, n * n), ("end", 1, 0, n * n))
    asks = replace(edges, name="asks", start=n - 2, count=1, view=True)  # the last of them, as it writes
    state = forward(Spec((edges, walk, end, asks), ("end",), 2, (), vertices=n))
    first = Listed((Number(PLACE),), frozenset({(None, 0)}))
    places = frozenset((t, (t + 1) % (n - 1)) for t in range(n - 1))
    following, least = Listed((Number(PLACE),), places, Number(PLACE, 1, n - 1)), list[Fraction]()
    for c, fact in ((asks, first), (walk, following)):
        pieces, gap = digits.pieces(state, c)
        edge = Number(Read("at", "edges", frozenset({fact}), TOKEN))
        need([(p.start, p.number) for p in pieces] == [(0, edge)], "another edge is written")
        least.append(gap)
    v, seen = _cells(n)
    both: Also = {v: range(n), seen: (0, 1)}
    answer = digits.by_rows(state.x["end"], state.f, both, lambda at: int(at[v] > 0 and not at[seen]))
    return min(*least, answer)


def _cells(n: int) -> tuple[Number, Number]:
    return Number(Cell("v", n)), Number(Cell("seen", 2))


def relu_rnn(s: State, at: str, call: Call) -> Vecs:
    """The two numbers of the state, which are v and seen after every token, times O."""
    n, stages = s.spec.vertices, range(1, call.number("stages", default=1) + 1)
    need(call.number("d") == 2, "not two numbers")
    units = [s.model.weights[f"{at}.b{i}"].shape[0] for i in stages]
    need(max(units) <= _UNITS, "too many units to look at")
    layers = [_stage(s, f"{at}.W{i}", f"{at}.b{i}", many) for i, many in zip(stages, units, strict=True)]
    letters = {letter for c in s.text for letter in _letters(s, at, c, units[0])}
    weights = sum(1 + len(unit.into) for layer in layers for unit in layer)
    need(len(letters) * weights <= _WORK, "too many tokens to look at")
    for (adds, mark), corners, seen in product(letters, _regions(n), (0, 1)):
        _turned(s, layers, corners, seen, adds, mark)
    names, rows = _cells(n), [tuple(range(many)) for many in (n, 2)]
    columns = [Column.of([ONE * i for i in of]) for of in rows]
    v, seen_ = (Vec.table(names[i], rows[i], {i: columns[i]}) for i in range(2))
    return dict.fromkeys(s.classes, v.plus(seen_).times(s.matrix(f"{at}.O"), s.f))


def _whole(x: Fraction) -> int:
    need(x.denominator == 1, "not whole numbers")
    return x.numerator


def _stage(s: State, W: str, b: str, units: int) -> list[Unit]:
    into, bias = s.matrix(W), s.vector(b).const
    all_of = ({i: _whole(w) for i, w in into.get(u, {}).items()} for u in range(units))
    return [Unit([*of.items()], _whole(bias.get(u, ZERO))) for u, of in enumerate(all_of)]


def _letters(s: State, at: str, c: Class, units: int) -> set[Letter]:
    """What a token of a class may add to the units of the first stage, xU + b₁: affine in its a and b."""
    n, x = s.spec.vertices, s.x[c.name].times(s.matrix(f"{at}.U"), s.f).plus(s.vector(f"{at}.b1"), s.f)
    ends, turn = [Number(TOKEN, n), Number(TOKEN, 1, n)], Number(PLACE, 1, n - 1)
    turns = range(n - 1) if c.name == "walk" else range(1)  # which edge's it is: edge 0 has the mark
    letters = [list[Add]() for _ in turns]
    for form in (x[u] for u in range(units)):
        need(form.err == NONE, "what a token adds is not exact")
        slopes, γ = [ZERO, ZERO], [form.const for _ in turns]
        for name, column in form.terms.items():
            number, rows = s.plain(name, c) if isinstance(name, Number) else name, column.rows()
            if number in ends and x.keys[name] == tuple(range(n)):
                slope = rows[1] - rows[0]
                need(rows == [rows[0] + slope * i for i in range(n)], "no multiple of an end")
                slopes[ends.index(number)] += slope
            elif not column.fixed:
                need(number == turn and x.keys[name] == tuple(turns), "something else is added")
            by_turn = rows if number == turn and not column.fixed else rows[:1] * len(turns)
            γ = [v + more for v, more in zip(γ, by_turn, strict=True)]
        for letter, v in zip(letters, γ, strict=True):
            letter.append((_whole(slopes[0]), _whole(slopes[1]), _whole(v)))
    return {(tuple(letter), c.name == "walk" and i == 0) for i, letter in enumerate(letters)}


def _regions(n: int) -> Iterator[list[Corner]]:
    """All v, a ≠ b below n, by their order and by which are equal or 0: the corners of simplices."""
    for order, apart in product(permutations(range(3)), product((0, 1), repeat=3)):
        free = n - 1 - sum(apart)
        gaps = [(0, 0, 0), *(tuple(free * (i == j) for j in range(3)) for i in range(3) if apart[i])]
        corners = []
        for gap in gaps:
            ranked = dict(zip(order, accumulate(map(add, apart, gap)), strict=True))
            corners.append((ranked[0], ranked[1], ranked[2]))
        if free >= 0 and corners[0][1] != corners[0][2]:
            yield corners


def _turned(
    s: State, stages: list[list[Unit]], corners: list[Corner], seen: int, adds: tuple[Add, ...], mark: bool
) -> None:
    """Every unit is affine in the region, so its corners say what all points of it become."""
    f, h = s.f, [[v, seen] for v, _, _ in corners]
    for k, stage in enumerate(stages):
        made: list[list[int]] = [[] for _ in corners]
        for u, unit in enumerate(stage):
            α, β, γ = adds[u] if not k else (0, 0, unit.bias)
            parts = [[w * old[i] for i, w in unit.into] for old in h]
            need(max(sum(map(abs, of)) for of in parts) * f.acc <= 1, "a sum is too large")
            sums, more = list(map(sum, parts)), [α * a + β * b + γ for _, a, b in corners]
            y = list(map(add, sums, more))
            if max(y) > 0:
                exact = max(map(abs, (*sums, *more, *y))) <= 1 << f.t
                need(min(y) >= 0 and exact, "a unit is on and off, or is rounded")
            for of, v in zip(made, y, strict=True):
                of.append(max(0, v))
        h = made
    for (v, a, b), now in zip(corners, h, strict=True):
        need(now == [{a: b, b: a}.get(v, v), int(seen or (mark and v == 0))], "no walk over the edges")
