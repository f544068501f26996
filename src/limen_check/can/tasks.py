"""What the tasks are, in the language of the rules: classes of tokens, promises, and what the answer is.

A number is an integer (of // div) % mod of a token, mod = 0 for none, and `of` is one of

    PLACE, TOKEN                its place in its segment, its id
    a number                    which has digits of its own
    Read("at", c, facts, e)     e of THE token of class c that the facts single out
    Read("back", o, {}, e)      e of the token o positions before
    Read("exists", c, facts)    1 if a token of class c at or before it satisfies the facts, else 0
    Read("anywhere", c, facts)  1 if a token of class c does, wherever it stands, else 0
    Read("nearest", c, {}, e)   e of the token of class c that is nearest to it, or whose point is
    Read("found", c, facts, k)  the number k of that token, or k's modulus where there is none
    Read("count", c, facts)     how many there are in all
    Cell(i, size)               cell i of the task's machine, below `size`, after this token

and a fact about a key token is one of

    Line(key, query, …)         key number = sign · query number + shift, modulo `modulo` unless that is 0;
                                the query may be a Plus of some numbers, in the order of their text
    Listed(keys, rows)          its numbers, in the order of their text, are one of these rows
    Listed(keys, rows, query)   behind the asking token's number they are
    OTHER                       it is not at the asking token's own place, so not itself

A sceptic reads here whether this is the task; everything else is derived from the weights.
"""

from collections import namedtuple
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import lcm, prod
from operator import mul
from typing import Any, NamedTuple

from limen_check import sizes
from limen_check.files import expect, need
from limen_check.text import parse_call

PLACE, TOKEN, OTHER = "place", "token", "other"
Facts = frozenset[Any]
NO_FACTS: Facts = frozenset()
Number = namedtuple("Number", "of div mod", defaults=(1, 0))
Read = namedtuple("Read", "how where facts of", defaults=(NO_FACTS, None))
Cell = namedtuple("Cell", "name size")
Line = namedtuple("Line", "key query shift sign modulo", defaults=(0, 1, 0))
Listed = namedtuple("Listed", "keys rows query", defaults=(None,))
Plus = namedtuple("Plus", "numbers")
Piece = namedtuple("Piece", "start bits number")  # bits start, start+1, … of a written token: a number


@dataclass(frozen=True)
class Class:
    """Tokens start, start+step, … of a segment that begins at `first` in the text; ids in [low, high).

    A view asks as a token of its own, and is counted as a key in another class.
    """

    name: str
    first: int
    start: int
    step: int
    count: int
    low: int
    high: int
    view: bool = False

    @property
    def last(self) -> int:
        return self.start + self.step * (self.count - 1)

    def before(self, other: "Class") -> bool:
        """Whether all of it stands at or before all of the other."""
        return self.first + self.last <= other.first + other.start

    def may_be_before(self, other: "Class") -> bool:
        return self.first + self.start <= other.first + other.last


class Decision(NamedTuple):
    # The answer as a function of some numbers; `rises`: 1 iff the first is not below the second.
    numbers: tuple[Number, ...]
    right: Callable[[tuple[Any, ...]], int]
    rises: bool = False


class Machine(NamedTuple):
    """Cells, which start at 0; a token turns all of them at once, by `numbers[class]`: with a = action(class,
    numbers), cell i becomes turn(i, values of reads(i), a).  `cells` says by which expression one is known.
    """

    cells: Mapping[str, Any]
    numbers: Mapping[str, tuple[Any, ...]]
    action: Callable[[str, tuple[Any, ...]], Hashable]
    reads: Callable[[str], tuple[str, ...]]
    turn: Callable[[str, tuple[int, ...], Any], int]


class Steps(NamedTuple):
    """The task as a machine of few states: `turn` of a state and an id is a state, or None if it knows none.

    `all` are the pairs of a state and an id, by which tokens are known; all ids are below `ids`.
    """

    start: Hashable
    ids: int
    turn: Callable[[Any, int], Hashable]
    all: list[tuple[Any, int]]
    field: Number


@dataclass(frozen=True)
class Spec:
    """`answer` says the same in one or more ways.

    A promise is (how many, class, facts), made to the tokens of the classes in `asks` and to no other: of the
    tokens of the class at or before the asking one exactly "one", "at most one" or "none" satisfies the
    facts, in which the asking token's numbers stand.  Of a chain of thought: the ids that a class may
    have, or the pieces that its token is written of, and segments that are not yet there.
    """

    classes: tuple[Class, ...]
    asks: tuple[str, ...]
    answers: int
    answer: tuple[Number | Decision, ...]
    promises: frozenset[tuple[str, str, Facts]] = frozenset()
    sums: tuple[int, ...] = ()
    machine: Machine | None = None
    steps: Steps | None = None
    nearness: Callable[[int], Sequence[int]] | None = None  # of a query's id, of all points: more is nearer
    wrong: tuple[str, ...] = ()  # of those that ask: who must say 0, whatever else is known
    ids: Mapping[str, frozenset[int]] = field(default_factory=dict)
    written: Mapping[str, tuple[Piece, ...]] = field(default_factory=dict)
    later: tuple[int, ...] = ()
    vertices: int = 0  # of a graph, over whose edges a recurrence walks (R32)


def text(*parts: tuple[str, int, int, int], last: str = "") -> tuple[Class, ...]:
    """Segments of one class each: name, tokens, ids.  And the last token as it asks."""
    classes, first = list[Class](), 0
    for name, count, low, high in parts:
        classes.append(Class(name, first, 0, 1, count, low, high))
        first += count
    c = classes[-1]
    return (*classes, *([Class(last, c.first, c.last, 1, 1, c.low, c.high, view=True)] if last else []))


def at_place(n: int, query: Number, shift: int = 0) -> Facts:
    """The token at this place, of n; nothing is to be said where there is one token."""
    return NO_FACTS if n == 1 else frozenset({Line(Number(PLACE), query, shift)})


def listed(*numbers: Number, rows: set[tuple[int, ...]]) -> Listed:
    """Put into the order of their text."""
    order = sorted(range(len(numbers)), key=lambda i: repr(numbers[i]))
    return Listed(tuple(numbers[i] for i in order), frozenset(tuple(row[i] for i in order) for row in rows))


def plus(*numbers: Number) -> Plus:
    """Put into the order of their text."""
    return Plus(tuple(sorted(numbers, key=repr)))


def exists(where: str, *facts: Any) -> Number:
    return Number(Read("exists", where, frozenset(facts)))


def _any(*numbers: Number, yes: int = 1) -> Decision:
    """`yes` iff one of them is not 0."""
    return Decision(numbers, lambda row: yes if any(row) else 1 - yes)


def _index(n: int, S: int) -> Spec:
    value = Number(Read("at", "data", at_place(n, Number(TOKEN)), TOKEN))
    return Spec(text(("data", n, 0, S), ("query", 1, 0, n)), ("query",), S, (value,))


def _retrieval(n: int, D: int, V: int, absent: bool) -> Spec:
    """Pairs a·V + b with different a, then 2^D·V + a; without `absent` that a occurs."""
    classes = text(("pairs", n, 0, V << D), ("query", 1, V << D, (V + 1) << D))
    facts: Facts = frozenset({Line(Number(TOKEN, V), Number(TOKEN, 1, 1 << D))})
    there, value = Read("at", "pairs", facts, TOKEN), Read("found", "pairs", facts, Number(TOKEN, 1, V))
    promises = frozenset({("at most one" if absent else "one", "pairs", facts)})
    answer = Number(value) if absent else Number(there, 1, V)
    return Spec(classes, ("query",), V + absent, (answer,), promises)


def _two_sum(n: int, M: int) -> Spec:
    """x + q ≡ 0 modulo M for some x; as x + q ≤ 2M - 2, that is x + q = 0 or M."""
    sums = (Line(Number(TOKEN), Number(TOKEN), s, -1, m) for s, m in ((0, 0), (M, 0), (0, M)))
    zero, whole, modulo = (exists("x", line) for line in sums)
    ways = _any(zero, whole), _any(modulo)
    return Spec(text(("x", n, 0, M), ("q", 1, 0, M)), ("q",), 2, ways, sums=(0, M))


def _two_sum_any(n: int, M: int) -> Spec:
    """Some token but the first has met a partner: the first token, or another that is not later."""
    partner = [Line(Number(TOKEN), Number(TOKEN), s, -1) for s in (0, M)]
    met = [exists("first", fact) for fact in partner] + [
        exists("later", fact, OTHER) for fact in partner if n > 2
    ]
    some = listed(*met, rows={row for row in product((0, 1), repeat=len(met)) if any(row)})
    classes = text(("first", 1, 0, M), ("later", n - 1, 0, M), last="last")
    return Spec(classes, ("last",), 2, (_any(exists("later", some)),), sums=(0, M))


def _three_sum(n: int, M: int) -> Spec:
    """x_j + x_k + q is 0, M or 2M for some j ≠ k: some x_j has met an x_k, wherever it stands."""
    two = plus(Number(TOKEN), Number(Read("at", "q", NO_FACTS, TOKEN)))
    facts = (frozenset({Line(Number(TOKEN), two, S, -1), OTHER}) for S in (0, M, 2 * M))
    met = [Number(Read("anywhere", "x", fact)) for fact in facts]
    some = listed(*met, rows={row for row in product((0, 1), repeat=3) if any(row)})
    ways = (_any(exists("x", some)),)
    return Spec(text(("x", n, 0, M), ("q", 1, 0, M)), ("q",), 2, ways, sums=(0, M, 2 * M))


def _compared(n: int, bad: set[tuple[int, ...]]) -> Spec:
    """Answer 0 iff some b_i and a_i are bad together."""
    flaw = listed(Number(TOKEN), Number(Read("at", "a", at_place(n, Number(PLACE)), TOKEN)), rows=bad)
    classes = text(("a", n, 0, 2), ("b", n, 0, 2), last="last")
    return Spec(classes, ("last",), 2, (_any(exists("b", flaw), yes=0),))


def _recall(n: int, V: int, q: int) -> Spec:
    """key value key value …, keys different, then q different ones of them, at even and odd places."""
    sizes = ("evens", 0, n + -(-q // 2)), ("values", 1, n), ("odd", 2 * n + 1, q // 2)
    classes = [Class(name, 0, at, 2, count, 0, V) for name, at, count in sizes if count]
    classes.append(Class("even", 0, 2 * n, 2, -(-q // 2), 0, V, view=True))  # asks, and is one of the evens
    before = Read("at", "evens", at_place(classes[0].count, Number(PLACE), -1), TOKEN)
    key: Facts = frozenset({Line(Number(before), Number(TOKEN))})
    promises = frozenset({("one", "values", key), ("none", "odd", key)})
    answer = Number(Read("at", "values", key, TOKEN))
    return Spec(tuple(classes), ("even", "odd")[: 1 + (q > 1)], V, (answer,), promises)


def _recall_in_pairs(n: int, V: int, q: int) -> Spec:
    """The same for one key that is asked for: pairs of a key and a value, then the key."""
    need(q == 1, "several keys are asked for")
    sizes = ("keys", 0, 0, 2, n), ("values", 0, 1, 2, n), ("query", 2 * n, 0, 1, 1)
    key: Facts = frozenset({Line(Number(TOKEN), Number(TOKEN))})
    pair = Number(Read("at", "keys", key, PLACE), 2)
    facts = NO_FACTS if n == 1 else frozenset({Line(Number(PLACE, 2), pair)})
    answer = Number(Read("at", "values", facts, TOKEN))
    classes = tuple(Class(*size, 0, V) for size in sizes)
    return Spec(classes, ("query",), V, (answer,), frozenset({("one", "keys", key)}))


def _composition(m: int, **n: int) -> Spec:
    """i_0 = z_0, i_1 = z_1(i_0), i_{l+1} = z_{l+1}(w_l, i_l); z_l(ω, ι) stands at ω·N_{l-2} + ι."""
    parts = (1, *n.values())  # n_0 = 1: z_1 has no parts
    N = [m * prod(parts[: l + 1]) for l in range(len(parts))]
    tables = [(f"z{l}", N[l - 1], 0, N[l - 1]) for l in range(len(parts), 0, -1)]
    i = Read("at", "z0", NO_FACTS, TOKEN)
    for l in range(1, len(parts) + 1):
        size, ways = N[l - 1] // parts[l - 1], parts[l - 1]
        leading = prod(parts[: l - 1]) == 1  # then the modulus of w_{l-1} does nothing
        ω = Number(TOKEN, prod(parts[l:]), 0 if leading else ways)
        facts = {Line(Number(PLACE, 1, size if ways > 1 else 0), Number(i))} if size > 1 else set()
        facts |= {Line(Number(PLACE, size), ω)} if ways > 1 else set()
        i = Read("at", f"z{l}", frozenset(facts), TOKEN)
    return Spec(text(*tables, ("z0", 1, 0, m), ("w", 1, 0, prod(parts))), ("w",), N[-1], (Number(i),))


def _cgram(n: int, c: int, V: int) -> Spec:
    """The c-1 asking tokens stand in the n exactly once, and not at the end; then which symbol follows?"""
    classes = text(("start", c - 1, 0, V), ("text", n - c + 1, 0, V), ("asks", c - 1, 0, V), last="query")
    symbol = [Number(TOKEN), *(Number(Read("back", o, NO_FACTS, TOKEN)) for o in range(1, c))]
    facts: Facts = frozenset(Line(symbol[o], symbol[o - 1]) for o in range(1, c))
    answer, promises = Number(Read("at", "text", facts, TOKEN)), frozenset({("one", "text", facts)})
    return Spec(classes, ("query",), V, (answer,), promises)


def _counting(n: int, S: int) -> Spec:
    """Does s occur at least k times among the x?"""
    same: Facts = frozenset({Line(Number(TOKEN), Number(Read("at", "s", NO_FACTS, TOKEN)))})
    numbers = Number(Read("count", "x", same)), Number(TOKEN)
    answer = Decision(numbers, lambda row: int(row[0] >= row[1]), rises=True)
    return Spec(text(("x", n, 0, S), ("s", 1, 0, S), ("k", 1, 1, n + 1)), ("k",), 2, (answer,))


def _sparse_average(n: int, q: int) -> Spec:
    """How many of the z at the places y_1 < … < y_q are 1?"""
    fetched = listed(Number(Read("at", "z", at_place(n, Number(TOKEN)), TOKEN)), rows={(1,)})
    machine = Machine(
        cells={"count": Cell("count", q + 1)},
        numbers={"y": fetched.keys},
        action=lambda c, at: int(c == "y" and at in fetched.rows),
        reads=lambda cell: ("count",),
        turn=lambda cell, old, hit: old[0] + hit,
    )
    numbers = Number(Read("count", "y", frozenset({fetched}))), Number(machine.cells["count"])
    ways = tuple(Decision((number,), lambda row: int(row[0])) for number in numbers)
    classes = text(("z", n, 0, 2), ("y", q, 0, n), last="last")
    return Spec(classes, ("last",), q + 1, ways, machine=machine)


def _nearest_neighbor(n: int, D: int, g: int) -> Spec:
    """Points in {-g..g}^D without 0 and their labels in turn, then a point: the label of the nearest?

    A cosine s/(|q||v|) rises with s|s|/|v|², a whole number of parts of 1 if all |v|² divide their number.
    Labels are the ids behind those of points.
    """
    need(D <= 10 and g <= 15 and (2 * g + 1) ** D <= 1 << 10, "too many points to look at")
    base, points = 2 * g + 1, (2 * g + 1) ** D
    vectors = [[i // base**j % base - g for j in range(D)] for i in range(points)]
    squares = [sum(map(mul, v, v)) for v in vectors]
    parts = lcm(*filter(None, squares))

    def nearness(q: int) -> list[int]:
        inner = (sum(map(mul, vectors[q], v)) for v in vectors)
        return [s * abs(s) * (parts // max(1, square)) for s, square in zip(inner, squares, strict=True)]

    classes = Class("points", 0, 0, 2, n, 0, points), Class("labels", 0, 1, 2, n, points, points + 2)
    point = Number(Read("nearest", "points", NO_FACTS, PLACE), 2)
    facts = NO_FACTS if n == 1 else frozenset({Line(Number(PLACE, 2), point)})
    labels = Number(Read("at", "labels", facts, TOKEN)), Number(Read("nearest", "labels", NO_FACTS, TOKEN))
    ways = tuple(Decision((label,), lambda row: int(row[0]) - points) for label in labels)
    ids = frozenset(range(points)) - {points // 2}
    query = Class("query", 2 * n, 0, 1, 1, 0, points)
    told = {"points": ids, "query": ids}
    return Spec((*classes, query), ("query",), 2, ways, nearness=nearness, ids=told)


def _dyck(n: int, k: int, D: int) -> Spec:
    """Ids below k open a bracket, id k + i closes kind i; right order, at most D open, all closed.

    A stack of D slots, the newest bracket first: 0 is free, 1 … k is a kind.
    """
    need(D <= 4096, "a stack too deep to be followed")
    slots = [f"s{i}" for i in range(D)]
    cells = {"lost": Cell("lost", 2)} | {slot: Cell(slot, k + 1) for slot in slots}
    near = {slot: tuple(slots[max(i - 1, 0) : i + 2]) for i, slot in enumerate(slots)}

    def turn(cell: str, old: tuple[int, ...], read: int) -> int:
        opens, kind = read < k, read % k + 1
        if cell == "lost":
            return int(old[0] or (old[2] > 0 if opens else old[1] != kind))
        if opens:
            return kind if cell == slots[0] else old[0]
        return 0 if cell == slots[-1] else old[-1]

    reads = {"lost": ("lost", slots[0], slots[-1])} | near
    machine = Machine(cells, {"text": (Number(TOKEN),)}, lambda c, at: at[0], reads.__getitem__, turn)
    answer = Decision((Number(cells["lost"]), Number(cells["s0"])), lambda row: int(row == (0, 0)))
    return Spec(text(("text", n, 0, 2 * k), last="last"), ("last",), 2, (answer,), machine=machine)


def _dyck_by_steps(n: int, k: int, D: int, segments: int) -> Spec:
    """The same: a state is the first bracket's kind and those that are open; behind a fault all is wrong."""
    need(D <= 64 and k ** (D + 1) * k <= 1 << 10, "a stack too deep to be followed")
    stacks = [stack for h in range(D + 1) for stack in product(range(k), repeat=h)]
    states: list[Any] = [None, *((kind, stack) for kind in range(k) for stack in stacks)]

    def turn(state: Any, read: int) -> Any:
        kind, stack = state or (read % k, ())
        if read < k:
            return (kind, (*stack, read)) if len(stack) < D else None
        return (kind, stack[:-1]) if stack and stack[-1] == read - k else None

    pairs = [(state, read) for state in states for read in range(2 * k)]
    field = Number(Cell("step", len(pairs)))
    cuts = {1: {"text": n}, 2: {"first": 1, "rest": n - 1}, 3: {"first": 1, "rest": n - 2, "last": 1}}
    need(segments in cuts and min(cuts[segments].values()) >= 0, "a text that is cut otherwise")
    parts = [(name, count, 0, 2 * k) for name, count in cuts[segments].items()]
    classes = text(*parts, last="" if segments == 3 else "last")
    behind = [c for c in classes if c.count > 1 or c.view or (segments == 3 and c.first > 0)]
    wild = [replace(c, name=c.name + "~", view=True) for c in behind]

    def right(row: tuple[Any, ...]) -> int:
        after = turn(*pairs[row[0]])
        return int(after is not None and not after[1])

    answer = Decision((field,), right)
    steps = Steps(None, 2 * k, turn, pairs, field)
    return Spec((*classes, *wild), ("last", "last~"), 2, (answer,), steps=steps, wrong=("last~",))


_SPECS: dict[str, Callable[..., Spec]] = {
    "eva": lambda n: _index(n, n), "index": _index, "retrieval": _retrieval, "two_sum": _two_sum,
    "two_sum_any": _two_sum_any, "equality": lambda n: _compared(n, {(0, 1), (1, 0)}),
    "disjointness": lambda n: _compared(n, {(1, 1)}), "recall": _recall, "composition": _composition,
    "cgram": _cgram, "counting": _counting, "sparse_average": _sparse_average, "dyck": _dyck,
    "nearest_neighbor": _nearest_neighbor, "three_sum": _three_sum,
}  # fmt: skip


def spec(task: str, segments: int = 0, how: Any = None) -> Spec:
    """The task that a text names, its sizes being checked; refused where no rule speaks of it.

    Some are said in two ways: `how`, and by the number of segments that the model cuts the text into.
    """
    known = parse_call(task).name
    need(known in _SPECS, "no rule speaks of this task")
    named = sizes.read(task).sizes
    expect(max(named.values()) < 1 << 256, f"{known}: a size is too large")
    if (known, how) in (("dyck", "steps"), ("dyck", "shares")):
        need(how == "shares" or segments <= 2, "a text that is cut otherwise")
        return _dyck_by_steps(segments=3 if how == "shares" else segments, **named)
    if (known, how) == ("recall", "pairs"):
        return _recall_in_pairs(**named)
    return _SPECS[known](**named)
