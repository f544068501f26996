r"""Looking up in block-sparse attention: a block is found by the place of its first token.

    K_i = T(i), the place in k signs;   message of a block: the key of its first token;   Q = C·T(x)

Why it works.  B is a power of two, so all places of a block share their high signs, and those of its first
token are the low ones -1: the messages differ in the high signs alone, and the low signs of x add the same
to all of them.  The block of x scores 2C more than any other, so it is among those that are opened.  Inside
the opened blocks and the own one it is a lookup among (k + 1)B tokens (_lookup.py): the right token scores
2C more than any other, and C grows with log n as there.  λ = σ(-1024) = 0 in every format: it shuts the
messages' own values out.

Scores are C, a power of two, times whole numbers up to k: exact in every format with k ≤ 2^t, so no tie is
broken by rounding.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._addresses import BinaryWords
from limen.constructions._features import sizes_of
from limen.constructions._fields import bits, tokens
from limen.constructions._lookup import blur, contrast, digits_margin, roundoff, stray
from limen.constructions._margins import certified, holds
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._weights import bits_for
from limen.core.architecture import Architecture
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.eva import Eva
from limen.tasks.index import Index

SHUT = -1024  # σ of it is 0 in every format: e^1024 overflows


@dataclass(frozen=True)
class BlockLookup(Programmed):
    """One layer, one head; blocks of B tokens, k of them opened."""

    task: Eva | Index
    _: KW_ONLY
    B: int = 2
    k: int = 1

    def __post_init__(self) -> None:
        if self.B < 1 or self.B & (self.B - 1) or self.k < 1:
            raise BadInput(
                f"the high bits of a position name its block: B must be a power of two, got {self.B}"
            )

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> BlockLookup:
        return cls(task=task, **sizes_of(BlockSparse, architecture, "B", "k"))  # type: ignore[arg-type]

    @property
    def words(self) -> BinaryWords:
        return BinaryWords.of(self.task.n)

    @property
    def program(self) -> Program:
        """The asking token opens the block of the place asked for, and looks at the token there."""
        n, words, b = self.task.n, self.words, bits_for(self.task.answers)
        match = [Match({"query": contrast(n)}, {"key": 1})]
        head = Attend([("query", "opened", "data")], match, {"answer": {"value": 1}})
        return Program(
            text=[
                tokens(n, key=words.field("place"), value=bits("token", b)),
                tokens(1, query=words.field("token")),
            ],
            layers=[
                Tier([head], f"block_sparse(h=1,d={b},B={self.B},k={self.k},d_k={words.k})", write=_messages)
            ],
            readout="answer",
        )

    def margin(self, precision: Precision) -> float | None:
        k, n, c = self.words.k, min(self.task.length, (self.k + 1) * self.B), contrast(self.task.n)
        r = roundoff(precision, c * k)
        if r is None or not holds(precision, k, 1):
            return None
        off = stray(n - 1, 2 * c, ball(0)) + stray(1, c * k, ball(0))
        return certified(digits_margin(blur(off, n, r), bits_for(self.task.answers), r))


def _messages(w: Weights, at: Columns) -> None:
    """The message of a block is the key of its first token, and nobody reads its value."""
    w["PK"][:, 0] = 1
    w["g"][:] = SHUT
