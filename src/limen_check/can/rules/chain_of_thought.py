"""Chains of thought (R13): by induction over the written tokens, each is what the model says it is.

The token that is written is the one with the highest logit.  If on every text that begins as it should the
right next token is ahead of all others, the chain is right from its first token to its last, and so is the
answer that is read at its end.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import accumulate, pairwise, product
from typing import Any

from limen_check import sizes
from limen_check.can import tasks
from limen_check.can.rational import Rational
from limen_check.can.readout import Also, At, Digits
from limen_check.can.rules.attention import Ask, moved
from limen_check.can.scores import matched
from limen_check.can.state import State
from limen_check.can.tasks import (
    NO_FACTS,
    OTHER,
    PLACE,
    TOKEN,
    Cell,
    Class,
    Decision,
    Facts,
    Line,
    Listed,
    Machine,
    Number,
    Piece,
    Read,
)
from limen_check.can.vectors import ONE, ZERO, Column, Vec, level
from limen_check.files import Refused, need, typed
from limen_check.record import entered
from limen_check.text import Call, parse_call, parse_stack

_ROWS, _PLACES = 1 << 16, 1 << 18  # of a chain; that are looked at one by one
_PAIRS = 1 << 20  # of residues, for all their digits
Forward = Callable[[tasks.Spec], State]  # a model's run over all classes of a text
RIGHT, LEFT, STAY = range(3)
# Turing machines: the last state, the time on n digits; (state, symbol) -> state, symbol written, move.  What
# is not said halts, in the last state, on the symbol that is the answer.
PROGRAMS: dict[Any, tuple[int, Callable[[int], int], dict[tuple[int, int], tuple[int, int, int]]]] = {
    "increment": (3, lambda n: n + 2, {
        (0, 2): (1, 2, LEFT),
        (1, 1): (1, 0, LEFT), (1, 0): (2, 1, LEFT), (1, 2): (3, 2, RIGHT),
        (2, 0): (2, 0, LEFT), (2, 1): (2, 1, LEFT), (2, 2): (3, 2, RIGHT),
    }),
    "palindrome": (6, lambda n: 1 + (n + 1) * (n + 2) // 2, {
        (0, 0): (0, 0, RIGHT), (0, 1): (0, 1, RIGHT), (0, 2): (1, 2, LEFT),
        (1, 0): (2, 2, LEFT), (1, 1): (3, 2, LEFT), (1, 2): (6, 1, STAY),
        (2, 0): (2, 0, LEFT), (2, 1): (2, 1, LEFT), (2, 2): (4, 2, RIGHT),
        (3, 0): (3, 0, LEFT), (3, 1): (3, 1, LEFT), (3, 2): (5, 2, RIGHT),
        (4, 0): (0, 2, RIGHT), (4, 1): (6, 0, STAY), (4, 2): (6, 1, STAY),
        (5, 1): (0, 2, RIGHT), (5, 0): (6, 0, STAY), (5, 2): (6, 1, STAY),
    }),
}  # fmt: skip


def margin(
    task: str, steps: int, forward: Forward, header: Mapping[str, Any], hints: Mapping[str, Any]
) -> Fraction:
    """R13: the least margin of all written tokens and of the answer."""
    call, digits = parse_call(task), Digits.of(header)
    need(header["answers"] == 1 << digits.bits, "tokens that cannot be written")
    if call.name in ("composition", "nearest_neighbor", "recall"):
        return _written(tasks.spec(task, how="pairs"), steps, forward, digits)
    parts = [part for layer in parse_stack(header["architecture"]) for part in layer]
    ahead = any(part.arguments.get("bidirectional") for part in parts)
    need(not ahead, "who writes sees tokens that are not yet there")  # these run the whole text at once
    if call.name == "turing" and call.arguments.keys() == {"n", "program"}:
        return _turing(call, steps, forward, digits)
    if call.name == "is_tree":
        from limen_check.can.rules import walk

        need([part.name for part in parts].count("relu_rnn") == 1, "not one recurrence")
        entered(walk.margin)
        return walk.margin(sizes.read(task).sizes["n"], steps, forward, digits)
    if call.name == "cgram":
        return _grams(**sizes.read(task).sizes, steps=steps, forward=forward, digits=digits)
    if call.name == "three_sum" and "moduli" in hints:
        return _residues(
            hints["moduli"], **sizes.read(task).sizes, steps=steps, forward=forward, digits=digits
        )
    need(call.name == "three_sum" and call.arguments.keys() == {"n", "M"}, "no rule speaks of such a chain")
    return _three_sum(call, steps, forward, digits, hints.get("blocks"))


def _written(text: tasks.Spec, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """Token after token: what the last one writes are the digits of some numbers, in its own words."""
    need(1 <= steps <= len(text.classes), "no chain of so many steps")
    c, length, least, written = text.classes[-1], sum(c.count for c in text.classes), [], dict[str, Any]()
    answer: Any = text.answer[0]
    for k in range(steps):
        state = forward(replace(text, written=written, later=(1,) * (steps - k)))
        pieces, gap = digits.pieces(state, c)
        least.append(gap)
        new = Class(f"step{k + 1}", length + k, 0, 1, 1, 0, 1 << digits.bits)
        written[new.name] = tuple(p._replace(number=_behind(p.number, c, new)) for p in pieces)
        answer, text = _told_behind(answer, c, new), replace(text, classes=(*text.classes, new))
        c = new
    state = forward(replace(text, written=written))
    if isinstance(answer, Decision):
        return min(*least, digits.decided(state, c, [answer]))
    pieces, gap = digits.pieces(state, c)
    need([(p.start, p.number) for p in pieces] == [(0, answer)], "another answer")
    return min(*least, gap)


def _told_behind(answer: Any, c: Class, behind: Class) -> Any:
    """What the answer is, or what decides it, in the words of the token behind."""
    if isinstance(answer, Decision):
        return answer._replace(numbers=tuple(_behind(n, c, behind) for n in answer.numbers))
    return _behind(answer, c, behind)


def _behind(n: Number, c: Class, behind: Class) -> Any:
    """A number of the one token of class c, in the words of the one token of a class behind it."""
    (name,) = moved(Vec.table(n, (0,), {0: level(ONE, 1)}), c, NO_FACTS, behind).terms
    return name


def _turing(call: Call, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """Each token after the first is an act: write a symbol, move, go to a state; the table says the next.

    The tape: the head's cell, modulo `size`, and the cell where it was, the one that the token wrote.  Bits 2
    and 3 of a token move the head: right, left, or not at all; the first one moves it right.
    """
    n = call.number("n", 2, 1 << 32)
    need(call.arguments["program"] in PROGRAMS, "no rule speaks of this program")
    halt, time, table = PROGRAMS[call.arguments["program"]]
    need(time(n) <= steps < 1 << 32, "the machine may not have halted")
    acts = {(q, a): table.get((q, a), (halt, a, STAY)) for q in range(halt + 1) for a in range(3)}
    code = {at: symbol | move << 2 | to << 4 for at, (to, symbol, move) in acts.items()}
    ids, bits, size = frozenset({0, 1, *code.values()}), 4 + halt.bit_length(), 1 << (n + 1).bit_length()
    need(digits.bits == bits, "tokens of another size")
    tape = Machine(
        cells={"head": Cell("head", size), "wrote": Cell("wrote", size)},
        numbers={"later": (Number(TOKEN),)},
        action=lambda c, at: (1, -1, 0, 0)[at[0] >> 2 & 3] if at else 1,
        reads=lambda cell: ("head",),
        turn=lambda cell, old, move: (old[0] + move) % size if cell == "head" else old[0],
    )
    classes = tasks.text(("first", 1, 2, 3), ("later", n + steps, 0, 1 << bits))
    state = forward(tasks.Spec(classes, ("later",), 2, (), machine=tape, ids={"later": ids}))
    token, read = Number(TOKEN, 1, 1 << bits), Number(Cell("read", 3))
    also: Also = {token: sorted(ids), read: range(3)}
    return digits.by_rows(state.x["later"], state.f, also, lambda at: code[at[token] >> 4, at[read]])


def latest(ask: Ask, d: Class, blank: Class) -> Vec:
    """The symbol in the head's cell: of the latest token of d that wrote there, or else the blank's."""
    scores, there, machine = ask.scores(d), ask.scores(blank), ask.state.spec.machine
    m = matched(scores)
    if machine is None or not {"head", "wrote"} <= machine.cells.keys():
        raise Refused("there is no tape")
    same_cell = Line(*(Number(machine.cells[i]) for i in ("wrote", "head")))
    need(ask.relation(m, d) == {same_cell}, "it does not look for the head's cell")
    alone = ask.c == d and {*ask.seen} == {d, blank} and blank.count == 1 and ask.before(blank)
    need(alone, "no blank alone")
    fixed = [*there.B.values(), *there.A.values()]
    exact = scores.rounded_once and there.rounded_once and not there.S
    need(exact and all(column.fixed for column in (*fixed, *m.gain.values())), "scores that vary")
    need(d.count <= _PLACES and d.step == 1, "too many places to look at")
    agreed = [sum((gain.least for gain in m.gain.values()), scores.s)] * d.count  # and what a place adds
    for y, b in ((y, b) for y, b in scores.B.items() if y not in {z for _, z, _ in m.pairs}):
        at: Any = y if isinstance(y, Number) and y.of == PLACE and y.mod else Number(PLACE, 1, 1)
        need(at == y or b.fixed, "more than the place changes scores")
        row = dict(zip(scores.k.keys[y], b.rows(), strict=True)) if at == y else {0: b.least}
        agreed = [v + row[(d.start + i) // at.div % at.mod] for i, v in enumerate(agreed)]
    none, stray = sum((column.least for column in fixed), there.s), []
    for done in (Rational, ask.f.rn):  # as it is, or rounded
        agree, blanks, miss = [done(v) for v in agreed], done(none), done(max(agreed) - (m.cost or ZERO))
        behind = ask.weight(d.count - 1, min((b - a for a, b in pairwise(agree)), default=ZERO))
        behind += ask.weight(d.count, agree[0] - miss) + ask.weight(1, agree[0] - blanks)
        stray += [behind, ask.weight(d.count, blanks - miss)]
    return ask.blurred(_symbols(ask.value[d.name], ask.value[blank.name]), max(stray))


def _symbols(v: Vec, none: Vec) -> Vec:
    """The value as a function of the symbol, of tokens and of the blank, whose symbol is 2."""
    need(len(v.terms) <= 1 and v.exact and none.exact, "values of several numbers, or not exact")
    columns: dict[int, Column] = {}
    for c in v.forms | none.forms.keys():
        need(len(none[c].values) == 1, "the blank's value varies")
        values = {2: none[c].ends[0]}
        for n, column in v[c].terms.items():
            need(isinstance(n, Number) and n.of == TOKEN and n.div == 1 and n.mod % 4 == 0, "no symbols")
            for key, value in zip(v.keys[n], column.rows(), strict=True):
                here = v[c].const + value
                need(values.setdefault(key % 4, here) == here, "a symbol has two values")
        need(values.keys() == {0, 1, 2}, "a symbol has no value")
        columns[c] = Column.of([values[a] for a in range(3)])
    return Vec.table(Number(Cell("read", 3)), (0, 1, 2), columns)


def _grams(n: int, c: int, V: int, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """x_0 … x_{n-1}, g, then the words x_t … x_{t+c-1}, a pause, and g, which is looked up among the words.

    A written token is c symbols of b bits each; g has c-1, and behind them 0.
    """
    b, ids = digits.bits // c, 1 << digits.bits
    need(digits.bits == b * c and 1 << b >= V and steps == n - c + 3, "other words, or more or fewer")
    written = ("words", n - c + 1, 0, ids), ("pause", 1, 0, ids), ("gram", 1, 0, ids)
    classes = tasks.text(("x", n, 0, V), ("g", c - 1, 0, V), *written)
    last = replace(classes[1], name="last", start=c - 2, count=1, view=True)

    def pieces(o: int, many: int) -> tuple[Piece, ...]:
        """The token o positions before, and those behind it, side by side."""
        back = (Number(Read("back", o - i, NO_FACTS, TOKEN), 1, 1 << b) for i in range(many))
        return tuple(Piece(i * b, b, number) for i, number in enumerate(back))

    word, gram, following = pieces(n + c - 1, c), pieces(n + 1, c - 1), pieces(n + c - 2, c)
    facts: Facts = frozenset(Line(w.number, g.number) for w, g in zip(word, gram, strict=False))
    promises, is_now = frozenset({("one", "words", facts)}), {"words": word, "gram": gram}
    state = forward(tasks.Spec((*classes, last), ("gram",), V, (), promises, written=is_now))
    end = word[-1].number
    answer = Piece(0, b, end._replace(of=Read("at", "words", facts, end.of)))
    writes = {"last": following, "words": following, "pause": pieces(n, c - 1), "gram": (answer,)}
    least = []
    for name, right in writes.items():
        there, gap = digits.pieces(state, state.classes[name])
        need([p[::2] for p in there] == [p[::2] for p in right], "another word is written")
        least.append(gap)
    return min(least)


def _residues(moduli: Any, n: int, M: int, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """x_0 … x_{n-1}, q, then s_0 … s_{n-1}, and s_n: which hits there are at some j < t, and q + x_t modulo
    each modulus.  A hit at j is a k ≠ j for which x_j + x_k + q is 0, or M, or 2M.
    """
    typed(moduli, [int], "hints: moduli")
    need(steps == n + 1 and min(moduli, default=0) > 1, "no chain of n + 1 steps, or no moduli")
    many = [(m - 1).bit_length() for m in moduli]
    *starts, size = accumulate(many, initial=3)
    need(digits.bits == size, "other residues than its digits")
    need(sum(b * m * m for b, m in zip(many, moduli, strict=True)) <= _PAIRS, "residues of too many pairs")
    residues = list(zip(moduli, starts, many, strict=True))
    seen, total = Number(Cell("hits", 8)), Cell("q + x", 2 * M - 1)
    is_now = Piece(0, 3, seen), *(Piece(start, b, Number(total, 1, m)) for m, start, b in residues)
    classes = tasks.text(("x", n, 0, M), ("q", 1, 0, M), ("s", n, 0, 1 << size), ("end", 1, 0, 1 << size))
    written = {"s": is_now, "end": is_now[:1]}
    state = forward(tasks.Spec(classes, ("s",), 2, (), sums=(0, M, 2 * M), written=written))
    hits = [tasks.exists("x", Line(Number(TOKEN), Number(total), S, -1), OTHER) for S in (0, M, 2 * M)]
    at_s = Read("at", "q", NO_FACTS, TOKEN)
    least = digits.by_rows(state.x["end"], state.f, {seen: range(8)}, lambda at: int(at[seen] > 0))
    for x, q, flags in ((state.x["q"], TOKEN, []), (state.x["s"], at_s, hits)):
        ends = list[Fraction]()
        for i in range(3):
            known: Also = {seen: range(8), flags[i]: (0, 1)} if flags else {}
            ends += digits.ends(i, x, state.f, known, partial(_marked, i, seen, flags))
        for m, start, b in residues:
            two = Number(Read("back", n, NO_FACTS, TOKEN), 1, m), Number(q, 1, m)
            for i in range(b):
                bit = partial(_digit, i, m, two)
                ends += digits.ends(start + i, x, state.f, dict.fromkeys(two, range(m)), bit)
        least = min(least, digits.margin(ends, state.f))
    return least


def _marked(i: int, seen: Number, flags: list[Number], at: At) -> int:
    """Whether hit i was seen before, or now; where nothing was asked, 0."""
    return int(bool(flags) and bool(at[seen] >> i & 1 or at[flags[i]]))


def _digit(i: int, m: int, two: tuple[Number, ...], at: At) -> int:
    """Digit i of the sum of two numbers modulo m."""
    return int(sum(at[number] for number in two) % m >> i & 1)


def _three_sum(call: Call, steps: int, forward: Forward, digits: Digits, blocks: Any) -> Fraction:
    """x_0 … x_{n-1}, q, then s_0 … s_{n-1}:  s_t = 2·E(x_t, q) + [there is a hit at some j < t]."""
    typed(blocks, [int], "hints: blocks")
    n, M = call.number("n", 2, 1 << 32), call.number("M", 3, 1 << 32)
    D = (M - 1).bit_length()
    need(steps == n <= _ROWS and sum(blocks) == D <= 8 and all(g >= 1 for g in blocks), "no chain of n steps")
    need(digits.bits == 1 + D + len(blocks), "other blocks than its digits")
    starts = list(accumulate(blocks, initial=0))[:-1]

    def beside(sums: Iterable[int]) -> int:
        return sum(s << b + i for i, (s, b) in enumerate(zip(sums, starts, strict=True)))

    rows = list(product(*(range((2 << g) - 1) for g in blocks)))
    total = {beside(row): sum(s << b for s, b in zip(row, starts, strict=True)) for row in rows}
    classes = tasks.text(("x", n, 0, M), ("q", 1, 0, M), ("s", n, 0, 1 << digits.bits))
    ids = frozenset(2 * e + flag for e in total for flag in (0, 1))
    state = forward(tasks.Spec(classes, ("s",), 2, (), ids={"s": ids}))
    partner = Listed((Number(TOKEN),), frozenset((e, -total[e] % M) for e in total), Number(TOKEN, 2))
    flags = Number(TOKEN, 1, 2), tasks.exists("x", partner, OTHER)
    first = Listed((Number(PLACE),), frozenset({(None, 0)}))
    then = Listed((Number(PLACE),), frozenset((t, (t + 1) % n) for t in range(n)), Number(PLACE))
    x_0, x_t = (Number(Read("at", "x", frozenset({where}), TOKEN), 1, 1 << D) for where in (first, then))
    q = Number(TOKEN, 1, 1 << D), Number(Read("at", "q", NO_FACTS, TOKEN), 1, 1 << D)
    least = []
    for name, pair, hits in (("q", (x_0, q[0]), ()), ("s", (x_t, q[1]), flags)):

        def right(at: At, pair: tuple[Number, ...] = pair, hits: tuple[Number, ...] = hits) -> int:
            sums = [sum((at[i] >> b) % (1 << g) for i in pair) for b, g in zip(starts, blocks, strict=True)]
            return 2 * beside(sums) + any(at[i] for i in hits)

        also: Also = dict.fromkeys(pair, range(M)) | dict.fromkeys(hits, (0, 1))
        least.append(digits.by_rows(state.x[name], state.f, also, right))
    return min(least)
