"""Part of the specs: tasks as machines that read token after token, and why each machine is its task."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

Values = tuple[int, ...]


@dataclass(frozen=True)
class Cell:
    """A part of a machine's state: an integer below `size`."""

    name: Hashable
    size: int


@dataclass(frozen=True)
class Machine:
    """The state is a tuple of cells; a token acts by its `numbers[class]`, and on every cell.

    With a = action(class, numbers), cell i becomes turn(i, values of reads(i), a); all cells turn at once.
    `cells` says by which expression a cell is known.
    """

    cells: Mapping[str, Any]
    start: Mapping[str, int]
    numbers: Mapping[str, tuple[Any, ...]]
    action: Callable[[str, tuple[Any, ...]], Hashable]
    reads: Callable[[str], tuple[str, ...]]
    turn: Callable[[str, Values, Any], int]


def found(known_as: Any, where: str, numbers: tuple[Any, ...], rows: frozenset[Any]) -> Machine:
    """Has there been a token of this class with such numbers?"""
    return Machine(
        cells={"found": known_as},
        start={"found": 0},
        numbers={where: numbers},
        action=lambda c, at: c == where and at in rows,
        reads=lambda cell: ("found",),
        turn=lambda cell, old, hit: int(old[0] or hit),
    )


def dyck(k: int, D: int, token: Any) -> tuple[Machine, Cell, Cell]:
    """A stack of D slots, the newest bracket first: 0 is free, 1 … k is a kind.  Tokens below k open."""
    slots = [f"s{i}" for i in range(D)]
    cells = {"lost": Cell("lost", 2)} | {slot: Cell(slot, k + 1) for slot in slots}

    def reads(cell: str) -> tuple[str, ...]:
        if cell == "lost":
            return "lost", slots[0], slots[-1]
        i = int(cell[1:])
        return tuple(slots[max(i - 1, 0) : i + 2])

    def turn(cell: str, old: Values, read: int) -> int:
        opens, kind = read < k, read % k + 1
        if cell == "lost":
            return int(old[0] or (old[2] > 0 if opens else old[1] != kind))
        if opens:
            return kind if cell == slots[0] else old[0]
        return 0 if cell == slots[-1] else old[-1]

    machine = Machine(cells, dict.fromkeys(cells, 0), {"text": (token,)}, lambda c, at: at[0], reads, turn)
    return machine, cells["lost"], cells[slots[0]]


def head_of(size: int, token: Any) -> Machine:
    """The head's cell, modulo `size`, and the cell where it was: the one that the token wrote.

    A token moves the head by its bits 2 and 3: right, left, or not at all; the first one moves it right.
    """
    return Machine(
        cells={"head": Cell("head", size), "wrote": Cell("wrote", size)},
        start={"head": 0, "wrote": 0},
        numbers={"later": (token,)},
        action=lambda c, at: (1, -1, 0, 0)[at[0] >> 2 & 3] if at else 1,
        reads=lambda cell: ("head",),
        turn=lambda cell, old, move: (old[0] + move) % size if cell == "head" else old[0],
    )


RIGHT, LEFT, STAY = range(3)
BLANK = 2

# (state, symbol) -> state, symbol written, move.  What is not said halts: the last state, nothing changes.
_INCREMENT = {
    (0, 2): (1, 2, LEFT),
    (1, 1): (1, 0, LEFT), (1, 0): (2, 1, LEFT), (1, 2): (3, 2, RIGHT),
    (2, 0): (2, 0, LEFT), (2, 1): (2, 1, LEFT), (2, 2): (3, 2, RIGHT),
}  # fmt: skip
_PALINDROME = {
    (0, 0): (0, 0, RIGHT), (0, 1): (0, 1, RIGHT), (0, 2): (1, 2, LEFT),
    (1, 0): (2, 2, LEFT), (1, 1): (3, 2, LEFT), (1, 2): (6, 1, STAY),
    (2, 0): (2, 0, LEFT), (2, 1): (2, 1, LEFT), (2, 2): (4, 2, RIGHT),
    (3, 0): (3, 0, LEFT), (3, 1): (3, 1, LEFT), (3, 2): (5, 2, RIGHT),
    (4, 0): (0, 2, RIGHT), (4, 1): (6, 0, STAY), (4, 2): (6, 1, STAY),
    (5, 1): (0, 2, RIGHT), (5, 0): (6, 0, STAY), (5, 2): (6, 1, STAY),
}  # fmt: skip


@dataclass(frozen=True)
class Turing:
    """A table; it starts in state 0, on the blank behind a word of n digits."""

    table: Mapping[tuple[int, int], tuple[int, int, int]]
    halt: int

    def step(self, state: int, symbol: int) -> tuple[int, int, int]:
        return self.table.get((state, symbol), (self.halt, symbol, STAY))


def time(program: str, n: int) -> int:
    return n + 2 if program == "increment" else 1 + (n + 1) * (n + 2) // 2


PROGRAMS = {"increment": Turing(_INCREMENT, 3), "palindrome": Turing(_PALINDROME, 6)}
