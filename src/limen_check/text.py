"""The text form of tasks and architectures, bounded: a stranger's text ends in a value or in one line.

    stack := item {"," item}        item := [count "*"] (layer | "(" stack ")")
    layer := call {"|" call}        call := name ["(" key "=" value {"," key "=" value} ")"]

A value is a natural number (also `2^20`), true, false, or a word.  There are no default sizes.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeVar

from limen_check.files import BITS, Malformed, expect

_TOKEN = re.compile(r"\s*(?:(?P<int>\d+(?:\^\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<mark>[(),=*|]))", re.ASCII)
_CHARACTERS, _LAYERS, _NESTED, _SIDE_BY_SIDE = 1 << 16, 4096, 32, 64

T = TypeVar("T")
Value = int | bool | str


class Call(NamedTuple):
    """A name with its arguments."""

    name: str
    arguments: dict[str, Value]

    def number(self, key: str, least: int = 0, most: int = 1 << BITS, default: Value = "") -> int:
        """An argument that is an integer."""
        value = self.arguments.get(key, default)
        well = isinstance(value, int) and type(value) is int and least <= value <= most
        expect(well, f"{self.name}: {key} must be a number ≥ {least}")
        return int(value)


Stack = list[tuple[Call, ...]]  # one tuple a layer; what a count repeats is one object


def parse_call(text: str) -> Call:
    """Reads one `name(key=value,…)`."""
    reader = _Reader(text)
    return reader.end(reader.call())


def parse_stack(text: str) -> Stack:
    """Reads a whole stack and unrolls its repetitions."""
    reader = _Reader(text)
    return reader.end(reader.stack(0))


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        well = text.isascii() and len(text) <= _CHARACTERS
        expect(well, f"a text is at most {_CHARACTERS} ASCII characters")
        self.text, self.at = text, 0

    def take(self, group: str, mark: str | None = None) -> str | None:
        """Consumes the next token if it is of this group (and is this mark)."""
        token = _TOKEN.match(self.text, self.at)
        if token is None or token[group] is None or mark not in (None, token[group]):
            return None
        self.at = token.end()
        return token[group]

    def need(self, group: str, mark: str | None, expected: str) -> str:
        taken = self.take(group, mark)
        if taken is None:
            raise Malformed(f"expected {expected} at column {self.at + 1} of {self.text[:60]!r}")
        return taken

    def end(self, read: T) -> T:
        rest = self.text[self.at :].strip()
        expect(not rest, f"column {self.at + 1} of {self.text[:60]!r}: expected the end")
        return read

    def stack(self, depth: int) -> Stack:
        expect(depth <= _NESTED, f"at most {_NESTED} parentheses in each other")
        layers = self.item(depth)
        while self.take("mark", ","):
            layers += self.item(depth)
            expect(len(layers) <= _LAYERS, f"at most {_LAYERS} layers")
        return layers

    def item(self, depth: int) -> Stack:
        number = self.take("int")
        count = 1 if number is None else _integer(number)
        if number is not None:
            self.need("mark", "*", f"'*' after {number[:20]}")
        if self.take("mark", "("):
            layers = self.stack(depth + 1)
            self.need("mark", ")", "')'")
        else:
            layers = [self.layer()]
        expect(count >= 1 and count * len(layers) <= _LAYERS, f"at least one and at most {_LAYERS} layers")
        return layers * count

    def layer(self) -> tuple[Call, ...]:
        calls = [self.call()]
        while self.take("mark", "|"):
            calls.append(self.call())
        expect(len(calls) <= _SIDE_BY_SIDE, f"at most {_SIDE_BY_SIDE} mixers side by side")
        return tuple(calls)

    def call(self) -> Call:
        name = self.need("word", None, "a name")
        arguments: dict[str, Value] = {}
        if self.take("mark", "(") and not self.take("mark", ")"):
            while True:
                key = self.need("word", None, f"a key of {name}")
                self.need("mark", "=", f"'=' after {key}")
                expect(key not in arguments, f"{name}: {key} is given twice")
                expect(not re.search(r"(?<!\d)0\d*$", key), f"{name}: {key} is not a key")  # n01 is not n1
                arguments[key] = self.value(key)
                if self.take("mark", ")"):
                    break
                self.need("mark", ",", "',' or ')'")
        return Call(name, arguments)

    def value(self, key: str) -> Value:
        number = self.take("int")
        if number is not None:
            return _integer(number)
        word = self.need("word", None, f"a value of {key}")
        return {"true": True, "false": False}.get(word, word)


def _integer(text: str) -> int:
    base, _, power = text.partition("^")
    short = len(base) <= 4096 and len(power) <= 5 and int(base).bit_length() * int(power or 1) <= 2 * BITS
    expect(short, f"the number {text[:20]} is too large")
    value: int = int(base) ** int(power or 1)
    expect(value.bit_length() <= BITS, f"the number {text[:20]} is too large")
    return value
