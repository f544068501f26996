"""CAN: a positive margin on EVERY input, from a model's files, its task and untrusted hints; or a refusal.

The arithmetic: every operation's result is rounded to the nearest number of the format; sums inside one
operation are accumulated with 24 bits (53 in float64), in any order; an exponential errs by less than 2^-16,
that of 0 by nothing.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any

from limen_check.can import readout
from limen_check.can.state import Shapes, State, Vecs
from limen_check.can.tasks import Spec, spec
from limen_check.can.vectors import NONE, ZERO, Form, Format, Vec, grain
from limen_check.files import Model, Refused, expect, need
from limen_check.record import entered
from limen_check.text import Call, parse_call, parse_stack

_HEADS, _ALL_HEADS = 1 << 10, 1 << 14  # of a layer, of all: the emptiest takes a tenth of a millisecond
_FOLLOWED = {
    "linear",
    "gated_linear",
    "log_linear",
    "delta",
    "gated_delta",
    "kda",
    "mamba2",
    "rwkv7",
}  # by R21
Mixer = tuple[Callable[[Call, int], Shapes], Callable[[State, str, Call], Vecs]]


def _mixer(name: str) -> Mixer:
    """A mixer's weights, and the rule that follows it: its module is loaded when a layer names it."""
    match name:
        case "softmax" | "window" | "masked_softmax" | "hard":
            from limen_check.can.rules import softmax

            mixer: Mixer = softmax.shapes, softmax.softmax
        case "block_sparse":
            from limen_check.can.rules import sparse

            mixer = sparse.shapes, sparse.block_sparse
        case "top_k":
            from limen_check.can.rules import chosen

            mixer = chosen.shapes, chosen.top_k
        case "linear" | "gated_linear" | "log_linear" | "retnet" | "rwkv7":
            from limen_check.can.rules import linear

            mixer = linear.MIXERS[name]
        case "delta" | "gated_delta" | "kda":
            from limen_check.can.rules import delta

            mixer = delta.shapes, delta.delta
        case "mamba" | "mamba2":
            from limen_check.can.rules import mamba

            mixer = mamba.MIXERS[name]
        case "lstm" | "s4d":
            from limen_check.can.rules import step_by_step

            mixer = step_by_step.MIXERS[name]
        case "relu_rnn":
            from limen_check.can.rules import recurrent

            mixer = recurrent.shapes, recurrent.relu_rnn
        case _:
            raise Refused(f"no rule speaks of {name}")
    entered(mixer[1])
    return mixer


def margin(model: Model, task: str, precision: str, thoughts: int, hints: Mapping[str, Any]) -> Fraction:
    """A lower bound > 0 on (right logit - best wrong logit) on every input of the task; Refused if none."""
    f, header = Format.named(precision), model.header
    need(not header["norm"] and header["residual"], "norms, or no residual sums")
    layers, locals_ = parse_stack(header["architecture"]), header["locals"]
    expect(len(locals_) in (0, len(layers)), "locals: none, or one a layer")
    hidden = [() if local is None else _hidden(local) for local in locals_ or [None] * len(layers)]
    _all_weights(model, layers, hidden)
    along = _along(hints.get("how"))
    if along is not None:
        need(not thoughts, "a chain of thought")
        return along(model, spec(task, how="shares"), f, layers, hidden)
    need(all(len(many) < 2 for many in hidden), "a function of two hidden layers")
    if hints.get("how") == "gathered":
        need(not thoughts, "a chain of thought")
        from limen_check.can.rules import gathered

        entered(gathered.margin)
        least = gathered.margin(model, task, f, layers, hidden)
        need(least > 0, "no positive margin")
        return least
    followed = {call.name for layer in layers for call in layer} <= _FOLLOWED
    need(followed or hints.get("how") != "steps", "a mixer that is not followed along a machine")

    def forward(text: Spec) -> State:
        state = State(model, text, f, hints)
        if text.steps:
            from limen_check.can.rules import automaton_memory

            entered(automaton_memory.begin)
            automaton_memory.begin(state)
        for i, layer in enumerate(layers):
            mixed, *more = [_mixer(call.name)[1](state, f"{i}.{j}", call) for j, call in enumerate(layer)]
            for name, x in state.x.items():
                for part in more:
                    mixed[name] = mixed[name].plus(part[name], f)
                state.x[name] = x.plus(mixed[name], f)
                if hidden[i]:
                    state.x[name] = _local(state, i, state.x[name])
        return state

    if thoughts:
        from limen_check.can.rules import chain_of_thought

        entered(chain_of_thought.margin)
        least = chain_of_thought.margin(task, thoughts, forward, header, hints)
    else:
        state = forward(spec(task, len(header["embedding"]["segments"]), hints.get("how")))
        least = min(readout.margin(state, state.classes[name]) for name in state.spec.asks)
    need(least > 0, "no positive margin")
    return least


def _along(how: Any) -> Callable[..., Fraction] | None:
    """The rule for softmax heads along a machine that the hints name."""
    match how:
        case "shares":
            from limen_check.can.rules import automaton_softmax

            rule = automaton_softmax.margin
        case "blocks":
            from limen_check.can.rules import automaton_blocks

            rule = automaton_blocks.margin
        case _:
            return None
    entered(rule)
    return rule


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
            weights, _ = _mixer(call.name)
            need(call.number("h", default=1) <= _HEADS, "too many heads to look at")
            shapes |= {f"{i}.{j}.{w}": shape for w, shape in weights(call, width).items()}
        for j, (into, out) in enumerate(pairwise((width, *many, width)) if many else (), 1):
            shapes |= {f"{i}.local.W{j}": (into, out), f"{i}.local.b{j}": (out,)}
    if header["readout"] == "linear":
        shapes |= {"readout.U": (width, header["answers"]), "readout.u": (header["answers"],)}
    need(sum(map(prod, shapes.values())) <= 1 << 23, "too large: more than 2^23 weights")
    shapes |= {f"embedding.{name}": (rows, columns) for name, rows, columns in header["embedding"]["tables"]}
    there = {name: weight.shape for name, weight in model.weights.items()}
    for name in sorted(shapes.keys() | there.keys()):
        expect(shapes.get(name) == there.get(name), f"weight {name[:40]!r} is missing, unknown or misshapen")


def _local(state: State, i: int, x: Vec) -> Vec:
    """R5: x + ReLU(x W₁ + b₁) W₂ + b₂, each of the six operations as it is rounded."""
    f, W1, W2 = state.f, *(state.matrix(f"{i}.local.{w}") for w in ("W1", "W2"))
    b1, b2 = (state.vector(f"{i}.local.{w}") for w in ("b1", "b2"))
    units = x.times(W1, f).plus(b1, f)
    state.looked_at(units, W2)
    y = units.relu().times(W2, f).plus(b2, f)
    for c in x.forms.keys() & y.forms.keys():
        (unit, out), *more = W2.get(c, {-1: ZERO}).items()
        if not more and W1.get(unit, {}).keys() == {c} and unit not in b1.const and c not in b2.const:
            w, low = W1[unit][c], min(ZERO, x[c].ends[0])
            if out * w == -1 and grain(w) == w >= 1:  # x - ReLU(w·x)/w is min(x, 0), exactly
                x = Vec(x.forms | {c: Form(ZERO, {}, (low, ZERO))}, x.keys)
                y = Vec(y.forms | {c: Form(ZERO, {}, NONE)}, y.keys)
    return x.plus(y, f)
