"""Turing machines as data: one tape without ends, symbols 0, 1 and ⊔, a table; also from a file.

# what is behind a # is not read; the first state is where it starts, what no line begins with halts
start _ -> carry _ left
carry 1 -> carry 0 left
carry 0 -> halt 1 stay
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from limen.errors import BadInput, shortened

ZERO, ONE, BLANK = range(3)
SYMBOLS = (ZERO, ONE, BLANK)
_WRITTEN = {"0": ZERO, "1": ONE, "_": BLANK}
_STATES = 4096


class Move(IntEnum):
    """Where the head goes after it has written."""

    RIGHT = 0
    LEFT = 1
    STAY = 2


_MOVES = {"right": Move.RIGHT, "left": Move.LEFT, "stay": Move.STAY}
Step = tuple[str, int, Move]  # the next state, the symbol written, the move


class Halted(NamedTuple):
    """The end of a run: the symbol under the head, the steps, and the cells from first to last used."""

    symbol: int
    time: int
    space: int


@dataclass(frozen=True)
class TuringMachine:
    """Starts in the first state on the blank after a word, and halts in the last state."""

    states: tuple[str, ...]
    table: Mapping[tuple[str, int], Step]

    def step(self, state: str, symbol: int) -> Step:
        """The table's entry; a missing one halts, with symbol and head as they are."""
        return self.table.get((state, symbol), (self.states[-1], symbol, Move.STAY))

    def run(self, word: tuple[int, ...], most: int) -> Halted | None:
        """The run on a word; None if it has not halted after so many steps."""
        tape, head, state = dict(enumerate(word)), len(word), self.states[0]
        seen = {-1, 0, head}  # the blank before the word is a cell of its own
        for time in range(most + 1):
            if state == self.states[-1]:
                return Halted(tape.get(head, BLANK), time, max(seen) - min(seen) + 1)
            state, tape[head], move = self.step(state, tape.get(head, BLANK))
            head += {Move.RIGHT: 1, Move.LEFT: -1, Move.STAY: 0}[move]
            seen.add(head)
        return None

    @classmethod
    def parse(cls, text: str, where: str) -> TuringMachine:
        """The Turing machine of a text with one line for each state and symbol."""
        table: dict[tuple[str, int], Step] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if words := line.partition("#")[0].split():
                at, step = _line(words, f"{where}, line {number}")
                if at in table:
                    raise BadInput(f"{where}, line {number}: a second line for state {at[0]} on this symbol")
                table[at] = step
        if not table:
            raise BadInput(f"{where}: expected at least one line such as: start _ -> carry _ left")
        active = dict.fromkeys(state for state, _ in table)
        halting = dict.fromkeys(step[0] for step in table.values() if step[0] not in active)
        if len(halting) > 1:
            raise BadInput(f"{where}: expected one halting state, got {', '.join(halting)}")
        if len(active) >= _STATES:
            raise BadInput(f"{where}: expected at most {_STATES - 1} states, got {len(active)}")
        return cls((*active, *(halting or {"(halt)": None})), table)


def _line(words: list[str], where: str) -> tuple[tuple[str, int], Step]:
    expected = "expected: state symbol -> state symbol move, as in: start _ -> carry _ left"
    if len(words) != 6 or words[2] != "->":
        raise BadInput(f"{where}: {expected}, got {shortened(' '.join(words))}")
    state, symbol, _, after, written, move = words
    for given in (symbol, written):
        if given not in _WRITTEN:
            raise BadInput(f"{where}: a symbol must be 0, 1 or _, got {shortened(given)}")
    if move not in _MOVES:
        raise BadInput(f"{where}: a move must be right, left or stay, got {shortened(move)}")
    return (state, _WRITTEN[symbol]), (after, _WRITTEN[written], _MOVES[move])
