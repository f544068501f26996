"""The text form of tasks and architectures, bounded: a stranger's text ends in a value or in one line.

    stack := item {"," item}        item := [count "*"] (layer | "(" stack ")")
    layer := call {"|" call}        call := name ["(" key "=" value {"," key "=" value} ")"]

A value is a natural number (also `2^20`), true, false, or a word.  There are no default sizes, and no spaces.
"""

import re
from typing import NamedTuple

from limen_check.files import BITS, DIGITS, Malformed, expect

_CHARACTERS, _LAYERS, _NESTED, _SIDE_BY_SIDE = 1 << 16, 4096, 32, 64
_FOLDED, TIMES = 1024, "*"  # layers in a row from which on they are counted, under a key that no text has
_RECURRENT = {"linear", "gated_linear", "delta", "gated_delta", "kda", "mamba", "mamba2", "lstm"}
_RECURRENT |= {"relu_rnn", "log_linear", "retnet", "rwkv7", "s4d"}
Value = int | bool | str


class Call(NamedTuple):  # a name with its arguments
    name: str
    arguments: dict[str, Value]

    def number(self, key: str, least: int = 1, most: int = 1 << BITS, default: Value = "") -> int:
        """An argument that is an integer."""
        value = self.arguments.get(key, default)
        well = isinstance(value, int) and type(value) is int and least <= value <= most
        expect(well, f"{self.name}: {key} must be a number ≥ {least}")
        return int(value)


Stack = list[tuple[Call, ...]]  # one tuple a layer; what a count repeats is one object


def parse_call(text: str) -> Call:
    """Reads one `name(key=value,…)`."""
    expect(len(text) <= _CHARACTERS, f"a text is at most {_CHARACTERS} characters")
    call = re.fullmatch(r"([A-Za-z_]\w*)(?:\(([^()]*)\))?", text, re.ASCII)
    if call is None:
        raise Malformed(f"{text[:60]!r} is no name(key=value,…)")
    arguments: dict[str, Value] = {}
    for pair in call[2].split(",") if call[2] else ():
        key, _, value = pair.partition("=")
        known = re.fullmatch(r"[A-Za-z_](?:\w*[A-Za-z_])?(?:[1-9]\d*)?", key, re.ASCII)  # n01 is not n1
        expect(known is not None, f"{call[1]}: {key[:40]!r} is not a key")
        expect(key not in arguments, f"{call[1]}: {key} is given twice")
        arguments[key] = _value(value, f"{call[1]}: {key}")
    return Call(call[1], arguments)


def _value(text: str, where: str) -> Value:
    if re.fullmatch(r"\d+(?:\^\d+)?", text, re.ASCII):
        base, _, power = text.partition("^")
        short = len(base) <= DIGITS and len(power) <= 5
        short = short and int(base).bit_length() * int(power or 1) <= 2 * BITS
        value: int = int(base) ** int(power or 1) if short else 1 << BITS
        expect(value.bit_length() <= BITS, f"{where}: {text[:20]} is too large")
        return value
    expect(re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) is not None, f"{where}: {text[:20]!r} is no value")
    return {"true": True, "false": False}.get(text, text)


def parse_stack(text: str, depth: int = 0) -> Stack:
    """Reads a whole stack and unrolls its repetitions; very many recurrent layers in a row are counted.

    They stand there as two: one of them, and one more that holds the number of all others, `TIMES`.
    """
    expect(len(text) <= _CHARACTERS, f"a text is at most {_CHARACTERS} characters")
    expect(depth <= _NESTED, f"at most {_NESTED} parentheses in each other")
    layers, start, inside = Stack(), 0, 0
    for at, mark in enumerate(text + ","):
        inside += (mark == "(") - (mark == ")")
        expect(inside >= 0, f"column {at + 1} of {text[:60]!r}: a parenthesis too many")
        if mark == "," and inside == 0:
            layers += _repeated(text[start:at], depth)
            expect(len(layers) <= _LAYERS, f"at most {_LAYERS} layers")
            start = at + 1
    expect(inside == 0, f"{text[:60]!r}: a parenthesis is missing")
    return layers


def _repeated(item: str, depth: int) -> Stack:
    times, _, inner = item.partition("*") if item[:1].isdigit() else ("1", "", item)
    group, count = inner.startswith("(") and inner.endswith(")"), _value(times, "a count")
    layers = parse_stack(inner[1:-1], depth + 1) if group else [tuple(map(parse_call, inner.split("|")))]
    expect(len(layers[0]) <= _SIDE_BY_SIDE, f"at most {_SIDE_BY_SIDE} mixers side by side")
    first, *more = [tuple(Call(call.name, _once(call)) for call in layer) for layer in layers]
    total = int(count) * sum(int(layer[0].arguments.get(TIMES, 1)) for layer in layers)
    if total > _FOLDED and {call.name for call in first} <= _RECURRENT and more == [first] * len(more):
        return [first, tuple(Call(call.name, call.arguments | {TIMES: total - 1}) for call in first)]
    few = type(count) is int and 1 <= count * len(layers) <= _LAYERS
    expect(few, f"at least one and at most {_LAYERS} layers")
    return layers * int(count)


def _once(call: Call) -> dict[str, Value]:
    """The arguments of one of the layers that are counted."""
    return {key: value for key, value in call.arguments.items() if key != TIMES}
