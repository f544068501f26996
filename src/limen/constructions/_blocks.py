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
from typing import Any

from flint import arb

from limen.constructions._addresses import BinaryWords
from limen.constructions._features import found
from limen.constructions._lookup import blur, contrast, digits_margin, roundoff, stray
from limen.constructions._margins import certified, holds, in_balls
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.mixers.block_sparse import BlockSparse
from limen.model.embedding import Codes, Segment
from limen.model.model import Frame
from limen.model.readout import Binary
from limen.tasks.eva import Eva
from limen.tasks.index import Index

SHUT = -1024  # σ of it is 0 in every format: e^1024 overflows


@dataclass(frozen=True)
class BlockLookup(Construction):
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
        mixer = found(architecture, BlockSparse)
        sizes = {"B": mixer.B, "k": mixer.k} if isinstance(mixer, BlockSparse) else {}
        return cls(task=task, **sizes)  # type: ignore[arg-type]

    @property
    def words(self) -> BinaryWords:
        return BinaryWords.of(self.task.n)

    @property
    def columns(self) -> Columns:
        k, b = self.words.k, bits_for(self.task.answers)
        return Columns.of(key=k, value=b, query=k, answer=b)

    def frame(self) -> Frame:
        at, words, b = self.columns, self.words, bits_for(self.task.answers)
        datum = (*words.codes("place", 1, at["key"].start), *binary("token", 1, b, at["value"].start))
        query = words.codes("token", 1, at["query"].start)
        return Frame(
            Architecture.parse(f"block_sparse(h=1,d={b},B={self.B},k={self.k},d_k={words.k})"),
            at.width,
            self.task.answers,
            Codes(
                at.width, words.tables + binary_tables(b), (Segment(self.task.n, datum), Segment(1, query))
            ),
            readout=Binary(at["answer"].start, b),
        )

    def weights(self) -> Weights:
        frame, at, k, b = self.frame(), self.columns, self.words.k, bits_for(self.task.answers)
        w = zeros(frame)
        fill_tables(w, frame)
        self.words.fill(w)
        identity(w["0.0.K"], at["key"], slice(0, k))
        identity(w["0.0.Q"], at["query"], slice(0, k), contrast(self.task.n))
        identity(w["0.0.V"], at["value"], slice(0, b))
        identity(w["0.0.O"], slice(0, b), at["answer"])
        w["0.0.PK"][:, 0] = 1
        w["0.0.g"][:] = SHUT
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        k, n, c = self.words.k, min(self.task.length, (self.k + 1) * self.B), contrast(self.task.n)
        r = roundoff(precision, c * k)
        if r is None or not holds(precision, k, 1):
            return None
        off = stray(n - 1, 2 * c, arb(0)) + stray(1, c * k, arb(0))
        return certified(digits_margin(blur(off, n, r), bits_for(self.task.answers), r))

    def hints(self) -> dict[str, Any]:
        """The asking token opens the block of the place asked for, and looks at the token there."""
        return {"looks": [[0, 0, 0, "query", "opened", "data"]]}
