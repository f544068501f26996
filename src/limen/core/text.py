"""The text form of tasks and architectures.

    eva(n=512)      12*(3*gated_delta(h=16,d=128),softmax(h=16,d=256))      softmax(d=64)|delta(d=64)

    stack := item {"," item}            layers in sequence
    item  := [count "*"] (layer | "(" stack ")")
    layer := call {"|" call}            side by side in one layer
    call  := name ["(" key "=" value {"," key "=" value} ")"]

A name is an id of the catalogue or `file.py:Name` (`own.py`).  One parser reads tasks, architectures and
precisions; `spell` and `spell_stack` print what it parsed.  A value is an integer (also `2^20`, `128k`,
`1M`, `1e6`), true, false, a word, or a call, which is passed on as its text.  A tuple field `n` is written
n1=…, n2=….
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

from limen.core.catalogue import identifier
from limen.core.quantities import WHOLE, whole
from limen.errors import BadInput, unknown
from limen.files.own import NAMED, named

T = TypeVar("T")

_TOKEN = re.compile(
    rf"\s*(?:(?P<word>{NAMED}|[A-Za-z_][A-Za-z0-9_]*)|(?P<int>-?{WHOLE})|(?P<mark>[(),=*|]))",
    re.ASCII,
)
_LONGEST = 4096  # layers in a parsed stack, and characters in a text: nobody means more
_LARGEST_BITS = 4096  # an integer with more bits is a slip of the keyboard
FOLDED = 1024  # layers in a row from which on recurrences are counted, not written out
TIMES = "*"  # under this key, which no text has
_DEEPEST = 32  # repetitions within each other


class Call(NamedTuple):
    """A name with its arguments, not yet looked up."""

    name: str
    arguments: dict[str, int | bool | str]


Stack = list[tuple[Call, ...]]  # one tuple a layer; its calls stand side by side


def parse_call(text: str) -> Call:
    """Reads one `name(key=value, …)`."""
    reader = _Reader(text)
    call = reader.call()
    reader.end()
    return call


def several_calls(text: str) -> list[str]:
    """The texts of several calls with commas between them.

    >>> several_calls("index(n=25,S=32), index(n=50,S=32)")
    ['index(n=25,S=32)', 'index(n=50,S=32)']
    """
    reader, ends = _Reader(text), [0]
    while True:
        reader.call()
        ends.append(reader.at)
        if not reader.take("mark", ","):
            break
    reader.end()
    return [text[a:b].strip(" ,") for a, b in pairwise(ends)]


def parse_stack(text: str) -> Stack:
    """Reads a whole stack and unrolls its repetitions."""
    reader = _Reader(text)
    stack = reader.stack()
    reader.end()
    return stack


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """The reader with its results cached by text; texts that name a file of the user's are read anew."""
    kept = lru_cache(maxsize=1024)(read)
    return lambda text: read(text) if named(text) else kept(text)


class _Reader:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST:
            raise BadInput(f"the text has {len(text)} characters, at most {_LONGEST} are read")
        self.text, self.at, self.depth = text, 0, 0

    def peek(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.at)

    def take(self, group: str, value: str | None = None) -> str | None:
        """Consumes the next token if it is of this group (and value)."""
        token = self.peek()
        if token is None or token[group] is None or value not in (None, token[group]):
            return None
        self.at = token.end()
        return token[group]

    def need(self, group: str, value: str | None, expected: str) -> str:
        taken = self.take(group, value)
        if taken is None:
            rest = self.text[self.at :].lstrip()
            instead = f"{rest[:12]!r}" if rest else "the end"
            column = len(self.text) - len(rest) + 1
            raise BadInput(f"{self.text!r}: expected {expected} at column {column}, found {instead}")
        return taken

    def end(self) -> None:
        if self.text[self.at :].strip():
            self.need("mark", "", "',' or the end")

    def stack(self) -> Stack:
        layers = self.item()
        while self.take("mark", ","):
            layers += self.item()
        return layers

    def item(self) -> Stack:
        count = 1
        if (number := self.take("int")) is not None:
            count = _integer(number, self.text)
            if count < 1:
                raise BadInput(f"{self.text!r}: a repetition must be at least 1, got {count}")
            self.need("mark", "*", f"'*' after {number}")
        if self.take("mark", "("):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise BadInput(f"{self.text[:40]!r}…: more than {_DEEPEST} nested parentheses")
            layers = self.stack()
            self.need("mark", ")", "')' or ','")
            self.depth -= 1
        else:
            layers = [self.layer()]
        return _repeat(layers, count, self.text)

    def layer(self) -> tuple[Call, ...]:
        calls = [self.call()]
        while self.take("mark", "|"):
            calls.append(self.call())
        return tuple(calls)

    def call(self) -> Call:
        name = self.need("word", None, "a name")
        arguments: dict[str, int | bool | str] = {}
        if self.take("mark", "(") and not self.take("mark", ")"):
            while True:
                key = self.need("word", None, f"a key of {name}")
                self.need("mark", "=", f"'=' after {key}")
                if key in arguments:
                    raise BadInput(f"{self.text!r}: {key} is given twice")
                arguments[key] = self.value(key)
                if self.take("mark", ")"):
                    break
                self.need("mark", ",", "',' or ')'")
        return Call(name, arguments)

    def value(self, key: str) -> int | bool | str:
        if (number := self.take("int")) is not None:
            return _integer(number, self.text)
        start, word = self.at, self.need("word", None, f"a value for {key}")
        if self.peek() and self.text[self.at :].lstrip().startswith("("):  # a call within a call, as its text
            self.at, self.depth = start, self.depth + 1
            if self.depth > _DEEPEST:
                raise BadInput(f"{self.text[:40]!r}…: more than {_DEEPEST} nested parentheses")
            self.call()
            self.depth -= 1
            return self.text[start : self.at].strip()
        return {"true": True, "false": False}.get(word, word)


def _repeat(layers: Stack, count: int, where: str) -> Stack:
    """The layers `count` times in a row; a single layer very often: itself, then a count of the others."""
    first, *more = [tuple(Call(call.name, _once(call)) for call in layer) for layer in layers]
    times = count * sum(int(layer[0].arguments.get(TIMES, 1)) for layer in layers)
    if times > FOLDED and more == [first] * len(more):
        return [first, tuple(Call(call.name, call.arguments | {TIMES: times - 1}) for call in first)]
    if count * len(layers) > _LONGEST:
        raise BadInput(f"{where!r}: more than {_LONGEST} layers of several kinds")
    return layers * count


def _once(call: Call) -> dict[str, int | bool | str]:
    """The arguments of a counted layer, without its count."""
    return {key: value for key, value in call.arguments.items() if key != TIMES}


def _integer(text: str, where: str) -> int:
    value = whole(text.removeprefix("-"), _LARGEST_BITS)
    if value is None:
        raise BadInput(f"{where[:80]!r}: the number {text[:20]}… has more than {_LARGEST_BITS} bits")
    return -value if text.startswith("-") else value


def build(cls: type[T], call: Call, **given: Any) -> T:
    """An instance of a dataclass from a call; errors name the key, the value and what was expected.

    Fields in `given` are not read from the text.
    """
    hints = _hints(cls)  # type: ignore[arg-type]
    fields = {f.name: f for f in dataclasses.fields(cls) if f.name not in given}  # type: ignore[arg-type]
    values: dict[str, Any] = {}
    rows: dict[str, dict[int, Any]] = {}  # the items of tuple fields by their number
    for key, value in call.arguments.items():
        stem, digits = re.fullmatch(r"(.*?)([1-9][0-9]*)?", key).groups()  # type: ignore[union-attr]
        if key in fields and not _is_tuple(hints[key]):
            values[key] = _converted(hints[key], value, f"{call.name}: {key}")
        elif digits and stem in fields and _is_tuple(hints[stem]):
            rows.setdefault(stem, {})[int(digits)] = _converted(int, value, f"{call.name}: {key}")
        else:
            known = [f"{n}1" if _is_tuple(hints[n]) else n for n in fields]
            raise unknown(f"key of {call.name}", key, known)
    for stem, items in rows.items():
        if sorted(items) != list(range(1, len(items) + 1)):
            missing = next(i for i in range(1, len(items) + 2) if i not in items)
            raise BadInput(f"{call.name}: {stem}{missing} is missing")
        values[stem] = tuple(items[i] for i in sorted(items))
    return cls(**given, **values)


@cache  # a search over sizes builds the same class again and again
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def _is_tuple(hint: Any) -> bool:
    return get_origin(hint) is tuple


def _converted(hint: Any, value: int | bool | str, where: str) -> Any:
    """The value as the field's type wants it: int, bool, a word, one of some words, or a type by its name."""
    options = [o for o in get_args(hint) if o is not type(None)] if get_origin(hint) is not Literal else []
    kind = options[0] if options else hint
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadInput(f"{where} must be one of {', '.join(map(str, get_args(kind)))}, got {value}")
        return value
    if kind in (int, bool):
        if type(value) is not kind:
            raise BadInput(f"{where} must be {'an integer' if kind is int else 'true or false'}, got {value}")
        return value
    return str(value) if kind is str else kind.named(str(value))


def spell(thing: Any, name: str | None = None, *, every: bool = False, **more: int | None) -> str:
    """The text form of a dataclass: sizes always, keyword-only options where they differ from the default.

    With `every` nothing is left to a default: options always, and a size that follows from others as the
    number it is, by the property `resolved` of what has such sizes.
    """
    words = []
    resolved = getattr(thing, "resolved", {}) if every else {}
    for field in dataclasses.fields(thing):
        value = resolved.get(field.name, getattr(thing, field.name))
        if isinstance(value, tuple):
            words += [f"{field.name}{i}={item}" for i, item in enumerate(value, 1)]
        elif not field.kw_only or (value is not None if every else value != field.default):
            words.append(f"{field.name}={word(value)}")
    words += [f"{key}={value}" for key, value in more.items() if value is not None]
    name = name or identifier(thing)
    return f"{name}({','.join(words)})" if words else name


def word(value: Any) -> str:
    """A value as the text form writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def spell_stack(layers: list[str]) -> str:
    """A sequence of layers with its repetitions written as `count*(…)`; `|` binds tighter than `*`."""
    items, at = [], 0
    while at < len(layers):
        period, count = _repeated(layers[at:])
        body = layers[at : at + period]
        inside = body[0] if period == 1 else spell_stack(body)
        grouped = f"({inside})" if period > 1 or "|" in inside else inside
        items.append(inside if count == 1 else f"{count}*{grouped}")
        at += period * count
    return ",".join(items)


def _repeated(layers: list[str]) -> tuple[int, int]:
    """A period and how often it repeats at the start: the shortest of those that cover most layers."""
    alike = _alike(layers)
    counts = ((p, 1 + alike[p] // p) for p in range(1, len(layers) // 2 + 1))
    repeats = [(p, count) for p, count in counts if count > 1]
    return max(repeats, key=lambda pair: (pair[0] * pair[1], -pair[0]), default=(1, 1))


def _alike(layers: list[str]) -> list[int]:
    """The Z-function of the layers (linear time): at p, how many of the first layers equal those p later."""
    n = len(layers)
    alike, left, right = [0] * n, 0, 0  # layers[left:right] are alike the first ones
    for p in range(1, n):
        k = min(right - p, alike[p - left]) if p < right else 0
        while p + k < n and layers[k] == layers[p + k]:
            k += 1
        alike[p] = k
        if p + k > right:
            left, right = p, p + k
    return alike


def left_out(*pairs: tuple[str, object]) -> tuple[str, ...]:
    """The sizes, `name=value`, that texts leave to their defaults, given what each text was read as."""
    missing: list[str] = []
    for text, meant in pairs:
        given = set(re.findall(r"(\w+)\s*=", text))
        sizes = dict.fromkeys(re.findall(r"\w+=[^,()|*]+", str(meant)))
        missing += [size for size in sizes if size.partition("=")[0] not in given]
    return tuple(missing)
