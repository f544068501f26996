r"""Scores that are minus a distance: key T(a) = (a, 1-a), a in binary; query -c·T̄(b), T̄(b) = (1-b, b).

    ⟨-c·T̄(b), T(a)⟩ = -c·h(a, b),      h the Hamming distance

The right key scores 0 and every other one -c or less.  Rounding is monotone, and 0 and the power of two c
are numbers of every format: so this holds in every precision, and scores need no significant digits at all.
A token whose key is 0 scores 0, too.

A decision is a number x that is near 0 or near 1: the logits are ±(x - 1/2).
"""

from __future__ import annotations

from limen.constructions._margins import Roundoff, lower
from limen.constructions._program import Logits, Match, Piece
from limen.constructions._weights import identity
from limen.core.balls import Ball, ball
from limen.core.weights import Array


def oppose(w: Array, rows: slice, columns: slice, scale: float | int) -> None:
    """Writes T ↦ scale·T̄ into a block of a matrix, in place."""
    bits = (rows.stop - rows.start) // 2
    identity(w, slice(rows.start, rows.start + bits), slice(columns.stop - bits, columns.stop), scale)
    identity(w, slice(rows.stop - bits, rows.stop), slice(columns.start, columns.start + bits), scale)


def distance(key: str, query: str, size: int, cost: float) -> tuple[Match, Match]:
    """-cost·(Hamming distance of two words T of `size` digits) (_words.py)."""
    a, not_a, b, not_b = (Piece(part, first, size) for part in (key, query) for first in (0, size))
    return Match({not_b: -cost}, {a: 1}), Match({b: -cost}, {not_a: 1})


def verdict(part: str, high: int) -> Logits:
    """The answer is `high` if the part is near 1, the other one if it is near 0: logits ±(x - 1/2)."""
    row = (-1.0, 1.0) if high else (1.0, -1.0)
    return Logits({part: row}, [-x / 2 for x in row])


def decided(high: Ball, low: Ball, r: Roundoff) -> Ball:
    """How far apart the logits are when a head gave the column at least `high`, or at most `low`.

    Rounded after the head: its output matrix and, in last.py, its value matrix; then each logit.
    """
    above, below = high * (1 - r.u) ** 2 - ball(1) / 2, ball(1) / 2 - low * (1 + r.u) ** 2
    return 2 * min(above, below, key=lower) * (1 - r.u)
