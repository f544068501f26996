"""CAN: a positive margin on EVERY input, from a model's files, its task and untrusted hints; or a refusal.

The arithmetic: every operation's result is rounded to the nearest number of the format; sums inside one
operation are accumulated with 24 bits (53 in float64), in any order; an exponential errs by less than 2^-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import accumulate, product
from math import prod
from typing import Any

from limen_check import chain, pooling, recurrent
from limen_check.attention import Ask, Head
from limen_check.files import Malformed, Model, Refused, expect, need
from limen_check.state import Mixer, Rule, Shapes, State
from limen_check.tasks import Decision, Number, Spec, spec
from limen_check.text import parse_call, parse_stack
from limen_check.vectors import NONE, ZERO, Class, Format, Matrix, Rows, Vec, grain


def _projections(m: Mixer, width: int) -> Shapes:
    """h heads with keys and values of their own."""
    need(
        m.sizes.keys() <= {"h", "kv_heads", "d", "d_k", "bidirectional", "p"}, f"{m.kind} with other options"
    )
    need(m.size("kv_heads", m.size("h")) == m.size("h"), "heads that share keys and values")
    keys, values = m.size("h") * m.size("d_k", m.size("d")), m.size("h") * m.size("d")
    return {"Q": (width, keys), "K": (width, keys), "V": (width, values), "O": (values, width)}


def _softmax(state: State, m: Mixer) -> dict[str, Vec]:
    """All heads side by side, times W_O, rounded once."""
    d, both, read = m.size("d"), m.sizes.get("bidirectional", False), {name: Vec() for name in state.x}
    expect(type(both) is bool, "bidirectional must be true or false")
    for number in range(m.size("h")):
        sizes = {"Q": m.size("d_k", d), "K": m.size("d_k", d), "V": d}
        Q, K, V = (_cut(state.matrix(m.name(n)), number * size, size) for n, size in sizes.items())
        head = Head.of(state, K, V, bool(both))
        for name in state.x:
            look = state.looks.get((m.layer, m.part, number, name), ["average"])
            got = _read(Ask(head, state.classes[name], Q), look).rounded(state.f)
            read[name] = read[name].joined(got.shifted(number * d))
    return {name: got.times(state.matrix(m.name("O")), state.f) for name, got in read.items()}


def _cut(W: Matrix, first: int, size: int) -> Matrix:
    rows = {r: {c - first: v for c, v in row.items() if first <= c < first + size} for r, row in W.items()}
    return {r: row for r, row in rows.items() if row}


def _read(ask: Ask, look: list[Any]) -> Vec:
    """By the rule that the hints name."""
    rule, *rest = look
    known = {c.name: c for c in ask.state.text}
    if rule == "average":
        return ask.average()
    if rule == "back" and len(rest) == 1:
        return ask.back(rest[0])
    expect(all(isinstance(name, str) and name in known for name in rest), "hints: no such class of keys")
    classes = [known[name] for name in rest]
    if len(classes) == 1 and rule in ("one", "share"):
        return ask.one(classes[0]) if rule == "one" else pooling.share(ask, classes[0])
    rules = {"exists": pooling.exists, "found": pooling.found} | chain.RULES
    expect(len(classes) == 2 and rule in rules, "hints: no such rule")
    return rules[rule](ask, *classes)


RULES: dict[str, Rule] = {
    "softmax": Rule(_projections, _softmax),
    "linear": Rule(recurrent.linear_shapes, recurrent.linear, sees_bits=True),
    "relu_rnn": Rule(recurrent.shapes, recurrent.relu_rnn),
}


def margin(model: Model, task: str, precision: str, steps: int, hints: Mapping[str, Any]) -> Fraction:
    """A lower bound > 0 on (right logit - best wrong logit) on every input of the task; Refused if none."""
    f, header = Format.named(precision), model.header
    need(not header["norm"] and header["residual"], "norms, or no residual sums")
    layers = [
        [Mixer(i, j, call.name, call.arguments) for j, call in enumerate(layer)]
        for i, layer in enumerate(parse_stack(header["architecture"]))
    ]
    hidden = _locals(header["locals"], len(layers))
    _all_weights(model, layers, hidden)

    def forward(text: Spec) -> State:
        return _run(State(model, text, f, hints), layers, hidden)

    if steps:
        return chain.margin(task, steps, forward, header, hints)
    asked = spec(task)
    if asked is None:
        raise Refused("no rule speaks of this task")
    state = forward(asked)
    least = min(_margin(state, state.classes[name], state.x[name]) for name in asked.asks)
    need(least > 0, "no positive margin")
    return least


def _run(state: State, layers: list[list[Mixer]], hidden: list[int]) -> State:
    """Layer after layer."""
    f = state.f
    for i, layer in enumerate(layers):
        parts = [RULES[m.kind].read(state, m) for m in layer]
        for name, x in state.x.items():
            mixed = parts[0][name]
            for part in parts[1:]:
                mixed = mixed.plus(part[name], f)
            state.x[name] = x.plus(mixed, f)
        if hidden[i]:
            state.x = {name: _local(state, i, x) for name, x in state.x.items()}
    return state


def _locals(texts: list[str | None], layers: int) -> list[int]:
    """The number of ReLUs after each layer."""
    expect(len(texts) in (0, layers), "as many per-position functions as layers, or none")
    calls = [None if text is None else parse_call(text) for text in texts or [None] * layers]
    for call in calls:
        need(call is None or (call.name == "mlp" and call.arguments.keys() == {"hidden"}), "no ReLU layer")
    return [0 if call is None else Mixer(0, 0, call.name, call.arguments).size("hidden") for call in calls]


def _all_weights(model: Model, layers: list[list[Mixer]], hidden: list[int]) -> None:
    """Every weight is there, with its shape, and no other."""
    header, width = model.header, model.header["width"]
    expect(width >= 1 and header["answers"] >= 1, "width and answers are at least 1")
    need(isinstance(header["embedding"], dict), "the embedding is no layout of codes")
    shapes: Shapes = {f"embedding.{name}": (r, k) for name, r, k in header["embedding"]["tables"]}
    for layer, many in zip(layers, hidden, strict=True):
        for m in layer:
            need(m.kind in RULES, f"no rule speaks of {m.kind}")
            shapes |= {m.name(w): shape for w, shape in RULES[m.kind].shapes(m, width).items()}
        i = layer[0].layer
        local = {"W1": (width, many), "b1": (many,), "W2": (many, width), "b2": (width,)}
        shapes |= {f"{i}.local.{w}": shape for w, shape in local.items() if many}
    if header["readout"] == "linear":
        shapes |= {"readout.U": (width, header["answers"]), "readout.u": (header["answers"],)}
    found = {name: weight.shape for name, weight in model.weights.items()}
    need(
        sum(prod(shape) for name, shape in shapes.items() if "embedding" not in name) <= 1 << 20, "too large"
    )
    for name in sorted(shapes.keys() | found.keys()):
        expect(shapes.get(name) == found.get(name), f"weight {name[:40]!r} is missing, unknown or misshapen")


def _vector(W: Matrix) -> Vec:
    return Vec(dict(W.get(0, {})))


def _local(state: State, i: int, x: Vec) -> Vec:
    """R5: x + ReLU(x W₁ + b₁) W₂ + b₂, each of the six operations as it is rounded.

    A column that one ReLU alone takes away, x - ReLU(w·x)/w with w = 1, 2, 4, …, is min(x, 0), exactly.
    """
    f, W1, b1, W2, b2 = state.f, *(state.matrix(f"{i}.local.{w}") for w in ("W1", "b1", "W2", "b2"))
    y = x.times(W1, f).plus(_vector(b1), f).relu().times(W2, f).plus(_vector(b2), f)
    reads: dict[int, list[int]] = {}
    for r, row in W1.items():
        for unit in row:
            reads.setdefault(unit, []).append(r)
    for c in x.columns() & y.columns():
        writes = [unit for unit, row in W2.items() if c in row]
        if (
            len(writes) == 1
            and reads.get(writes[0]) == [c]
            and not {writes[0]} & b1.get(0, {}).keys()
            and c not in b2.get(0, {})
        ):
            w, low = W1[c][writes[0]], min(ZERO, x.ends(c)[0])
            if W2[writes[0]][c] * w == -1 and grain(w) == w >= 1:
                x, y = x.without(c, (low, ZERO)), y.without(c, NONE)
    return x.plus(y, f)


def _margin(state: State, c: Class, x: Vec) -> Fraction:
    """R6: the answer stands in binary, or logits are linear; right minus best wrong, in every case."""
    need(state.header["answers"] == state.spec.answers, "other answers than the task has")
    if state.header["readout"] != "linear":
        return min(_binary(state, c, x, way) for way in state.spec.answer)
    logits = x.times(state.matrix("readout.U"), state.f).plus(_vector(state.matrix("readout.u")), state.f)
    fields = {state.plain(n, c): rows for n, rows in logits.terms.items() if isinstance(n, Number)}
    varies = sum(len(rows.keys) > 1 for rows in logits.terms.values())
    for way in state.spec.answer:
        if isinstance(way, Number):
            continue  # of which logits are not known to be linear
        numbers = way.numbers if isinstance(way, Decision) else (way.count, way.threshold)
        used = [fields[n] for n in numbers if n in fields]
        if len(used) == len(numbers) and sum(len(rows.keys) > 1 for rows in used) == varies:
            return (
                _decided(state.spec.answers, logits, used, way)
                if isinstance(way, Decision)
                else _compared(logits, *used)
            )
    raise Refused("the logits read what does not decide, or do not read what does")


def _ends(logits: Vec, a: int, used: list[Rows]) -> tuple[Fraction, Fraction]:
    """The ends of a logit, but for what the fields in use add; all others have one row."""
    others = [rows.columns[a] for rows in logits.terms.values() if rows not in used and a in rows.columns]
    base = logits.const.get(a, ZERO) + sum((column.levels[0] for column in others), ZERO)
    lo, hi = logits.err.get(a, NONE)
    return base + lo, base + hi


def _column(rows: Rows, a: int) -> list[Fraction]:
    return rows.columns[a].rows() if a in rows.columns else [ZERO] * len(rows.keys)


def _decided(answers: int, logits: Vec, fields: list[Rows], way: Decision) -> Fraction:
    """All rows of the numbers that decide."""
    need(answers * prod(len(rows.keys) for rows in fields) <= 1 << 20, "too many rows decide")
    ends = [_ends(logits, a, fields) for a in range(answers)]
    added = [[_column(rows, a) for rows in fields] for a in range(answers)]
    margins = []
    for at in product(*(range(len(rows.keys)) for rows in fields)):
        right = way.right(tuple(rows.keys[i] for rows, i in zip(fields, at, strict=True)))
        more = [
            sum((column[i] for column, i in zip(added[a], at, strict=True)), ZERO) for a in range(answers)
        ]
        wrong = [ends[a][1] + more[a] for a in range(answers) if a != right]
        margins.append(ends[right][0] + more[right] - max(wrong))
    return min(margins)


def _compared(logits: Vec, count: Rows, threshold: Rows) -> Fraction:
    """1 iff κ ≥ k.  The difference of the logits is A[κ] + B[k] + an interval: the worst κ for each k."""
    need(count.keys == tuple(range(len(count.keys))), "a count is left out")
    (lo0, hi0), (lo1, hi1) = _ends(logits, 0, [count, threshold]), _ends(logits, 1, [count, threshold])
    A, B = (
        [b - a for a, b in zip(_column(rows, 0), _column(rows, 1), strict=True)]
        for rows in (count, threshold)
    )
    above = list(accumulate(reversed(A), min))[::-1]  # the least from κ on
    below = list(accumulate(A, max))  # the most up to κ
    thresholds = list(zip(threshold.keys, B, strict=True))
    need(
        all(isinstance(k, int) and 1 <= k < len(A) for k, _ in thresholds), "a threshold that no count meets"
    )
    yes = min(b + above[k] for k, b in thresholds) + lo1 - hi0
    no = -max(b + below[k - 1] for k, b in thresholds) - hi1 + lo0
    return Fraction(min(yes, no))


def _binary(state: State, c: Class, x: Vec, answer: Any) -> Fraction:
    """Digit i stands in a column as 0 or 1, up to an error: answers differ in a digit, by 2|2x - 1| or more.

    The column must be bit i of the answer's own expression in every row: a row of (e // div) % mod with
    div = div₀·2^j shows the bits from j on, below a modulus 2^k; of another modulus only the answer's own.
    """
    f, call = state.f, parse_call(state.header["readout"])
    expect(call.name == "binary" and call.arguments.keys() == {"first", "bits"}, "no such readout")
    first, bits = (call.arguments[key] for key in ("first", "bits"))
    if type(first) is not int or type(bits) is not int or not 1 <= bits <= 64:
        raise Malformed("binary: first and bits are numbers")
    expect(first + bits <= state.width, "binary: beyond the width")
    need(isinstance(answer, Number) and state.spec.answers <= 1 << bits, "no number that is read in binary")
    ends: list[Fraction] = []
    for i in range(bits):
        _digit(state, c, x, first + i, i, answer)
        for v in (ZERO, Fraction(1)):
            for e in x.err.get(first + i, NONE):
                ends.append(f.rn(f.rn(2 * (v + e)) - 1) * (2 * v - 1))
    if set(ends) == {1} and bits * f.u <= 1:
        return Fraction(2)  # whole numbers up to `bits`: exact
    logit = Fraction(bits * max(ends))
    error = f.inside(logit, bits, None)
    return 2 * min(ends) - 2 * (error + f.u * (logit + error))


def _digit(state: State, c: Class, x: Vec, column: int, i: int, answer: Number) -> None:
    """The column is bit i of the answer, without its error."""
    fields = [(n, col) for n, col in x.of(column).items() if len(col.levels) > 1]
    one = [col.levels[0] for col in x.of(column).values() if len(col.levels) == 1]
    base = sum(one, x.const.get(column, ZERO))
    if not fields:
        need(base == 0 and state.spec.answers <= 1 << i, f"digit {i} is constant")
        return
    need(len(fields) == 1, f"digit {i} mixes fields")
    n, col = fields[0]
    if not isinstance(n, Number):
        raise Refused(f"digit {i} is of several numbers")
    j = (n.div // answer.div).bit_length() - 1
    need(
        n.of == answer.of and n.div == answer.div << max(0, j) and 0 <= j <= i,
        f"digit {i} is of another number",
    )
    whole = state.plain(n, c).mod == 0 and not answer.mod
    power_of_two = not answer.mod and n.mod.bit_count() == 1 and n.mod > 1 << i - j
    need(whole or power_of_two or (j == 0 and n.mod == answer.mod), f"digit {i} is of a remainder")
    keys = x.terms[n].keys
    need(
        all(base + v == (r >> i - j & 1) for r, v in zip(keys, col.rows(), strict=True)),
        f"digit {i} is wrong",
    )
