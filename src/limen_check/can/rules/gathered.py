"""R31: one softmax layer whose last token adds up all others by their places, then looks at what it has.

    gather    W_Q = 0: all scores are 0, all N tokens weigh the same:   y = Σ_j V[j, x_j] / N
    choose    one place of several is ahead, by what stands there:      y = V[m], m the place
    look      z = Σ_u w_u · ReLU(f_u),  w_u ≥ 0,  f_u = c + Σ_j T_u[j, x_j] + M_u[m]

A field is a place of the text, or m; its rows are the ids that may stand there.  Every f_u is a sum over
fields, so its least and its largest value over a set of texts are found field by field, or, where the texts
are the paths of a small machine, step by step.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from limen_check import sizes
from limen_check.can.rational import Rational
from limen_check.can.readout import Digits
from limen_check.can.rules.attention import blur, weight
from limen_check.can.scores import Scores
from limen_check.can.state import State, cut
from limen_check.can.tasks import TOKEN, Class, Number, Spec, spec
from limen_check.can.vectors import ONE, ZERO, Column, Form, Format, Interval, Matrix, Vec, above, power
from limen_check.files import Model, Refused, need
from limen_check.text import Call

_STEPS, _WORK = 1 << 18, 1 << 25  # of a machine, faults among them; over all units and columns
_TOKENS, _SCORES = 1 << 14, 1 << 25  # of a text, for four heads; of all heads, by who asks, place and id
_SUMS = 1 << 21  # of units, by place and id
Unit = tuple[Fraction, Form]  # w_u and f_u
Known = dict[int, list[Unit]]  # the units of each column of z


class Scan(NamedTuple):
    # The answer is 1 iff, read in this order, no token is a fault (None), and the last state is accepted.
    order: Sequence[int]
    start: Hashable
    turn: Callable[[Any, int, int], Hashable]
    accepts: Callable[[Any], bool]


class Choice(NamedTuple):
    # Of the tokens at `keys` number m is ranked highest by the asking token, the leftmost of equals; `right`
    # of the token at values[m] is the answer.  `single`: exactly one of them has the top rank.
    keys: Sequence[int]
    values: Sequence[int]
    rank: Callable[[int], Sequence[int]]
    right: Callable[[int], int]
    single: bool


def _pairs(n: int, bad: set[tuple[int, int]]) -> Scan:
    """a_1 … a_n b_1 … b_n, read as a_n b_n … a_1 b_1: a fault is a bad pair."""
    order = [place for i in reversed(range(n)) for place in (i, n + i)]

    def turn(state: Any, place: int, token: int) -> Hashable:
        if place < n:
            return token
        return None if (state, token) in bad else "read"

    return Scan(order, "read", turn, lambda state: True)


def _brackets(n: int, k: int, D: int) -> Scan:
    """Ids below k open a bracket, id k + i closes kind i; the state is what is open: kinds and places."""
    need(D <= 8, "a stack too deep to be followed")
    need(2 * n * k <= _STEPS, "too many steps to look at")

    def turn(stack: Any, place: int, token: int) -> Hashable:
        if token < k:
            return None if len(stack) == D else (*stack, (token, place))
        return stack[:-1] if stack and stack[-1][0] == token - k else None

    return Scan(range(n), (), turn, lambda stack: not stack)


def _recall(n: int, V: int, q: int) -> Choice:
    """key value key value …, keys different, then one of them."""
    need(q == 1, "several keys are asked for")
    ranks = [[int(key == asked) for key in range(V)] for asked in range(V)] if V <= 1 << 10 else []
    need(ranks, "too many keys to look at")
    return Choice(range(0, 2 * n, 2), range(1, 2 * n, 2), ranks.__getitem__, lambda value: value, True)


def _nearest(n: int, D: int, g: int) -> Choice:
    """point label point label …, then a point: the label of the one with the largest cosine."""
    near, points = spec(f"nearest_neighbor(n={n},D={D},g={g})").nearness, (2 * g + 1) ** D
    assert near is not None  # of this task it is there
    return Choice(range(0, 2 * n, 2), range(1, 2 * n, 2), near, lambda label: label - points, False)


_TASKS: dict[str, Callable[..., Scan | Choice]] = {
    "equality": lambda n: _pairs(n, {(0, 1), (1, 0)}), "disjointness": lambda n: _pairs(n, {(1, 1)}),
    "dyck": _brackets, "recall": _recall, "nearest_neighbor": _nearest,
}  # fmt: skip


def margin(model: Model, task: str, f: Format, layers: list[tuple[Call, ...]], hidden: list[Any]) -> Fraction:
    """The margin of a model of one layer of softmax heads, one ReLU layer and a readout."""
    named = sizes.read(task)
    need(named.name in _TASKS, "no rule speaks of this task")
    need(len(layers) == 1 == len(layers[0]) and len(hidden[0]) == 1, "not one layer and one of ReLUs")
    need(layers[0][0].name == "softmax", "no softmax heads")
    each = max(1, layers[0][0].number("h") // 4)
    need(named.length * each <= _TOKENS, "too long a text to look at every place")
    what = _TASKS[named.name](**named.sizes)
    text = spec(task)
    state = State(model, _places(model, text, named.length), f, {})
    need(state.header["answers"] == text.answers, "other answers than the task has")
    tokens = [_of_place(state, j) for j in range(named.length)]
    x = tokens[-1].plus(_heads(state, layers[0][0], tokens, what), f)
    W2, b2 = state.matrix("0.local.W2"), state.vector("0.local.b2")
    units = x.times(state.matrix("0.local.W1"), f).plus(state.vector("0.local.b1"), f)
    need(all(w > 0 for column in W2.values() for w in column.values()), "a unit counts less than 0")
    known = {c: [(w, units[u]) for u, w in column.items()] for c, column in W2.items()}
    ids = [t.keys[j] for j, t in enumerate(tokens)]
    stream = Vec.of({}, {c: form.ends for c, form in x.forms.items()})

    def read(z: dict[int, Interval]) -> Vec:
        """The last token's vector, where the units add up to this."""
        return stream.plus(Vec.of({}, z).plus(b2, f), f)

    if isinstance(what, Choice):
        return _written(state, read, known, what, ids)
    told, room = _sections(what, ids), _WORK // max(1, len(known))
    ways = {c: _walked(f, some, what, *told, room) for c, some in known.items()}
    yes, no = ({c: way[i] for c, way in ways.items()} for i in range(2))
    return min(_ahead(state, read(yes), 1), _ahead(state, read(no), 0))


def _places(model: Model, told: Spec, length: int) -> Spec:
    """The same text, every place a class of its own; the model may cut it as it likes."""
    ids = {}
    for c in (c for c in told.classes if not c.view):
        for j in range(c.first + c.start, c.first + c.last + 1, c.step):
            ids[j] = told.ids.get(c.name, frozenset(range(c.low, c.high)))
    counts = [segment["count"] for segment in model.header["embedding"]["segments"]]
    need(len(counts) > 0 and min(counts) > 0 and sum(counts) == length == len(ids), "other places")
    classes, first = [], 0
    for count in counts:
        for i in range(count):
            j = first + i
            classes.append(Class(str(j), first, i, 1, 1, min(ids[j]), max(ids[j]) + 1))
        first += count
    return Spec(tuple(classes), (), told.answers, (), ids={str(j): some for j, some in ids.items()})


def _of_place(state: State, j: int) -> Vec:
    """The vector of the token at place j, by its id: the field j."""
    c, x, forms = state.classes[str(j)], state.x[str(j)], {}
    rows: dict[Hashable, tuple[Any, ...]] = {j: state.rows(Number(TOKEN), c)}
    for at, form in x.forms.items():
        terms, const = dict[Hashable, Column](), form.const
        for name, column in form.terms.items():
            if len(x.keys[name]) == 1 or column.fixed:
                const += column.least
                continue
            whole = isinstance(name, Number) and state.plain(name, c) == Number(TOKEN)
            need(whole and x.keys[name] == rows[j], "a token is not told by its id")
            terms[j] = terms[j].plus(column) if j in terms else column
        forms[at] = Form(const, terms, form.err)
    return Vec(forms, rows)


# The heads


def _heads(state: State, call: Call, tokens: list[Vec], what: Scan | Choice) -> Vec:
    """What the layer adds to the last token."""
    f, d, out = state.f, call.number("d"), Vec.of({})
    sizes = {"Q": call.number("d_k", default=d), "K": call.number("d_k", default=d), "V": d}
    rows = [len(t.keys[j]) for j, t in enumerate(tokens)]
    few = call.number("h") * rows[-1] * sum(rows) <= _SCORES
    for head in range(call.number("h")):
        Q, K, V = (cut(state.matrix(f"0.0.{name}"), head * size, size) for name, size in sizes.items())
        q, (keys, values) = tokens[-1].times(Q, f), (_each(tokens, W, f) for W in (K, V))
        largest = max((form.cap for v in values for form in v.forms.values()), default=ZERO)
        need(2 * state.length * state.grown * largest <= f.most, "a sum of values overflows")
        need(few or not Q, "too many scores to look at")
        got = _gathered(state, values) if not Q else _place(state, q, keys, values, what)
        rounded = {head * d + c: form.rounded(f) for c, form in got.forms.items()}
        out = out.plus(Vec(rounded, got.keys))
    return out.times(state.matrix("0.0.O"), f)


def _each(tokens: list[Vec], W: Matrix, f: Format) -> list[Vec]:
    """x W of every token; a column that reads nothing of it is left out: it is 0."""
    reads: dict[int, list[int]] = {}
    for c, column in W.items():
        for row in column:
            reads.setdefault(row, []).append(c)
    return [t.times({c: W[c] for row in t.forms for c in reads.get(row, ())}, f) for t in tokens]


def _gathered(state: State, values: list[Vec]) -> Vec:
    """All scores are 0: every token weighs 1/N; each summand errs by a factor, as small as one of evenly."""
    f, N, parts = state.f, state.length, dict[int, list[Form]]()
    need(8 * N * f.acc <= 1, "the input is too long for sums in this precision")
    for v in values:
        for c, form in v.forms.items():
            parts.setdefault(c, []).append(form)
    forms = {}
    for c, column in parts.items():
        size = sum((form.cap for form in column), ZERO) / N
        off = (1 + f.u) ** 2 / (1 - (len(column) + 8) * f.acc - N * power(f.least - f.t)) - 1
        e = above(off * size) + state.dust
        forms[c] = Form.sum([(form, Rational(1, N)) for form in column], (-e, e))
    return Vec(forms, {name: rows for v in values for name, rows in v.keys.items()})


def _place(state: State, q: Vec, keys: list[Vec], values: list[Vec], what: Scan | Choice) -> Vec:
    """The value of the token that is ranked highest: a row for each place."""
    if isinstance(what, Scan):
        raise Refused("no token is looked for")
    f, N, last = state.f, state.length, state.length - 1
    scores, cache = [], dict[Hashable, list[list[Fraction]]]()
    for j, key in enumerate(keys):
        s = Scores(q, key, f)
        top = sum((form.cap * key[i].cap for i, form in q.forms.items()), ZERO)
        need(2 * (top + f.inside(top, len(q.forms), None)) <= f.largest, "a score overflows")
        scores.append((s, _row(s, last, j, q, key, cache)))
    err = max(s.err for s, _ in scores)
    gap = min(
        _lead(what, asked, [row(i) for _, row in scores], state) for i, asked in enumerate(q.keys[last])
    )
    stray = weight(f, N, N - 1, gap - 2 * err)
    picked = [values[j] for j in what.keys]
    need(all(v.exact and not v.terms for v in picked), "the value of a place varies")
    share, columns, error = blur(f, state.grown, stray), {}, {}
    for c in {c for v in values for c in v.forms}:
        columns[c] = Column.of([v[c].const for v in picked])
        e = above(share * max(v[c].cap for v in values)) + (state.dust if stray else ZERO)
        error[c] = -e, e
    return Vec.table("m", tuple(range(len(picked))), columns).plus(Vec.of({}, error))


def _row(
    s: Scores, last: int, j: int, q: Vec, key: Vec, cache: dict[Hashable, list[list[Fraction]]]
) -> Callable[[int], list[Fraction]]:
    """The scores of the i-th id that asks on every id that may stand at j; made when asked for."""
    asks, held = len(q.keys[last]), len(key.keys[j])
    A = s.A[last].rows() if last in s.A else [ZERO] * asks
    B = s.B[j].rows() if j in s.B else [ZERO] * held
    if not s.S:
        return lambda i: [s.s + A[i] + b for b in B]
    (table,) = s.S.values()
    name = tuple((tuple(x), tuple(at)) for side in (table.q, table.k) for x, at in side), table.den
    if name not in cache:
        cache[name] = [[Rational(v, table.den) for v in row] for row in table.all()]
    S = cache[name]
    return lambda i: [s.s + A[i] + b + v for b, v in zip(B, S[i], strict=True)]


def _lead(what: Choice, asked: int, rows: list[list[Fraction]], state: State) -> Fraction:
    """By how much the token ranked highest is ahead of all others, whatever the text; `rows` by place."""
    rank, keys = what.rank(asked), {*what.keys}
    others = [max(row) for j, row in enumerate(rows) if j not in keys]
    low, high = dict[int, list[Fraction]](), dict[int, list[Fraction]]()
    for j in what.keys:
        at: dict[int, list[Fraction]] = {}
        for token, v in zip(state.rows(Number(TOKEN), state.classes[str(j)]), rows[j], strict=True):
            at.setdefault(rank[token], []).append(v)
        for r, some in at.items():
            low.setdefault(r, []).append(min(some))
            high.setdefault(r, []).append(max(some))
    levels = sorted(low)
    need(all(len(some) == len(what.keys) for some in low.values()), "a rank is not everywhere")
    wins = levels[-1:] if what.single else levels
    gaps = [min(low[r]) - most for r in wins for most in others]
    gaps += [min(low[r]) - max(high[s]) for r in wins for s in levels if s < r]
    for r in () if what.single else levels:  # of equals the leftmost
        behind = high[r][-1]
        for i in reversed(range(len(low[r]) - 1)):
            gaps.append(low[r][i] - behind)
            behind = max(behind, high[r][i])
    return min(gaps, default=ONE)


# What is looked at


def _sum(f: Format, some: list[Interval]) -> Interval:
    """A computed sum of numbers ≥ 0, rounded: no less than any of them, no more than all and the errors."""
    low, parts = max((lo for lo, _ in some), default=ZERO), [hi for _, hi in some if hi > 0]
    total = sum(parts, ZERO)
    high = total + f.inside(total, len(parts), None)
    return f.rn(max(ZERO, low * (1 - 2 * f.acc) - f.tiny)), f.rn(high)


def _weighed(w: Fraction, low: Fraction, high: Fraction) -> Interval:
    return w * max(ZERO, low), w * max(ZERO, high)


class Step(NamedTuple):
    # A place; the states before it; by which row of it one comes from a state to another; which is a fault.
    place: int
    states: list[Any]
    moves: list[tuple[Any, int, Any]]
    faults: list[tuple[Any, int]]


def _sections(walk: Scan, ids: list[Any]) -> tuple[list[list[Step]], list[Any]]:
    """All steps, a new section wherever one state alone is possible; and the states at the end."""
    sections, states, work = list[list[Step]](), [walk.start], 0
    for place in walk.order:
        if len(states) == 1:
            sections.append([])
        step = Step(place, states, [], [])
        for state in states:
            work += len(ids[place])
            need(work <= _STEPS, "too many steps to look at")
            for i, token in enumerate(ids[place]):
                to = walk.turn(state, place, token)
                if to is None:
                    step.faults.append((state, i))
                else:
                    step.moves.append((state, i, to))
        sections[-1].append(step)
        states = list(dict.fromkeys(to for _, _, to in step.moves))
        need(states, "no text is without a fault")
    return sections, states


def _sums(form: Form, section: list[Step], best: Any) -> Iterator[dict[Any, Fraction]]:
    """Before each step of a section, and behind the last, the best sum by which each state is reached."""
    sums: dict[Any, Fraction] = {section[0].states[0]: ZERO}
    yield sums
    for step in section:
        adds, after = (
            form.terms[step.place].rows() if step.place in form.terms else None,
            dict[Any, Fraction](),
        )
        for state, i, to in step.moves:
            v = sums[state] + adds[i] if adds else sums[state]
            after[to] = best(after[to], v) if to in after else v
        sums = after
        yield sums


def _walked(
    f: Format, units: list[Unit], walk: Scan, sections: list[list[Step]], ends: list[Any], room: int
) -> tuple[Interval, Interval]:
    """z where the answer is 1, and where it is 0: there one unit at least is above 0, by the way it fails.

    A way to fail is a step that is a fault, from a state, by a token, or a last state that is not accepted.
    Of all texts that fail so, which may be any behind the fault, a unit's least sum counts.
    """
    where = {step.place: i for i, section in enumerate(sections) for step in section}
    flaws: dict[Hashable, Fraction] = {("end", state): ZERO for state in ends if not walk.accepts(state)}
    flaws |= {(step.place, *fault): ZERO for section in sections for step in section for fault in step.faults}
    some, all_of, work = list[Interval](), list[Interval](), len(flaws)
    for w, form in units:
        need(form.terms.keys() <= where.keys(), "something else is looked at")
        touched: list[int] = sorted({where[place] for place in form.terms})  # type: ignore[index]
        work += sum(len(step.moves) + len(step.faults) for i in touched for step in sections[i])
        need(work <= room, "too many steps to look at")
        low, high, rest = form.const + form.err[0], form.const + form.err[1], ZERO
        rest = sum((column.least for column in form.terms.values()), ZERO)
        for i in touched:
            sums = dict[Any, Fraction]()
            for step, sums in zip([*sections[i], None], _sums(form, sections[i], min), strict=True):
                column = form.terms.get(step.place) if step else None
                rest -= column.least if column else ZERO
                adds = column.rows() if column else None
                for state, row in step.faults if step else ():
                    v = w * (low + sums[state] + (adds[row] if adds else ZERO) + rest)
                    flaws[step.place, state, row] = max(flaws[step.place, state, row], v)  # type: ignore[union-attr]
            last = i == len(sections) - 1
            for state in (state for state in sums if last and not walk.accepts(state)):
                flaws["end", state] = max(flaws["end", state], w * (low + sums[state]))
            low += min(sums.values())
            *_, sums = _sums(form, sections[i], max)
            right = [v for state, v in sums.items() if not last or walk.accepts(state)]
            high += max(right, default=ZERO)
        some.append(_weighed(w, ZERO, high))
        all_of.append(_weighed(w, ZERO, form.ends[1]))
    least, most = min(flaws.values(), default=ZERO), _sum(f, all_of)[1]
    return _sum(f, some), (_sum(f, [(least, least)])[0], most)


def _ahead(state: State, x: Vec, right: int) -> Fraction:
    """By how much this answer of two is ahead."""
    need(state.header["readout"] == "linear" and state.spec.answers == 2, "not two logits")
    logits = x.times(state.matrix("readout.U"), state.f).plus(state.vector("readout.u"), state.f)
    return logits[right].ends[0] - logits[1 - right].ends[1]


def _chosen(f: Format, units: list[Unit], what: Choice, ids: list[Any]) -> Iterator[tuple[int, Interval]]:
    """The answer and z, for every place that may be chosen and every token that may be its value."""
    for m, place in enumerate(what.values):
        rest, here = list[Interval](), list[tuple[Fraction, Fraction, Fraction, Column]]()
        for w, form in units:
            low = high = form.const
            for name, column in form.terms.items():
                if name == "m":
                    low, high = low + column.rows()[m], high + column.rows()[m]
                elif name != place:
                    low, high = low + column.least, high + column.most
            low, high = low + form.err[0], high + form.err[1]
            if place in form.terms:
                here.append((w, low, high, form.terms[place]))
            else:
                rest.append(_weighed(w, low, high))
        rest = [(lo, hi) for lo, hi in rest if hi]
        rows = [(w, low, high, column.rows()) for w, low, high, column in here]
        for i, token in enumerate(ids[place]):
            z = [_weighed(w, low + row[i], high + row[i]) for w, low, high, row in rows]
            yield what.right(token), _sum(f, rest + z)


def _written(
    state: State, read: Callable[[dict[int, Interval]], Vec], units: Known, what: Choice, ids: list[Any]
) -> Fraction:
    """The margin of digits: a column of z for each."""
    digits, ends, forms = Digits.of(state.header), list[Fraction](), [f for u in units.values() for _, f in u]
    rows = sum(len(ids[place]) for place in what.values)
    many = len(forms) * rows + len(what.values) * sum(len(form.terms) for form in forms)
    need(many <= _SUMS, "too many sums to look at")
    for i in range(digits.bits):
        cases: dict[int, list[Interval]] = {0: [], 1: []}
        for answer, z in _chosen(state.f, units.get(digits.first + i, []), what, ids):
            cases[answer >> i & 1].append(z)
        for bit, some in cases.items():
            union = min((lo for lo, _ in some), default=ZERO), max((hi for _, hi in some), default=ZERO)
            column = read({digits.first + i: union})[digits.first + i]
            ends += [(2 * bit - 1) * state.f.rn(2 * v - 1) for v in column.ends] if some else []
    return digits.margin(ends, state.f)
