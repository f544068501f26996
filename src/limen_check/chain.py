"""Chains of thought (R13): by induction over the written tokens, each is what the model says it is.

The token that is written is the one with the highest logit.  If on every text that begins as it should the
right next token is ahead of all others, the chain is right from its first token to its last, and so is the
answer that is read at its end.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate, pairwise, product
from typing import Any

from limen_check.attention import Ask, Match, Scores, mapped, moved, relation
from limen_check.automata import PROGRAMS, Cell, head_of, time
from limen_check.files import Refused, need, typed
from limen_check.readout import Also, At, Digits
from limen_check.state import State
from limen_check.tasks import (
    NO_FACTS,
    PLACE,
    TOKEN,
    Equal,
    Exists,
    Facts,
    Mapped,
    Number,
    Other,
    Piece,
    Spec,
    spec,
)
from limen_check.tasks import At as AtToken
from limen_check.text import parse_call, parse_stack
from limen_check.vectors import ONE, ZERO, Class, Column, Rows, Vec

_ROWS = 1 << 16  # of a chain
_PLACES = 1 << 18  # that are looked at one by one

Forward = Callable[[Spec], State]  # a model's run over all classes of a text


def margin(
    task: str, steps: int, forward: Forward, header: Mapping[str, Any], hints: Mapping[str, Any]
) -> Fraction:
    """The least margin of all written tokens and of the answer."""
    call, digits = parse_call(task), Digits.of(header)
    need(header["answers"] == 1 << digits.bits, "tokens that cannot be written")
    if call.name == "composition":
        return _composition(spec(task), steps, forward, digits)
    mixers = [part for layer in parse_stack(header["architecture"]) for part in layer]
    ahead = any(part.arguments.get("bidirectional", False) for part in mixers)
    need(not ahead, "who writes sees tokens that are not yet there")  # these run the whole text at once
    if call.name == "turing" and call.arguments.keys() == {"n", "program"}:
        return _turing(steps, forward, digits, call.number("n", 2, 1 << 32), call.arguments["program"])
    if call.name == "three_sum" and call.arguments.keys() == {"n", "M"}:
        n, M = call.number("n", 2, 1 << 32), call.number("M", 3, 1 << 32)
        return _three_sum(steps, forward, digits, hints.get("blocks"), n, M)
    raise Refused(f"no rule speaks of a chain of thought for {call.name}")


def _composition(asked: Spec, steps: int, forward: Forward, digits: Digits) -> Fraction:
    """Token after token: what the last one writes are the digits of some numbers, in its own words."""
    need(1 <= steps <= len(asked.classes), "no chain of so many steps")
    (answer,), length = asked.answer, sum(asked.segments)
    new = [Class(f"step{k}", length + k - 1, 0, 1, 1, 0, 1 << digits.bits) for k in range(1, steps + 1)]
    c, least, written = next(c for c in asked.classes if c.name == "w"), [], dict[str, tuple[Piece, ...]]()
    if not isinstance(answer, Number):
        raise Refused("the answer is no number")
    for k in range(steps + 1):
        text = replace(asked, segments=(*asked.segments, *(1,) * k), classes=(*asked.classes, *new[:k]))
        state = forward(replace(text, written=written, later=(1,) * (steps - k)))
        pieces, gap = digits.pieces(state, c, state.x[c.name])
        least.append(gap)
        if k < steps:
            written[new[k].name] = tuple(p._replace(number=_behind(p.number, c, new[k])) for p in pieces)
            c, answer = new[k], _behind(answer, c, new[k])
    need([(p.start, p.number) for p in pieces] == [(0, answer)], "another answer")
    return min(least)


def _behind(n: Number, c: Class, behind: Class) -> Number:
    """A number of the one token of class c, in the words of the one token of a class behind it."""
    (said,) = moved(Vec.of({}, {n: Rows((0,), {0: Column.same(ONE, 1)})}), c, NO_FACTS, behind).terms
    if not isinstance(said, Number):
        raise Refused("several numbers at once are written")
    return said


def _turing(steps: int, forward: Forward, digits: Digits, n: int, program: Any) -> Fraction:
    """Each token after the first is an act: write a symbol, move, go to a state; the table says the next."""
    need(program in PROGRAMS, "no rule speaks of this program")
    table = PROGRAMS[program]
    need(time(program, n) <= steps < 1 << 32, "the machine may not have halted")
    acts = [(q, a, table.step(q, a)) for q in range(table.halt + 1) for a in range(3)]
    code = {(q, a): symbol | move << 2 | to << 4 for q, a, (to, symbol, move) in acts}
    ids, bits = frozenset({0, 1, *code.values()}), 4 + table.halt.bit_length()
    need(digits.bits == bits, "tokens of another size")
    token, head = Number(TOKEN, 1, 1 << bits), head_of(1 << (n + 1).bit_length(), Number(TOKEN))
    classes = Class("first", 0, 0, 1, 1, 2, 3), Class("later", 1, 0, 1, n + steps, 0, 1 << bits)
    text = Spec((1, n + steps), classes, ("later",), 2, (), machine=head, ids={"later": ids})
    state = forward(text)
    read = Number(Cell("read", 3))
    also: Also = {token: sorted(ids), read: range(3)}
    return digits.by_rows(state.x["later"], state.f, also, lambda at: code[at[token] >> 4, at[read]])


def latest(ask: Ask, d: Class, blank: Class) -> Vec:
    """The symbol in the head's cell: of the latest token of d that wrote there, or else the blank's."""
    state, scores, there = ask.state, ask.scores(d), ask.scores(blank)
    m, machine = Match.of(scores), state.spec.machine
    if machine is None or not {"head", "wrote"} <= machine.cells.keys():
        raise Refused("there is no tape")
    head, wrote = (Number(machine.cells[i]) for i in ("head", "wrote"))
    need(relation(state, m, ask.c, d) == {Equal(wrote, head)}, "it does not look for the head's cell")
    alone = ask.c == d and {*ask.seen} == {d, blank} and blank.count == 1 and ask.before(blank)
    need(alone, "no blank alone")
    fixed = [*there.B.values(), *there.A.values()]
    exact = scores.rounded_once and there.rounded_once and not there.S
    need(exact and all(column.fixed for column in (*fixed, *m.gain.values())), "scores that vary")
    base = sum((gain.least for gain in m.gain.values()), scores.s)
    none = sum((column.least for column in fixed), there.s)
    adds = _added({y: b for y, b in scores.B.items() if y not in {z for _, z, _ in m.pairs}}, scores, d)
    stray = []
    for done in (Fraction, ask.f.rn):  # as it is, or rounded
        agree, blanks = [done(base + v) for v in adds], done(none)
        miss = done(base + max(adds) - (m.cost or ZERO))
        behind = ask.weight(d.count - 1, min((b - a for a, b in pairwise(agree)), default=ZERO))
        behind += ask.weight(d.count, agree[0] - miss) + ask.weight(1, agree[0] - blanks)
        stray += [behind, ask.weight(d.count, blanks - miss)]
    return ask.blurred(_symbols(ask.head.value[d.name], ask.head.value[blank.name]), max(stray))


def _added(free: Mapping[Hashable, Column], scores: Scores, d: Class) -> list[Fraction]:
    """What each place adds to a score; nothing else does."""
    need(d.count <= _PLACES and d.step == 1, "too many places to look at")
    adds = [ZERO] * d.count
    for y, b in free.items():
        if b.fixed:
            adds = [v + b.least for v in adds]
            continue
        if not isinstance(y, Number) or y.of != PLACE or not y.mod:
            raise Refused("more than the place changes scores")
        row = dict(zip(scores.k.terms[y].keys, b.rows(), strict=True))
        adds = [v + row[(d.start + i) // y.div % y.mod] for i, v in enumerate(adds)]
    return adds


def _symbols(v: Vec, none: Vec) -> Vec:
    """The value as a function of the symbol, of tokens and of the blank, whose symbol is 2."""
    need(len(v.terms) <= 1 and not v.err and not none.err, "values of several numbers, or not exact")
    columns: dict[int, Column] = {}
    for c in v.forms | none.forms.keys():
        need(len(none.form(c).values[0]) == 1, "the blank's value varies")
        found = {2: none.form(c).ends[0]}
        for n, rows in v.terms.items():
            need(isinstance(n, Number) and n.of == TOKEN and n.div == 1 and n.mod % 4 == 0, "no symbols")
            for key, value in zip(rows.keys, rows.column(c).rows(), strict=True):
                got = v.const.get(c, ZERO) + value
                need(found.setdefault(key % 4, got) == got, "a symbol has two values")
        need(found.keys() == {0, 1, 2}, "a symbol has no value")
        columns[c] = Column.of([found[a] for a in range(3)])
    return Vec.of({}, {Number(Cell("read", 3)): Rows((0, 1, 2), columns)})


def _three_sum(steps: int, forward: Forward, digits: Digits, blocks: Any, n: int, M: int) -> Fraction:
    """x_0 … x_{n-1}, q, then s_0 … s_{n-1}:  s_t = 2·E(x_t, q) + [there is a hit at some j < t]."""
    typed(blocks, [int], "hints: blocks")
    D = (M - 1).bit_length()
    need(steps == n and M >= 3 and len(blocks) <= D and all(g >= 1 for g in blocks), "no chain of n steps")
    well = n <= _ROWS and sum(blocks) == D <= 8 and digits.bits == 1 + D + len(blocks)
    need(well, "other blocks than its digits")
    starts = list(accumulate(blocks, initial=0))[:-1]

    def beside(sums: Iterable[int]) -> int:
        return sum(s << b + i for i, (s, b) in enumerate(zip(sums, starts, strict=True)))

    rows = list(product(*(range((2 << g) - 1) for g in blocks)))
    total = {beside(row): sum(s << b for s, b in zip(row, starts, strict=True)) for row in rows}
    x, q = Class("x", 0, 0, 1, n, 0, M), Class("q", n, 0, 1, 1, 0, M)
    s = Class("s", n + 1, 0, 1, n, 0, 1 << digits.bits)
    ids = frozenset(2 * e + flag for e in total for flag in (0, 1))
    state = forward(Spec((n, 1, n), (x, q, s), ("s",), 2, (), ids={"s": ids}))
    partner = tuple((e, -total[e] % M) for e in sorted(total))
    hit: Facts = frozenset({Mapped(Number(TOKEN), Number(TOKEN, 2), partner), Other()})
    found = Number(TOKEN, 1, 2), Number(Exists("x", hit))
    following = tuple((t, (t + 1) % n) for t in range(n))
    places, least = ((None, ((None, 0),)), (Number(PLACE), following)), []
    first, then = (AtToken("x", frozenset({Mapped(Number(PLACE), *asked)}), TOKEN) for asked in places)
    q_there = AtToken("q", NO_FACTS, TOKEN)
    for name, summands, flags in (("q", (first, TOKEN), ()), ("s", (then, q_there), found)):
        pair = Number(summands[0], 1, 1 << D), Number(summands[1], 1, 1 << D)

        def right(at: At, pair: tuple[Number, ...] = pair, flags: tuple[Number, ...] = flags) -> int:
            sums = [sum((at[i] >> b) % (1 << g) for i in pair) for b, g in zip(starts, blocks, strict=True)]
            return 2 * beside(sums) + any(at[i] for i in flags)

        also: Also = dict.fromkeys(pair, range(M)) | dict.fromkeys(flags, (0, 1))
        least.append(digits.by_rows(state.x[name], state.f, also, right))
    return min(least)


def pair(ask: Ask, d: Class, e: Class) -> Vec:
    """Half of THE token of d at the place asked for, half of the one of e: they score the same, exactly."""
    scores, m = ask.scores(d), Match.of(ask.scores(d), nobody=True)
    facts, base = mapped(ask.state, m, ask.c, d), scores.s + m.low
    ((asked),) = facts
    need(isinstance(asked, Mapped) and asked.key.of == PLACE, "no place is asked for")
    numbers = [b for _, b in asked.rows] if isinstance(asked, Mapped) else []
    there = min(numbers) >= 0 and max(numbers) < d.count and (d.start, d.step) == (0, 1)
    need(there, "there is no such token")
    need(ask.state.short and ask.before(d) and ask.before(e) and e.count == 1 and d != e, "it may come later")
    same = m.low == m.high and not scores.err and ask.scores(e).exactly(base, m.gain)
    need(same, "two tokens do not score the same")
    stray = ask.others([d, e], base, m.gain, ZERO) + ask.weight(d.count - 1, m.cost or ZERO)
    both = ask.head.value[d.name], ask.head.value[e.name]
    for column in ask.head.columns:
        values = [v for v in both if v.form(column).cap]
        steps, total = [v.form(column).step for v in values], sum((v.form(column).cap for v in values), ZERO)
        known = total == 0 or None not in steps
        step = min(filter(None, steps), default=ONE)
        need(known and not ask.f.inside(total / 2, 2, step / 2), "sums not exact")
    need(not any(v.err for v in both), "values that are not exact")
    read = moved(both[0], d, facts, ask.c).plus(moved(both[1], e, NO_FACTS, ask.c))
    return ask.blurred(read.scaled(Fraction(1, 2)), 2 * stray)
