"""The two programs of `turing` as machines, with the steps that they take."""

from __future__ import annotations

from collections.abc import Callable

from limen.core.turing_machine import BLANK, ONE, ZERO, Move, Step, TuringMachine


def _over_digits(state: str, move: Move) -> dict[tuple[str, int], Step]:
    """In this state the head runs over the digits and changes nothing."""
    return {(state, digit): (state, digit, move) for digit in (ZERO, ONE)}


# The carry eats the last ones; then back to the first digit.
INCREMENT = TuringMachine(
    ("start", "carry", "back", "halt"),
    {
        ("start", BLANK): ("carry", BLANK, Move.LEFT),
        ("carry", ONE): ("carry", ZERO, Move.LEFT),
        ("carry", ZERO): ("back", ONE, Move.LEFT),
        ("carry", BLANK): ("halt", BLANK, Move.RIGHT),
        ("back", BLANK): ("halt", BLANK, Move.RIGHT),
    }
    | _over_digits("back", Move.LEFT),
)

# Erase the last digit, then the first if it is the same, until nothing is left: m digits take
# R(m) = 2m+1 + R(m-2) = (m+1)(m+2)/2 steps, with R(0) = 1 and R(1) = 3.
PALINDROME = TuringMachine(
    ("right", "last", "left0", "left1", "first0", "first1", "halt"),
    {
        ("right", BLANK): ("last", BLANK, Move.LEFT),
        ("last", ZERO): ("left0", BLANK, Move.LEFT),
        ("last", ONE): ("left1", BLANK, Move.LEFT),
        ("last", BLANK): ("halt", ONE, Move.STAY),
        ("left0", BLANK): ("first0", BLANK, Move.RIGHT),
        ("left1", BLANK): ("first1", BLANK, Move.RIGHT),
        ("first0", ZERO): ("right", BLANK, Move.RIGHT),
        ("first1", ONE): ("right", BLANK, Move.RIGHT),
        ("first0", ONE): ("halt", ZERO, Move.STAY),
        ("first1", ZERO): ("halt", ZERO, Move.STAY),
        ("first0", BLANK): ("halt", ONE, Move.STAY),
        ("first1", BLANK): ("halt", ONE, Move.STAY),
    }
    | _over_digits("right", Move.RIGHT)
    | _over_digits("left0", Move.LEFT)
    | _over_digits("left1", Move.LEFT),
)

MACHINES = {"increment": INCREMENT, "palindrome": PALINDROME}
TIMES: dict[str, Callable[[int], int]] = {  # on words of n digits, at most
    "increment": lambda n: n + 2,
    "palindrome": lambda n: 1 + (n + 1) * (n + 2) // 2,
}
