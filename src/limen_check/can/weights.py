"""CAN: a positive margin on EVERY input, from a model's files, its task and untrusted hints; or a refusal.

The arithmetic: every operation's result is rounded to the nearest number of the format; sums inside one
operation are accumulated with 24 bits (53 in float64), in any order; an exponential errs by less than 2^-16,
that of 0 by nothing.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise
from math import prod
from typing import Any

from limen_check.can import readout
from limen_check.can.rules import (
    carried,
    chain,
    delta,
    linear,
    mamba,
    nearest,
    pooling,
    recurrent,
    shares,
    sparse,
    steps,
)
from limen_check.can.rules.attention import Ask, asks
from limen_check.can.state import State
from limen_check.can.tasks import Spec, spec
from limen_check.can.vectors import NONE, ZERO, Form, Format, Matrix, Vec, grain
from limen_check.files import Model, expect, need
from limen_check.text import Call, parse_call, parse_stack

Shapes = dict[str, tuple[int, ...]]
_HEADS, _ALL_HEADS = 1 << 10, 1 << 14  # of a layer, of all: the emptiest takes a tenth of a millisecond
_RULES: dict[str, tuple[int, Callable[..., Vec]]] = {  # of so many classes
    "one": (1, Ask.one), "exists": (2, pooling.exists), "hit": (2, partial(pooling.exists, rows=True)),
    "found": (2, pooling.found), "pair": (2, pooling.pair), "latest": (2, chain.latest),
    "share": (1, pooling.share), "nearest": (1, nearest.nearest),
}  # fmt: skip
_OPTIONS = {
    "softmax": {"kv_heads", "bidirectional"}, "window": {"kv_heads", "W"},
    "masked_softmax": {"kv_heads", "first", "last"}, "hard": {"kv_heads"}, "linear": {"phi", "normalise"},
    "block_sparse": {"B", "k"},
}  # fmt: skip


def _projections(call: Call, width: int) -> Shapes:
    """h heads with keys and values of their own."""
    known = _OPTIONS[call.name] | {"h", "d", "d_k", "p"}
    need(call.arguments.keys() <= known, f"{call.name} with other options")
    h, d = call.number("h"), call.number("d")
    need(call.number("kv_heads", default=h) == h, "heads that share keys and values")
    keys = h * call.number("d_k", default=d)
    return {"Q": (width, keys), "K": (width, keys), "V": (width, h * d), "O": (h * d, width)}


def _softmax(state: State, at: str, call: Call) -> dict[str, Vec]:
    """All heads side by side, times W_O, rounded once."""
    d, both = call.number("d"), call.arguments.get("bidirectional", False)
    expect(type(both) is bool, "bidirectional must be true or false")
    read = dict.fromkeys(state.x, Vec.of({}))
    sizes = {"Q": call.number("d_k", default=d), "K": call.number("d_k", default=d), "V": d}

    def cut(name: str, head: int) -> Matrix:
        W, first = state.matrix(f"{at}.{name}"), head * sizes[name]
        return {c - first: column for c, column in W.items() if first <= c < first + sizes[name]}

    for head in range(call.number("h")):
        Q, K, V = (cut(name, head) for name in sizes)
        for name, ask in asks(state, Q, K, V, bool(both)).items():
            look = state.looks.get((at, head, name), ["average"])
            if call.name == "block_sparse":
                got = _in_blocks(ask, look, call.number("B"))
            else:
                if call.name == "hard":
                    sure = look[0] in ("one", "found", "back", "average")
                    need(sure, "hard attention reads one token, or no claim")
                elif call.name != "softmax":
                    _in_sight(ask, look, call.number("W", default=call.arguments.get("last", "")))
                got = _read(ask, look)
            rounded = {head * d + c: form.rounded(state.f) for c, form in got.forms.items()}
            read[name] = read[name].plus(Vec(rounded, got.keys))
    return {name: got.times(state.matrix(f"{at}.O"), state.f) for name, got in read.items()}


def _block_sparse(state: State, at: str, call: Call) -> dict[str, Vec]:
    sparse.first_tokens_alone(state, at)
    return _softmax(state, at, call)


def _in_sight(ask: Ask, look: list[Any], reach: int) -> None:
    """Of what a window shows: an average, or one token that is in it; fewer others only weigh less."""
    known = {d.name: d for d in ask.state.text}
    if look != ["average"]:
        d = known.get(str(look[-1]))
        far = ask.c.first + ask.c.start - (reach if d is None else d.first + d.start)
        near = d is not None and d.count == ask.c.count == 1 and far < reach
        need(look[0] == "one" and near, "it may be out of sight")


def _in_blocks(ask: Ask, look: list[Any], B: int) -> Vec:
    """Of what blocks show: an average, or the token asked for, whose block is opened."""
    if look == ["average"]:
        return ask.average()
    known = {d.name: d for d in ask.state.text}
    expect(look[0] == "opened" and len(look) == 2 and look[1] in known, "hints: no such rule of blocks")
    return sparse.opened(ask, known[look[1]], B)


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


_MIXERS: dict[str, tuple[Callable[[Call, int], Shapes], Callable[[State, str, Call], dict[str, Vec]]]] = {
    **dict.fromkeys(("softmax", "window", "masked_softmax", "hard"), (_projections, _softmax)),
    **dict.fromkeys(("delta", "gated_delta", "kda"), (delta.delta_shapes, delta.delta)),
    "block_sparse": (lambda c, width: _projections(c, width) | sparse.shapes(c, width), _block_sparse),
    "linear": (_projections, linear.linear),
    "gated_linear": (linear.gated_linear_shapes, linear.gated_linear),
    "log_linear": (linear.log_linear_shapes, linear.log_linear),
    "mamba": (mamba.mamba_shapes, mamba.mamba),
    "mamba2": (mamba.mamba2_shapes, mamba.mamba2),
    "lstm": (carried.lstm_shapes, carried.lstm),
    "relu_rnn": (recurrent.shapes, recurrent.relu_rnn),
}

_FOLLOWED = {"linear", "gated_linear", "log_linear", "delta", "gated_delta", "kda", "mamba2"}  # by R21


def margin(model: Model, task: str, precision: str, thoughts: int, hints: Mapping[str, Any]) -> Fraction:
    """A lower bound > 0 on (right logit - best wrong logit) on every input of the task; Refused if none."""
    f, header = Format.named(precision), model.header
    need(not header["norm"] and header["residual"], "norms, or no residual sums")
    layers, locals_ = parse_stack(header["architecture"]), header["locals"]
    expect(len(locals_) in (0, len(layers)), "locals: none, or one a layer")
    hidden = [() if local is None else _hidden(local) for local in locals_ or [None] * len(layers)]
    _all_weights(model, layers, hidden)
    if hints.get("how") == "shares":
        need(not thoughts, "a chain of thought")
        return shares.margin(model, spec(task, how="shares"), f, layers, hidden)
    need(all(len(many) < 2 for many in hidden), "a function of two hidden layers")
    followed = {call.name for layer in layers for call in layer} <= _FOLLOWED
    need(followed or hints.get("how") != "steps", "a mixer that is not followed along a machine")

    def forward(text: Spec) -> State:
        state = State(model, text, f, hints)
        if text.steps:
            steps.begin(state)
        for i, layer in enumerate(layers):
            mixed, *more = [_MIXERS[call.name][1](state, f"{i}.{j}", call) for j, call in enumerate(layer)]
            for name, x in state.x.items():
                for part in more:
                    mixed[name] = mixed[name].plus(part[name], f)
                state.x[name] = x.plus(mixed[name], f)
                if hidden[i]:
                    state.x[name] = _local(state, i, state.x[name])
        return state

    if thoughts:
        least = chain.margin(task, thoughts, forward, header, hints)
    else:
        state = forward(spec(task, len(header["embedding"]["segments"]), hints.get("how")))
        least = min(readout.margin(state, state.classes[name]) for name in state.spec.asks)
    need(least > 0, "no positive margin")
    return least


def _hidden(local: str) -> tuple[int, ...]:
    """The units of a position-wise function, one or two layers of them."""
    call = parse_call(local)
    known = call.arguments.keys() in ({"hidden"}, {"hidden", "hidden2"})
    need(call.name == "mlp" and known, "a function that is no ReLU layer")
    return tuple(call.number(name) for name in ("hidden", "hidden2") if name in call.arguments)


def _all_weights(model: Model, layers: list[tuple[Call, ...]], hidden: list[tuple[int, ...]]) -> None:
    """Every weight is there, with its shape, and no other."""
    header, width = model.header, model.header["width"]
    expect(width >= 1 and header["answers"] >= 1, "width and answers are at least 1")
    need(isinstance(header["embedding"], dict), "the embedding is no layout of codes")
    shapes: Shapes = {}
    heads = sum(call.number("h", default=1) for layer in layers for call in layer)
    need(heads <= _ALL_HEADS, "too many heads to look at")
    for i, (layer, many) in enumerate(zip(layers, hidden, strict=True)):
        for j, call in enumerate(layer):
            need(call.name in _MIXERS, f"no rule speaks of {call.name}")
            need(call.number("h", default=1) <= _HEADS, "too many heads to look at")
            shapes |= {f"{i}.{j}.{w}": shape for w, shape in _MIXERS[call.name][0](call, width).items()}
        for j, (into, out) in enumerate(pairwise((width, *many, width)) if many else (), 1):
            shapes |= {f"{i}.local.W{j}": (into, out), f"{i}.local.b{j}": (out,)}
    if header["readout"] == "linear":
        shapes |= {"readout.U": (width, header["answers"]), "readout.u": (header["answers"],)}
    need(sum(map(prod, shapes.values())) <= 1 << 23, "too large")
    shapes |= {f"embedding.{name}": (rows, columns) for name, rows, columns in header["embedding"]["tables"]}
    found = {name: weight.shape for name, weight in model.weights.items()}
    for name in sorted(shapes.keys() | found.keys()):
        expect(shapes.get(name) == found.get(name), f"weight {name[:40]!r} is missing, unknown or misshapen")


def _local(state: State, i: int, x: Vec) -> Vec:
    """R5: x + ReLU(x W₁ + b₁) W₂ + b₂, each of the six operations as it is rounded."""
    f, W1, W2 = state.f, *(state.matrix(f"{i}.local.{w}") for w in ("W1", "W2"))
    b1, b2 = (state.vector(f"{i}.local.{w}") for w in ("b1", "b2"))
    y = x.times(W1, f).plus(b1, f).relu().times(W2, f).plus(b2, f)
    for c in x.forms.keys() & y.forms.keys():
        (unit, out), *more = W2.get(c, {-1: ZERO}).items()
        if not more and W1.get(unit, {}).keys() == {c} and unit not in b1.const and c not in b2.const:
            w, low = W1[unit][c], min(ZERO, x[c].ends[0])
            if out * w == -1 and grain(w) == w >= 1:  # x - ReLU(w·x)/w is min(x, 0), exactly
                x = Vec(x.forms | {c: Form(ZERO, {}, (low, ZERO))}, x.keys)
                y = Vec(y.forms | {c: Form(ZERO, {}, NONE)}, y.keys)
    return x.plus(y, f)
