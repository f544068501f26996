"""CAN: a positive margin on EVERY input, from a model's files, its task and untrusted hints; or a refusal.

The arithmetic: every operation's result is rounded to the nearest number of the format; sums inside one
operation are accumulated with 24 bits (53 in float64), in any order; an exponential errs by less than 2^-16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from limen_check import chain, pooling, readout, recurrent
from limen_check.attention import Ask, Head
from limen_check.files import Model, expect, need
from limen_check.state import Mixer, Shapes, State
from limen_check.tasks import Spec, spec
from limen_check.text import parse_call, parse_stack
from limen_check.vectors import NONE, ZERO, Form, Format, Matrix, Vec, grain


def _projections(m: Mixer, width: int) -> Shapes:
    """h heads with keys and values of their own."""
    known = {"softmax": {"kv_heads", "bidirectional"}, "linear": {"phi", "normalise"}}
    need(m.sizes.keys() <= {"h", "d", "d_k", "p"} | known[m.call.name], f"{m.call.name} with other options")
    need(m.size("kv_heads", m.size("h")) == m.size("h"), "heads that share keys and values")
    keys, values = m.size("h") * m.size("d_k", m.size("d")), m.size("h") * m.size("d")
    return {"Q": (width, keys), "K": (width, keys), "V": (width, values), "O": (values, width)}


def _softmax(state: State, m: Mixer) -> dict[str, Vec]:
    """All heads side by side, times W_O, rounded once."""
    d, both, read = m.size("d"), m.sizes.get("bidirectional", False), dict.fromkeys(state.x, Vec.of({}))
    expect(type(both) is bool, "bidirectional must be true or false")
    for number in range(m.size("h")):
        sizes = {"Q": m.size("d_k", d), "K": m.size("d_k", d), "V": d}
        Q, K, V = (_cut(state.matrix(m.name(n)), number * size, size) for n, size in sizes.items())
        head = Head.of(state, K, V, bool(both))
        for name in state.x:
            look = state.looks.get((m.layer, m.part, number, name), ["average"])
            got = _read(Ask(head, state.classes[name], Q), look).each(lambda form: form.rounded(state.f))
            read[name] = read[name].plus(Vec({number * d + c: x for c, x in got.forms.items()}, got.keys))
    return {name: got.times(state.matrix(m.name("O")), state.f) for name, got in read.items()}


def _cut(W: Matrix, first: int, size: int) -> Matrix:
    return {c - first: column for c, column in W.items() if first <= c < first + size}


_RULES: dict[str, tuple[int, Callable[..., Vec]]] = {  # of so many classes
    "one": (1, Ask.one), "share": (1, pooling.share), "exists": (2, pooling.exists), "hit": (2, pooling.hit),
    "found": (2, pooling.found), "pair": (2, pooling.pair), "latest": (2, chain.latest),
}  # fmt: skip


def _read(ask: Ask, look: list[Any]) -> Vec:
    """By the rule that the hints name."""
    rule, *rest = look
    if rule == "average" or (rule == "back" and len(rest) == 1):
        return ask.back(rest[0]) if rest else ask.average()
    known = {c.name: c for c in ask.state.text}
    expect(rule in _RULES and len(rest) == _RULES[rule][0], "hints: no such rule")
    expect(all(isinstance(name, str) and name in known for name in rest), "hints: no such class of keys")
    classes = [known[name] for name in rest]
    need({*classes} <= {*ask.seen}, "a class that is not seen")
    return _RULES[rule][1](ask, *classes)


MIXERS: dict[str, tuple[Callable[[Mixer, int], Shapes], Callable[[State, Mixer], dict[str, Vec]]]] = {
    "softmax": (_projections, _softmax),
    "linear": (_projections, recurrent.linear),
    "relu_rnn": (recurrent.shapes, recurrent.relu_rnn),
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
        least = chain.margin(task, steps, forward, header, hints)
    else:
        state = forward(spec(task))
        least = min(readout.margin(state, state.classes[name]) for name in state.spec.asks)
    need(least > 0, "no positive margin")
    return least


def _run(state: State, layers: list[list[Mixer]], hidden: list[int]) -> State:
    """Layer after layer."""
    for layer, many in zip(layers, hidden, strict=True):
        mixed, *parts = [MIXERS[m.call.name][1](state, m) for m in layer]
        for name, x in state.x.items():
            for part in parts:
                mixed[name] = mixed[name].plus(part[name], state.f)
            state.x[name] = x.plus(mixed[name], state.f)
            if many:
                state.x[name] = _local(state, layer[0].layer, state.x[name])
    return state


def _locals(functions: list[str | None], layers: int) -> list[int]:
    """The hidden units of the position-wise functions: [] or one entry a layer."""
    expect(len(functions) in (0, layers), "locals: none, or one a layer")
    calls = [None if text is None else parse_call(text) for text in functions or [None] * layers]
    well = all(call is None or (call.name == "mlp" and call.arguments.keys() == {"hidden"}) for call in calls)
    need(well, "a function that is no ReLU layer")
    return [0 if call is None else call.number("hidden", 1) for call in calls]


def _all_weights(model: Model, layers: list[list[Mixer]], hidden: list[int]) -> None:
    """Every weight is there, with its shape, and no other."""
    header, width = model.header, model.header["width"]
    expect(width >= 1 and header["answers"] >= 1, "width and answers are at least 1")
    need(isinstance(header["embedding"], dict), "the embedding is no layout of codes")
    shapes: Shapes = {f"embedding.{name}": (r, k) for name, r, k in header["embedding"]["tables"]}
    for layer, many in zip(layers, hidden, strict=True):
        for m in layer:
            need(m.call.name in MIXERS, f"no rule speaks of {m.call.name}")
            shapes |= {m.name(w): shape for w, shape in MIXERS[m.call.name][0](m, width).items()}
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
            w, low = W1[unit][c], min(ZERO, x[c].ends[0])
            if out * w == -1 and grain(w) == w >= 1:
                x = Vec(x.forms | {c: Form(ZERO, {}, (low, ZERO))}, x.keys)
                y = Vec(y.forms | {c: Form(ZERO, {}, NONE)}, y.keys)
    return x.plus(y, f)
