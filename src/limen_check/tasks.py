r"""What the tasks are, in the language of the rules: classes of tokens, promises, and what the answer is.

A number is an integer (of // div) % mod of a token, mod = 0 for none, and `of` is one of

    PLACE, TOKEN        its place in its segment, its id
    At(c, facts, e)     e of THE token of class c that the facts single out
    Back(o, e)          e of the token o positions before
    Part(number)        a number as something that has digits of its own
    Exists(c, facts)    1 if a token of class c at or before it satisfies the facts, else 0
    Found(c, facts, k)  the number k of that token, or k's modulus where there is none
    Count(c, facts)     how many there are in all
    Cell(i, size)       cell i of the task's machine, below `size`, after this token

Facts relate a number of the key token to one of the asking token.  A sceptic reads here whether this is the
task; everything else is derived from the weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, NamedTuple

from limen_check import automata, rows
from limen_check.automata import Machine
from limen_check.files import expect, need
from limen_check.text import parse_call
from limen_check.vectors import Class

PLACE, TOKEN = "place", "token"


@dataclass(frozen=True)
class Number:
    """(of // div) % mod; no modulus if mod is 0."""

    of: Any
    div: int = 1
    mod: int = 0


@dataclass(frozen=True)
class Equal:
    """key number = query number + shift."""

    key: Number
    query: Number
    shift: int = 0


@dataclass(frozen=True)
class Sum:
    """key number + query number = total, modulo `modulo` unless that is 0."""

    key: Number
    query: Number
    total: int
    modulo: int = 0


@dataclass(frozen=True)
class Mapped:
    """(query number, key number) is one of these rows; without a query number, (None, key number)."""

    key: Number
    query: Number | None
    rows: tuple[tuple[int | None, int], ...]


@dataclass(frozen=True)
class Among:
    """The key token's numbers, in the order of their text, are one of these rows."""

    numbers: tuple[Number, ...]
    rows: frozenset[tuple[int, ...]]


@dataclass(frozen=True)
class Other:
    """Not at the asking token's own place, so not itself."""


Facts = frozenset[Equal | Sum | Mapped | Among | Other]
NO_FACTS: Facts = frozenset()


@dataclass(frozen=True)
class At:
    where: str
    facts: Facts
    of: Any


@dataclass(frozen=True)
class Back:
    by: int
    of: Any


@dataclass(frozen=True)
class Part:
    number: Number


@dataclass(frozen=True)
class Exists:
    where: str
    facts: Facts


@dataclass(frozen=True)
class Found:
    where: str
    facts: Facts
    number: Number


@dataclass(frozen=True)
class Count:
    where: str
    facts: Facts


@dataclass(frozen=True)
class Decision:
    """The answer as a function of some numbers of the token that answers."""

    numbers: tuple[Number, ...]
    right: Callable[[tuple[Any, ...]], int]


@dataclass(frozen=True)
class NotBelow:
    """Answer 1 iff the first number is at least the second."""

    count: Number
    threshold: Number


class Piece(NamedTuple):
    """Bits start, start+1, … of a token that was written: a number below 2^bits."""

    start: int
    bits: int
    number: Number


@dataclass(frozen=True)
class Spec:
    """`answer` says the same in one or more ways.

    A promise is (how many, class, facts), made to the tokens of the classes in `asks` and to no other: of the
    tokens of the class at or before the asking one exactly "one", "at most one" or "none" satisfies the
    facts, in which the asking token's numbers stand.  Of a chain of thought: the ids that a class may
    have, or the pieces that its token is written of, and segments that are not yet there.
    """

    segments: tuple[int, ...]
    classes: tuple[Class, ...]
    asks: tuple[str, ...]
    answers: int
    answer: tuple[Number | Decision | NotBelow, ...]
    promises: frozenset[tuple[str, str, Facts]] = frozenset()
    sums: tuple[int, ...] = field(default=())
    machine: Machine | None = None
    ids: Mapping[str, frozenset[int]] = field(default_factory=dict)
    written: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    later: tuple[int, ...] = ()


def _segments(*parts: tuple[str, int, int, int]) -> tuple[tuple[int, ...], list[Class]]:
    """Segments of one class each: name, tokens, ids."""
    classes, first = [], 0
    for name, count, low, high in parts:
        classes.append(Class(name, first, 0, 1, count, low, high))
        first += count
    return tuple(count for _, count, _, _ in parts), classes


def _last(c: Class, name: str) -> Class:
    """The last token of a class as it asks."""
    return Class(name, c.first, c.last, 1, 1, c.low, c.high, view=True)


def _same_place(c: Class, shift: int = 0) -> Facts:
    """The token of class c at the asking token's place, moved; nothing is to be said where c is one token."""
    return NO_FACTS if c.count == 1 else frozenset({Equal(Number(PLACE), Number(PLACE), shift)})


def _at_place(n: int, query: Number) -> Facts:
    """The token at this place, of n."""
    return NO_FACTS if n == 1 else frozenset({Equal(Number(PLACE), query)})


def eva(n: int) -> Spec:
    return index(n, n)


def index(n: int, S: int) -> Spec:
    segments, classes = _segments(("data", n, 0, S), ("query", 1, 0, n))
    found = At("data", _at_place(n, Number(TOKEN)), TOKEN)
    return Spec(segments, tuple(classes), ("query",), S, (Number(found),))


def retrieval(n: int, D: int, V: int, absent: bool) -> Spec:
    """Pairs a·V + b with different a, then 2^D·V + a; without `absent` that a occurs."""
    segments, classes = _segments(("pairs", n, 0, V << D), ("query", 1, V << D, (V + 1) << D))
    facts: Facts = frozenset({Equal(Number(TOKEN, V), Number(TOKEN, 1, 1 << D))})
    value = Number(TOKEN, 1, V)
    answer = Number(Found("pairs", facts, value)) if absent else Number(At("pairs", facts, TOKEN), 1, V)
    promises = frozenset({("at most one" if absent else "one", "pairs", facts)})
    return Spec(segments, tuple(classes), ("query",), V + absent, (answer,), promises)


def _any(*numbers: Number, yes: int) -> Decision:
    """`yes` iff one of the numbers is not 0."""
    return Decision(numbers, lambda row: yes if any(row) else 1 - yes)


def two_sum(n: int, M: int) -> Spec:
    """x + q ≡ 0 modulo M for some x; as x + q ≤ 2M - 2, that is x + q = 0 or M."""
    segments, classes = _segments(("x", n, 0, M), ("q", 1, 0, M))
    facts = [Sum(Number(TOKEN), Number(TOKEN), *s) for s in ((0,), (M,), (0, M))]
    zero, whole, modulo = (Number(Exists("x", frozenset({fact}))) for fact in facts)
    ways = _any(zero, whole, yes=1), _any(modulo, yes=1)
    return Spec(segments, tuple(classes), ("q",), 2, ways, sums=(0, M))


def two_sum_any(n: int, M: int) -> Spec:
    """Some token but the first has met a partner: the first token, or another that is not later."""
    segments, classes = _segments(("first", 1, 0, M), ("later", n - 1, 0, M))
    partner = [Sum(Number(TOKEN), Number(TOKEN), s) for s in (0, M)]
    met = [Exists("first", frozenset({fact})) for fact in partner]
    met += [Exists("later", frozenset({fact, Other()})) for fact in partner if n > 2]
    rows = frozenset(row for row in product((0, 1), repeat=len(met)) if any(row))
    fact = Among(tuple(sorted(map(Number, met), key=repr)), rows)
    verdict = _any(Number(Exists("later", frozenset({fact}))), yes=1)
    views = _last(classes[1], "last")
    return Spec(segments, (*classes, views), ("last",), 2, (verdict,), sums=(0, M))


def _compared(n: int, bad: set[tuple[int, int]]) -> Spec:
    """Answer 0 iff some b_i and a_i are bad together."""
    segments, classes = _segments(("a", n, 0, 2), ("b", n, 0, 2))
    bits = Number(TOKEN), Number(At("a", _same_place(classes[0]), TOKEN))
    order = sorted(range(2), key=lambda i: repr(bits[i]))
    rows = frozenset(tuple(pair[i] for i in order) for pair in bad)
    flaw = Exists("b", frozenset({Among(tuple(bits[i] for i in order), rows)}))
    return Spec(segments, (*classes, _last(classes[1], "last")), ("last",), 2, (_any(Number(flaw), yes=0),))


def equality(n: int) -> Spec:
    return _compared(n, {(0, 1), (1, 0)})


def disjointness(n: int) -> Spec:
    return _compared(n, {(1, 1)})


def recall(n: int, V: int, q: int) -> Spec:
    """key value key value …, keys different, then q different ones of them, at even and odd places."""
    sizes = ("evens", 0, n + -(-q // 2)), ("values", 1, n), ("odd", 2 * n + 1, q // 2)
    classes = [Class(name, 0, at, 2, count, 0, V) for name, at, count in sizes if count]
    classes.append(Class("even", 0, 2 * n, 2, -(-q // 2), 0, V, view=True))  # asks, and is one of the evens
    before = At("evens", _same_place(classes[0], -1), TOKEN)
    asked: Facts = frozenset({Equal(Number(before), Number(TOKEN))})
    promises = frozenset({("one", "values", asked), ("none", "odd", asked)})
    asks = ("even", "odd") if q > 1 else ("even",)
    return Spec((2 * n + q,), tuple(classes), asks, V, (Number(At("values", asked, TOKEN)),), promises)


def composition(m: int, **n: int) -> Spec:
    """i_0 = z_0, i_1 = z_1(i_0), i_{l+1} = z_{l+1}(w_l, i_l); z_l(ω, ι) stands at ω·N_{l-2} + ι."""
    parts = (1, *n.values())  # n_0 = 1: z_1 has no parts
    N = [m * prod(parts[: l + 1]) for l in range(len(parts))]
    tables = [(f"z{l}", N[l - 1], 0, N[l - 1]) for l in range(len(parts), 0, -1)]
    segments, classes = _segments(*tables, ("z0", 1, 0, m), ("w", 1, 0, prod(parts)))
    i = At("z0", NO_FACTS, TOKEN)
    for l in range(1, len(parts) + 1):
        size, ways = N[l - 1] // parts[l - 1], parts[l - 1]
        leading = prod(parts[: l - 1]) == 1  # then the modulus of w_{l-1} does nothing
        ω = Number(TOKEN, prod(parts[l:]), 0 if leading else ways)
        facts = {Equal(Number(PLACE, 1, size if ways > 1 else 0), Number(i))} if size > 1 else set()
        facts |= {Equal(Number(PLACE, size), ω)} if ways > 1 else set()
        i = At(f"z{l}", frozenset(facts), TOKEN)
    return Spec(segments, tuple(classes), ("w",), N[-1], (Number(i),))


def cgram(n: int, c: int, V: int) -> Spec:
    """The c-1 asking tokens stand in the n exactly once, and not at the end; then which symbol follows?"""
    segments, classes = _segments(("start", c - 1, 0, V), ("text", n - c + 1, 0, V), ("asks", c - 1, 0, V))
    symbol = [Number(TOKEN), *(Number(Back(o, TOKEN)) for o in range(1, c))]
    facts: Facts = frozenset(Equal(symbol[o], symbol[o - 1]) for o in range(1, c))
    answer = Number(At("text", facts, TOKEN))
    views, promises = _last(classes[2], "query"), frozenset({("one", "text", facts)})
    return Spec(segments, (*classes, views), ("query",), V, (answer,), promises)


def counting(n: int, S: int) -> Spec:
    """Does s occur at least k times among the x?"""
    segments, classes = _segments(("x", n, 0, S), ("s", 1, 0, S), ("k", 1, 1, n + 1))
    copies = Count("x", frozenset({Equal(Number(TOKEN), Number(At("s", NO_FACTS, TOKEN)))}))
    return Spec(segments, tuple(classes), ("k",), 2, (NotBelow(Number(copies), Number(TOKEN)),))


def sparse_average(n: int, q: int) -> Spec:
    """How many of the z at the places y_1 < … < y_q are 1?"""
    segments, classes = _segments(("z", n, 0, 2), ("y", q, 0, n))
    fetched = Number(At("z", _at_place(n, Number(TOKEN)), TOKEN))
    ones = Number(Count("y", frozenset({Among((fetched,), frozenset({(1,)}))})))
    answer = Decision((ones,), lambda row: int(row[0]))
    return Spec(segments, (*classes, _last(classes[1], "last")), ("last",), q + 1, (answer,))


def dyck(n: int, k: int, D: int) -> Spec:
    """Ids below k open a bracket, id k + i closes kind i; right order, at most D open, all closed."""
    need(D <= 4096, "a stack too deep to be followed")
    segments, classes = _segments(("text", n, 0, 2 * k))
    machine, lost, top = automata.dyck(k, D, Number(TOKEN))
    answer = Decision((Number(lost), Number(top)), lambda row: int(row == (0, 0)))
    return Spec(segments, (*classes, _last(classes[0], "last")), ("last",), 2, (answer,), machine=machine)


_SPECS: dict[str, Callable[..., Spec]] = {
    make.__name__: make
    for make in (
        eva, index, retrieval, two_sum, two_sum_any, equality, disjointness, recall, composition, cgram,
        counting, sparse_average, dyck,
    )
}  # fmt: skip


def spec(text: str) -> Spec:
    """The task that a text names, its sizes being checked; refused where no rule speaks of it."""
    known = parse_call(text).name
    need(known in _SPECS, "no rule speaks of this task")
    sizes = rows.read(text).sizes
    expect(max(sizes.values()) < 1 << 62, f"{known}: a size is too large")
    return _SPECS[known](**sizes)
