"""What the embedding writes into the parts of the residual stream, token by token.

A field is the code of a token's id or of its place: in binary, as signs, as a row of a table.  Nothing is
computed with numpy before the tables are filled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, NamedTuple

from limen.constructions._weights import DIGITS, digits
from limen.core.arrays import np
from limen.core.weights import Array
from limen.model.embedding import Code

Of = Literal["token", "place"]


class RowTable(NamedTuple):
    """A table of the embedding; those of one group stand together, sorted by their rank."""

    name: str
    rows: int
    columns: int
    fill: Callable[[], Array | float]
    group: str
    rank: int = 0


@dataclass(frozen=True)
class Field:
    """What the embedding writes into a part: codes, whose columns are counted from the part's first one."""

    size: int
    codes: tuple[Code, ...] = ()
    tables: tuple[RowTable, ...] = ()

    def at(self, column: int) -> tuple[Code, ...]:
        """The codes of a part that begins at this column."""
        return tuple(replace(code, column=code.column + column) for code in self.codes)

    def __add__(self, other: Field) -> Field:
        """Both side by side in one part."""
        codes = self.codes + other.at(self.size)
        return Field(self.size + other.size, codes, self.tables + other.tables)


def table(
    name: str, rows: int, columns: int, fill: Callable[[], Array | float], of: Of = "token", div: int = 1
) -> Field:
    """Row (value // div) modulo `rows` of a table."""
    return Field(columns, (Code(of, div, name, 0),), (RowTable(name, rows, columns, fill, name),))


ONE = table("one", 1, 1, lambda: 1.0, "place")  # marks all tokens of a stretch


def one_hot(name: str, size: int, of: Of = "token", div: int = 1) -> Field:
    """(value // div) modulo `size` as a direction of its own."""
    return table(name, size, size, lambda: np.eye(size), of, div)


PARITY = one_hot("parity", 2, "place")


def apart(field: Field, *sizes: int) -> list[Field]:
    """One field as several parts that stand behind one another, of these sizes."""
    return [replace(field, size=sizes[0]), *map(Field, sizes[1:])]


def bits(of: Of, size: int, div: int = 1) -> Field:
    """(value // div) modulo 2^size in binary, least digit first."""
    return _binary(of, size, div, "bits", digits)


def nots(of: Of, size: int, div: int = 1) -> Field:
    """The complements of these digits."""
    return _binary(of, size, div, "nots", lambda count: 1 - digits(count))


def signs(of: Of, size: int, div: int = 1) -> Field:
    """The same digits as signs, 0 as -1."""
    return _binary(of, size, div, "signs", lambda count: 2 * digits(count) - 1)


def word(of: Of, size: int, div: int = 1) -> Field:
    """T(a) = (a, 1-a), a in binary (_words.py)."""
    return bits(of, size, div) + nots(of, size, div)


def _binary(of: Of, size: int, div: int, name: str, fill: Callable[[int], Array]) -> Field:
    """A code for each byte; tables of 1 … 8 digits are shared by all fields of this name."""
    counts = {low: min(DIGITS, size - low) for low in range(0, size, DIGITS)}
    codes = tuple(Code(of, div << low, f"{name}{count}", low) for low, count in counts.items())
    tables = (
        RowTable(f"{name}{count}", 1 << count, count, partial(fill, count), name, count)
        for count in counts.values()
    )
    return Field(size, codes, tuple(tables))


@dataclass(frozen=True)
class Stretch:
    """So many tokens in a row, all written alike."""

    count: int
    fields: dict[str, Field]


def tokens(count: int, **fields: Field) -> Stretch:
    """So many tokens, with what is written into each part."""
    return Stretch(count, fields)
