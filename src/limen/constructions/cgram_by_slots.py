r"""Cgram in a short text by linear attention with a slot for each position, then one softmax head.

    layers o = 1 … c-1   φ(k) = e_j at position j,  φ(q) = e_{j-o}:  fetches u_o, the symbol o before
    last layer   K_j = (T(u_1) … T(u_{c-1}), text_j),   Q = C·(T(x), T(u_1) … T(u_{c-2}), W+2):   reads x_j

Why it works.  Linear attention cannot take away what it has added up, so in a long text it cannot look back;
but with a coordinate for each position nothing has to be taken away (recall_by_slots).  A coordinate is that
of one head, j modulo r in head j div r; φ(64(x - 1)) is exactly 1 where x = 1, and 0 where it is 0.  All
heads show the same, so it does not matter which one it was; the others read nothing.  The last layer is that
of cgram_by_softmax, and so is its margin: what is fetched are digits, exactly.

h·r slots hold the n + c - 1 positions, r the size of the keys; c-1 such layers with values of size b =
⌈log₂V⌉, then one softmax head with keys of size (c-1)b + 1.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial

from limen.constructions._features import SHUT, linear_keys
from limen.constructions._fields import ONE, CodedPart, bits, table, tokens
from limen.constructions._lookup import blur, contrast, digits_margin, noise, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Array, Weights
from limen.errors import BadInput
from limen.tasks.cgram import Cgram

_POSITIONS = 2**12  # for each of which there is a column


@dataclass(frozen=True)
class CgramBySlots(Programmed):
    """`r` coordinates a head."""

    task: Cgram = Cgram()
    small = tuple(
        (Cgram(*sizes), {"r": r})
        for *sizes, r in ((2, 2, 2, 1), (4, 2, 4, 4), (5, 2, 3, 8), (6, 3, 2, 3), (4, 3, 3, 2))
    )
    _: KW_ONLY
    r: int = 4

    def __post_init__(self) -> None:
        if self.task.length > _POSITIONS:
            raise BadInput(
                f"cgram_by_slots: {self.task.length} positions are too many for slots: at most {_POSITIONS}"
            )

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> CgramBySlots:
        return cls(task=task, r=linear_keys(architecture, 4))  # type: ignore[arg-type]

    @property
    def b(self) -> int:
        return bits_for(self.task.V)

    @property
    def heads(self) -> int:
        return -(-self.task.length // self.r)

    @property
    def program(self) -> Program:
        n, c, b, C = self.task.n, self.task.c, self.b, contrast(self.task.length)
        W = (c - 1) * b
        slots = [self._slots(first, count) for first, count in ((0, c - 1), (c - 1, n - c + 1), (n, c - 1))]
        token = {"symbol": bits("token", b), "one": ONE}
        match = [self._agree("symbol", Piece("gram", 0, b))]  # the asking token is the last of the gram
        match += [self._agree(Piece("gram", 0, W - b), Piece("gram", b, W - b))] if c > 2 else []
        find = Attend(
            [("query", "one", "text")],
            [*match, Match({"asks": C * (W + 2)}, {"text": 1})],
            {"answer": {"symbol": 1}},
        )
        return Program(
            text=[
                tokens(c - 1, slot=slots[0], **token),
                tokens(n - c + 1, slot=slots[1], **token, text=ONE, reads=ONE),
                tokens(c - 1, slot=slots[2], **token, asks=ONE, reads=ONE),
            ],
            layers=[*map(self._back, range(1, c)), Tier([find])],
            readout="answer",
        )

    def _agree(self, query: str | Piece, key: Piece) -> Match:
        """⟨T, T'⟩ of digits, T = 2x - 1: C for each that agrees."""
        C = contrast(self.task.length)
        return Match({query: 2 * C, "one": -C}, {key: 2, "one": -1})

    def _slots(self, first: int, count: int) -> CodedPart:
        """The position, one-hot."""
        N = self.task.length
        return table(f"slot{first}", count, N, partial(_rows, first, count, N), "place")

    def _back(self, o: int) -> Tier:
        """Layer o - 1: every token but the first c-1 reads the symbol o positions before it."""
        looks = [(asker, "slots", o) for asker in ("text", "asks", "query")]
        mixer = f"linear(h={self.heads},d={self.b},d_k={self.r})"
        return Tier([Attend(looks)], mixer, partial(self._write, o), {"gram": o * self.b})

    def _write(self, o: int, w: Weights, at: Columns) -> None:
        N, b, slot, one = self.task.length, self.b, at["slot"], at["one"]
        w["K"][slot, :N], w["K"][one] = SHUT * np.eye(N), -SHUT
        # position j asks for j - o: 64([slot] + [reads] - 2) is 0 there, and -64 or less elsewhere
        w["Q"][slot, :N], w["Q"][at["reads"]], w["Q"][one] = SHUT * np.eye(N, k=-o), SHUT, -2 * SHUT
        to = slice(at["gram"].start + (o - 1) * b, at["gram"].start + o * b)
        for h in range(self.heads):
            w["V"][at["symbol"], h * b : (h + 1) * b] = np.eye(b)
            w["O"][h * b : (h + 1) * b, to] = np.eye(b)

    def margin(self, precision: Precision) -> float | None:
        """What is fetched are digits, exactly: products of 0 and 1."""
        n, W, C = self.task.length, (self.task.c - 1) * self.b, contrast(self.task.length)
        r = roundoff(precision, C * (4 * W + 2))
        if r is None:
            return None
        off = stray(n - 1, 2 * C, noise(C, 4 * W + 2, ball(0), r))
        return certified(digits_margin(blur(off, n, r), self.b, r))


def _rows(first: int, count: int, N: int) -> Array:
    return np.eye(N)[first : first + count]
