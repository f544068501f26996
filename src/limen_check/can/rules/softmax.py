"""Softmax heads side by side, also hard or in windows: each class of tokens reads by the rule of its hint.

Rules that not every head needs are loaded when a hint names them.
"""

from collections.abc import Callable
from typing import Any

from limen_check.can.rules.attention import Ask, asks
from limen_check.can.state import Shapes, State, Vecs, cut, projections
from limen_check.can.vectors import Vec
from limen_check.files import Malformed, expect, need
from limen_check.record import entered
from limen_check.text import Call

_OPTIONS = {
    "softmax": {"kv_heads", "bidirectional"}, "window": {"kv_heads", "W"},
    "masked_softmax": {"kv_heads", "first", "last"}, "hard": {"kv_heads"},
    "block_sparse": {"B", "k"}, "top_k": {"k", "h_i", "d_i"},
}  # fmt: skip
Reader = Callable[[Ask, list[Any], Call], Vec]  # what a class reads of a head, by a hint


def shapes(call: Call, width: int) -> Shapes:
    """h heads with keys and values of their own."""
    known = _OPTIONS[call.name] | {"h", "d", "d_k", "p"}
    need(call.arguments.keys() <= known, f"{call.name} with other options")
    plain, h = projections(call, width), call.number("h")
    need(call.number("kv_heads", default=h) == h, "heads that share keys and values")
    return plain


def softmax(state: State, at: str, call: Call) -> Vecs:
    """What a layer of softmax, hard or windowed heads adds to every class."""
    readers = {"softmax": _in_full, "hard": _hard}
    return layer(state, at, call, readers.get(call.name, _in_sight))


def layer(state: State, at: str, call: Call, read: Reader) -> Vecs:
    """All heads side by side, times W_O, rounded once."""
    d, both = call.number("d"), call.arguments.get("bidirectional", False)
    expect(type(both) is bool, "bidirectional must be true or false")
    out = dict.fromkeys(state.x, Vec.of({}))
    sizes = {"Q": call.number("d_k", default=d), "K": call.number("d_k", default=d), "V": d}
    for head in range(call.number("h")):
        Q, K, V = (cut(state.matrix(f"{at}.{name}"), head * size, size) for name, size in sizes.items())
        for name, ask in asks(state, Q, K, V, bool(both)).items():
            got = read(ask, state.looks.get((at, head, name), ["average"]), call)
            rounded = {head * d + c: form.rounded(state.f) for c, form in got.forms.items()}
            out[name] = out[name].plus(Vec(rounded, got.keys))
    return {name: got.times(state.matrix(f"{at}.O"), state.f) for name, got in out.items()}


def _hard(ask: Ask, look: list[Any], call: Call) -> Vec:
    """The value of one token, or of any."""
    need(look[0] in ("one", "found", "back", "average"), "hard attention reads one token, or no claim")
    return _in_full(ask, look, call)


def _in_sight(ask: Ask, look: list[Any], call: Call) -> Vec:
    """What a head reads in a window: an average, or one token in it; fewer others only weigh less."""
    reach = call.number("W", default=call.arguments.get("last", ""))
    known = {d.name: d for d in ask.state.text}
    if look != ["average"]:
        d = known.get(str(look[-1]))
        far = ask.c.first + ask.c.start - (reach if d is None else d.first + d.start)
        near = d is not None and d.count == ask.c.count == 1 and far < reach
        need(look[0] == "one" and near, "it may be out of sight")
    return _in_full(ask, look, call)


def _in_full(ask: Ask, look: list[Any], call: Call) -> Vec:
    """What is read by the rule that the hints name."""
    name, *rest = look
    if name == "average" or (name == "back" and len(rest) == 1):
        return ask.back(rest[0]) if rest else ask.average()
    known = {c.name: c for c in ask.state.text}
    rule, many = _rule(name)
    entered(rule)
    expect(len(rest) == many, "hints: no such rule")
    expect(all(isinstance(name, str) and name in known for name in rest), "hints: no such class of keys")
    classes = [known[name] for name in rest]
    need({*classes} <= {*ask.seen}, "a class that is not seen")
    return rule(ask, *classes)


def _rule(name: Any) -> tuple[Callable[..., Vec], int]:
    """The rule of this name, from the one module that is loaded for it, and how many classes it speaks of."""
    match name:
        case "one":
            return Ask.one, 1
        case "exists" | "hit" | "found" | "pair" | "share" | "row":
            from limen_check.can.rules import pooling

            return pooling.RULES[str(name)]
        case "latest":
            from limen_check.can.rules import chain_of_thought

            return chain_of_thought.latest, 2
        case "nearest":
            from limen_check.can.rules import nearest

            return nearest.nearest, 1
    raise Malformed("hints: no such rule")
