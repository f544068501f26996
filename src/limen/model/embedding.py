"""Tokens become vectors: a function of the token and its position, as data."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from limen.core.tensors import jt, torch
from limen.core.text import build, parse_call, spell
from limen.core.weights import Shapes, random_weights
from limen.errors import BadInput, at_least, unknown

Value = TypeVar("Value", "torch.Tensor", int)
_LONGEST = 2**1024  # positions; a run, whose places are int64, is stopped long before by its memory


@dataclass(frozen=True)
class Embedding(ABC):
    """A function of the token and its position."""

    @property
    @abstractmethod
    def positions(self) -> int | None:
        """The number of positions; None: unlimited."""

    @abstractmethod
    def shapes(self, width: int) -> Shapes: ...

    @abstractmethod
    def embed(
        self, w: Mapping[str, torch.Tensor], tokens: jt.Int[torch.Tensor, "*batch n"], start: int
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        """Vectors of the tokens at positions start, start+1, …"""

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        return random_weights(self.shapes(width), generator, dtype)


@dataclass(frozen=True)
class Table(Embedding):
    """x = E[token] + P[position]; without positions when length is 0."""

    vocab: int
    length: int = 0

    def __post_init__(self) -> None:
        at_least(self, vocab=1, length=0)

    @property
    def positions(self) -> int | None:
        return self.length or None

    def shapes(self, width: int) -> Shapes:
        positions: Shapes = {"P": (self.length, width)} if self.length else {}
        return {"E": (self.vocab, width)} | positions

    def embed(
        self, w: Mapping[str, torch.Tensor], tokens: jt.Int[torch.Tensor, "*batch n"], start: int
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        try:
            x = torch.nn.functional.embedding(tokens, w["E"])
        except IndexError as error:
            raise BadInput(
                f"the tokens go from {int(tokens.min())} to {int(tokens.max())}, "
                f"but this model knows 0..{self.vocab - 1}"
            ) from error
        if not self.length:
            return x
        end = start + tokens.shape[-1]
        if end > self.length:
            raise BadInput(f"{end} tokens are given, but this model has positions for {self.length}")
        return x + w["P"][start:end]

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """N(0, 1/width), whatever the number of rows, so that vectors have length about 1."""
        return {
            name: torch.randn(shape, generator=generator, dtype=dtype) * width**-0.5
            for name, shape in self.shapes(width).items()
        }

    def __str__(self) -> str:
        return spell(self, name="table")


@dataclass(frozen=True)
class Code:
    """Adds row (value // div) % rows of a table to the columns from `column` on.

    The value is the token's id, or the token's place in its segment.  Both at once, for ids below V:
    "place*V+token" adds row (place // div·V + token) % rows.
    """

    of: str
    div: int
    table: str
    column: int

    @property
    def ids(self) -> int:
        """V where both say which row; 0 elsewhere."""
        both = re.fullmatch(r"place\*([1-9][0-9]{0,18})\+token", self.of)
        return int(both[1]) if both else 0

    def row(self, token: Value, place: Value, rows: int) -> Value:
        """The row of its table, which has so many, that it adds for a token."""
        if self.ids:
            return (place // self.div * self.ids + token) % rows
        return _row(token if self.of == "token" else place, self.div, rows)


@dataclass(frozen=True)
class Segment:
    """Tokens in a row that are written the same way."""

    count: int
    codes: tuple[Code, ...]


@dataclass(frozen=True)
class Codes(Embedding):
    """A layout of the input written down: segment after segment, each token as the sum of its codes.

    Digits of ids and places go through small tables (bits, one-hot, angles, random signs), so the
    embedding of a million ids is a few rows of weights.
    """

    width: int
    tables: tuple[tuple[str, int, int], ...]  # name, rows, columns
    segments: tuple[Segment, ...]

    def __post_init__(self) -> None:
        at_least(self, width=1)
        sizes = {name: (rows, columns) for name, rows, columns in self.tables}
        if not sizes or len(sizes) < len(self.tables):
            raise BadInput(f"an embedding has tables of different names, got {[t[0] for t in self.tables]}")
        if any(size < 1 for table in self.tables for size in table[1:]):
            raise BadInput(f"the tables of an embedding have rows and columns, got {self.tables}")
        if any(segment.count < 0 for segment in self.segments) or self.length > _LONGEST:
            raise BadInput(f"the segments of an embedding have 0..{_LONGEST} tokens in all")
        for code in (code for segment in self.segments for code in segment.codes):
            if code.table not in sizes:
                raise unknown("table", code.table, sizes)
            if code.of not in ("token", "place") and not code.ids:
                raise unknown("value of a code", code.of, ["token", "place", "place*4+token"])
            if not 1 <= code.div < _LONGEST or not 0 <= code.column <= self.width - sizes[code.table][1]:
                raise BadInput(f"{code} does not fit into {self.width} columns")

    @property
    def length(self) -> int:
        """The number of positions that the segments cover."""
        return sum(segment.count for segment in self.segments)

    @property
    def positions(self) -> int:
        return self.length

    def shapes(self, width: int) -> Shapes:
        return {name: (rows, columns) for name, rows, columns in self.tables}

    def embed(
        self, w: Mapping[str, torch.Tensor], tokens: jt.Int[torch.Tensor, "*batch n"], start: int
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        x = w[self.tables[0][0]].new_zeros((*tokens.shape, self.width))
        one = tokens.shape[-1] == 1
        for code, here, row in self._written_once(tokens, start) if one else self.written(tokens, start):
            table = w[code.table]  # (rows, columns)
            x[..., here, code.column : code.column + table.shape[1]].add_(table[row])
        return x

    def _written_once(
        self, token: jt.Int[torch.Tensor, "*batch 1"], at: int
    ) -> Iterator[tuple[Code, slice, torch.Tensor | int]]:
        """`written` for one token, whose place is a number: decoding would spend its time on tiny tensors."""
        self._lays_out(at + 1)
        sizes = {name: rows for name, rows, _ in self.tables}
        for segment in self.segments:
            if at < segment.count:
                for code in segment.codes:
                    row: torch.Tensor | int = _row(at, code.div, sizes[code.table])
                    if code.of != "place":
                        row = code.row(token, token.new_tensor(at), sizes[code.table])
                    yield code, slice(None), row
                return
            at -= segment.count

    def written(
        self, tokens: jt.Int[torch.Tensor, "*batch n"], start: int, read: torch.Tensor | None = None
    ) -> Iterator[tuple[Code, slice, torch.Tensor]]:
        """Each code, which of the tokens it writes, and the row of its table for each: (*batch, m) or (m,).

        Codes that write no column of those that are `read` are left out.
        """
        n, first = tokens.shape[-1], 0
        self._lays_out(start + n)
        sizes = {name: (rows, columns) for name, rows, columns in self.tables}
        for segment in self.segments:
            low, high = max(first, start), min(first + segment.count, start + n)
            here = slice(low - start, high - start)
            places = torch.arange(low - first, max(low, high) - first, device=tokens.device)
            for code in segment.codes if low < high else ():
                rows, columns = sizes[code.table]
                if read is not None and not read[code.column : code.column + columns].any():
                    continue
                yield code, here, code.row(tokens[..., here], places, rows)
            first += segment.count

    def _lays_out(self, end: int) -> None:
        if end > self.length:
            raise BadInput(f"{end} tokens are given, but this model has positions for {self.length}")


def _row(value: Value, div: int, rows: int) -> Value:
    """value // div % rows; a shift and a mask, where they do, take a third of the time."""
    if div.bit_count() == rows.bit_count() == 1:
        return value >> div.bit_length() - 1 & rows - 1
    return value // div % rows


def parse_embedding(text: str) -> Embedding:
    """Reads a `table(…)`; codes are kept as JSON."""
    call = parse_call(text)
    if call.name != "table":
        raise unknown("embedding", call.name, ["table"])
    return build(Table, call)
