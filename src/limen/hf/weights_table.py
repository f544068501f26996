"""Reads weights.txt, which says in its first lines how it is written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files


class TensorKind(StrEnum):
    """What a tensor is: by this an engine decides how many bits a number of it has."""

    EMBEDDING = "embedding"
    HEAD = "head"
    LINEAR = "linear"
    EXPERTS = "experts"
    ROUTER = "router"
    CONV = "conv"
    NORM = "norm"
    BIAS = "bias"
    RAW = "raw"
    BUFFER = "buffer"  # in checkpoints, but no parameter


_BY_SIZES = (TensorKind.NORM, TensorKind.LINEAR, TensorKind.EXPERTS)  # of one, two and three sizes


@dataclass(frozen=True)
class TableLine:
    """One line of an entry: a tensor by its sizes, or a part or further lines that stand at a path."""

    path: str
    where: str  # a condition, or nothing
    each: str = ""  # what j runs through
    sizes: tuple[str, ...] = ()
    kind: TensorKind = TensorKind.LINEAR
    bias: str = ""
    part: str = ""
    letters: Mapping[str, str] = field(default_factory=dict)
    below: tuple[TableLine, ...] = ()
    wide: bool = False  # in float32, whatever the model's precision


@dataclass(frozen=True)
class Entry:
    """What the table says of a type or of a part."""

    letters: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[TableLine, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # a condition, and why such weights are not counted
    dropped: tuple[str, ...] = ()

    @cached_property
    def of_layer(self) -> tuple[TableLine, ...]:
        return tuple(line for line in self.lines if line.path.startswith("."))

    @cached_property
    def of_model(self) -> tuple[TableLine, ...]:
        return tuple(line for line in self.lines if not line.path.startswith("."))

    def over(self, older: Entry) -> Entry:
        """The older entry, but for what this one says otherwise."""
        changed = {*self.dropped, *(line.path for line in self.lines)}
        return replace(
            self,
            letters={**older.letters, **self.letters},
            lines=(*(line for line in older.lines if line.path not in changed), *self.lines),
            refused=(*older.refused, *self.refused),
        )


def types() -> frozenset[str]:
    """The model types in the table."""
    return frozenset(name for name in headers() if not name.startswith("part "))


def words() -> frozenset[str]:
    """Every word in the table; the fields that the weights depend on are among them."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", _text()))


@cache
def entry_of(name: str) -> Entry:
    """The entry of a type, with all that it takes over from others."""
    older, body = headers()[name]
    return parsed(body).over(entry_of(older) if older else Entry())


def part_of(name: str) -> Entry:
    return entry_of(f"part {name}")


@cache
def headers() -> dict[str, tuple[str, tuple[str, ...]]]:
    """By name the entry that a type or "part …" is like, and its own lines."""
    entries: dict[str, tuple[str, tuple[str, ...]]] = {}
    lines = (line for text in _text().splitlines() if (line := text.partition("#")[0].rstrip()))
    for first, body in _groups(lines):
        names, _, older = (half.strip() for half in first.partition(":"))
        part = "part " if names.startswith("part ") else ""
        like = f"{part}{older}" if older else ""
        entries |= dict.fromkeys([names] if part else names.split(), (like, body))
    return entries


@cache
def _text() -> str:
    return files("limen.hf").joinpath("weights.txt").read_text("utf-8")


def _groups(lines: Iterable[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each line with those below it that are further in."""
    first, body, depth = "", list[str](), 0
    for line in lines:
        indent = len(line) - len(line.lstrip())
        if first and indent > depth:
            body.append(line)
            continue
        if first:
            yield first, tuple(body)
        first, body, depth = line.strip(), [], indent
    if first:
        yield first, tuple(body)


def parsed(body: Iterable[str]) -> Entry:
    """The lines of one entry alone."""
    letters: dict[str, str] = {}
    lines: list[TableLine] = []
    refused, dropped = list[tuple[str, str]](), list[str]()
    for first, below in _groups(body):
        if re.match(r"\w+ = ", first):
            letters |= dict(letter.split(" = ", 1) for letter in first.split("; "))
        elif first.startswith("! "):
            condition, _, reason = first[2:].partition(": ")
            refused.append((condition, reason))
        elif first.startswith("- "):
            dropped += first[2:].split(", ")
        else:
            lines += _lines(first, below)
    return Entry(letters, tuple(lines), tuple(refused), tuple(dropped))


def _lines(text: str, below: tuple[str, ...]) -> Iterator[TableLine]:
    text, _, each = text.partition(" for j in ")
    text, _, where = text.partition(" if ")
    path, *rest = text.split()
    if below:
        yield TableLine(path[:-1], where.strip(), below=parsed(below).lines)
    elif path.endswith(":"):
        letters = dict(word.split("=", 1) for word in rest[1:])
        yield TableLine(path[:-1], where.strip(), part=rest[0], letters=letters)
    else:
        kinds = [TensorKind(word) for word in rest if word in {*TensorKind}]
        bias = "".join(word[1:] for word in rest if word.startswith("+"))
        wide = "float32" in rest
        sizes = tuple(w for w in rest if w not in kinds and not w.startswith("+") and w != "float32")
        kind = kinds[0] if kinds else _BY_SIZES[len(sizes) - 1]
        for one in path.split(","):
            yield TableLine(one, where.strip(), each.strip(), sizes, kind, bias, wide=wide)
