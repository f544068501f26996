"""CAN: a positive margin on EVERY input, from a model's files, its task and untrusted hints; or a refusal.

The arithmetic: every operation's result is rounded to the nearest number of the format; sums inside one
operation are accumulated with 24 bits (53 in float64), in any order; an exponential errs by less than 2^-16.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import Any

from limen_check import chain, pooling, readout, recurrent
from limen_check.attention import Ask, Head
from limen_check.files import Model, expect, need
from limen_check.state import Mixer, Rule, Shapes, State
from limen_check.tasks import Spec, spec
from limen_check.text import parse_call, parse_stack
from limen_check.vectors import NONE, ZERO, Format, Matrix, Vec, grain


def _projections(m: Mixer, width: int) -> Shapes:
    """h heads with keys and values of their own."""
    known = {"softmax": {"kv_heads", "bidirectional"}, "linear": {"phi", "normalise"}}
    need(m.sizes.keys() <= {"h", "d", "d_k", "p"} | known[m.call.name], f"{m.call.name} with other options")
    need(m.size("kv_heads", m.size("h")) == m.size("h"), "heads that share keys and values")
    keys, values = m.size("h") * m.size("d_k", m.size("d")), m.size("h") * m.size("d")
    return {"Q": (width, keys), "K": (width, keys), "V": (width, values), "O": (values, width)}


def _softmax(state: State, m: Mixer) -> dict[str, Vec]:
    """All heads side by side, times W_O, rounded once."""
    d, both, read = m.size("d"), m.sizes.get("bidirectional", False), {name: Vec.of({}) for name in state.x}
    expect(type(both) is bool, "bidirectional must be true or false")
    for number in range(m.size("h")):
        sizes = {"Q": m.size("d_k", d), "K": m.size("d_k", d), "V": d}
        Q, K, V = (_cut(state.matrix(m.name(n)), number * size, size) for n, size in sizes.items())
        head = Head.of(state, K, V, bool(both))
        for name in state.x:
            look = state.looks.get((m.layer, m.part, number, name), ["average"])
            got = _read(Ask(head, state.classes[name], Q), look).rounded(state.f)
            read[name] = read[name].plus(got.shifted(number * d))
    return {name: got.times(state.matrix(m.name("O")), state.f) for name, got in read.items()}


def _cut(W: Matrix, first: int, size: int) -> Matrix:
    return {c - first: column for c, column in W.items() if first <= c < first + size}


_ONE = {"one": Ask.one, "share": pooling.share}
_TWO = {
    "exists": pooling.exists, "found": pooling.found, "hit": pooling.hit,
    "latest": chain.latest, "pair": chain.pair,
}  # fmt: skip


def _read(ask: Ask, look: list[Any]) -> Vec:
    """By the rule that the hints name."""
    rule, *rest = look
    known = {c.name: c for c in ask.state.text}
    if rule == "average":
        return ask.average()
    if rule == "back" and len(rest) == 1:
        return ask.back(rest[0])
    expect(all(isinstance(name, str) and name in known for name in rest), "hints: no such class of keys")
    expect(len(rest) == 1 + (rule in _TWO) and rule in _ONE | _TWO, "hints: no such rule")
    classes = [known[name] for name in rest]
    need({*classes} <= {*ask.seen}, "a class that is not seen")
    return _TWO[rule](ask, *classes) if rule in _TWO else _ONE[rule](ask, *classes)


RULES: dict[str, Rule] = {
    "softmax": Rule(_projections, _softmax),
    "linear": Rule(_projections, recurrent.linear, sees_bits=True),
    "relu_rnn": Rule(recurrent.shapes, recurrent.relu_rnn),
}


def margin(model: Model, task: str, precision: str, steps: int, hints: Mapping[str, Any]) -> Fraction:
    """A lower bound > 0 on (right logit - best wrong logit) on every input of the task; Refused if none."""
    f, header = Format.named(precision), model.header
    need(not header["norm"] and header["residual"], "norms, or no residual sums")
    stack = enumerate(parse_stack(header["architecture"]))
    layers = [[Mixer(i, j, call) for j, call in enumerate(layer)] for i, layer in stack]
    hidden = _locals(header["locals"], len(layers))
    _all_weights(model, layers, hidden)

    def forward(text: Spec) -> State:
        return _run(State(model, text, f, hints), layers, hidden)

    if steps:
        return _positive(chain.margin(task, steps, forward, header, hints))
    asked = spec(task)
    state = forward(asked)
    return _positive(min(readout.margin(state, state.classes[name]) for name in asked.asks))


def _positive(least: Fraction) -> Fraction:
    need(least > 0, "no positive margin")
    return least


def _run(state: State, layers: list[list[Mixer]], hidden: list[int]) -> State:
    """Layer after layer."""
    f = state.f
    for i, layer in enumerate(layers):
        parts = [RULES[m.call.name].read(state, m) for m in layer]
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
    return [0 if call is None else call.number("hidden", 1) for call in calls]


def _all_weights(model: Model, layers: list[list[Mixer]], hidden: list[int]) -> None:
    """Every weight is there, with its shape, and no other."""
    header, width = model.header, model.header["width"]
    expect(width >= 1 and header["answers"] >= 1, "width and answers are at least 1")
    need(isinstance(header["embedding"], dict), "the embedding is no layout of codes")
    shapes: Shapes = {f"embedding.{name}": (r, k) for name, r, k in header["embedding"]["tables"]}
    for layer, many in zip(layers, hidden, strict=True):
        for m in layer:
            need(m.call.name in RULES, f"no rule speaks of {m.call.name}")
            shapes |= {m.name(w): shape for w, shape in RULES[m.call.name].shapes(m, width).items()}
        i = layer[0].layer
        local = {"W1": (width, many), "b1": (many,), "W2": (many, width), "b2": (width,)}
        shapes |= {f"{i}.local.{w}": shape for w, shape in local.items() if many}
    if header["readout"] == "linear":
        shapes |= {"readout.U": (width, header["answers"]), "readout.u": (header["answers"],)}
    found = {name: weight.shape for name, weight in model.weights.items()}
    inner = [shape for name, shape in shapes.items() if not name.startswith("embedding.")]
    need(sum(map(prod, inner)) <= 1 << 20, "too large")
    for name in sorted(shapes.keys() | found.keys()):
        expect(shapes.get(name) == found.get(name), f"weight {name[:40]!r} is missing, unknown or misshapen")


def _local(state: State, i: int, x: Vec) -> Vec:
    """R5: x + ReLU(x W₁ + b₁) W₂ + b₂, each of the six operations as it is rounded."""
    f, W1, W2 = state.f, *(state.matrix(f"{i}.local.{w}") for w in ("W1", "W2"))
    b1, b2 = (state.vector(f"{i}.local.{w}") for w in ("b1", "b2"))
    y = x.times(W1, f).plus(Vec.of(b1), f).relu().times(W2, f).plus(Vec.of(b2), f)
    for c in x.forms.keys() & y.forms.keys():
        ((unit, out), *more), clear = W2.get(c, {-1: ZERO}).items(), c not in b2
        if clear and not more and W1.get(unit, {}).keys() == {c} and unit not in b1:
            w, low = W1[unit][c], min(ZERO, x.form(c).ends[0])
            if out * w == -1 and grain(w) == w >= 1:
                x, y = x.without(c, (low, ZERO)), y.without(c, NONE)
    return x.plus(y, f)
