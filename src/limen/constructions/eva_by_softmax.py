r"""Eva by one softmax layer: the key is the position in binary, the query is x in binary, the value is f in binary.

    K_i = (a_i, 1-a_i),   Q = c(a_x, 1-a_x)   =>   score = c·(D - Hamming distance of i and x)

Why it works.  The right position scores c more than any other, and at most C(D,h) positions are at distance h, so
all of them together weigh (1+e^-c)^D - 1 of the right one: with c = 16 that is below D·1.2e-7, in every length.
Scores are c times an integer ≤ D; c = 16 is a power of two, so they are exact as long as D has at most
t bits: eight bits (bfloat16) reach n = 2^256.  The query's own token has key 0 and scores c·0.

Width 3D + 2V + 2 with D = V = ⌈log₂n⌉ [ye2026].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader
from flint import arb

from limen.constructions._margins import Roundoff, certified, lower, off_mass, retrieved
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.embedding import Code, Codes, Segment
from limen.core.model import Frame
from limen.core.numbers import Precision
from limen.core.readout import Binary
from limen.tasks.eva import Eva

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

C = 16  # the score of one matching bit; e^-16 ≈ 1.1e-7


@dataclass(frozen=True)
class EvaBySoftmax(Construction):
    """One layer, one head, key size 2D, value size D."""

    task: Eva = Eva()

    @property
    def D(self) -> int:
        return bits_for(self.task.n)

    @property
    def columns(self) -> Columns:
        D = self.D
        return Columns.of(position=D, data=1, value=D, x=D, asks=1, answer=D)

    def frame(self) -> Frame:
        D, n, at = self.D, self.task.n, self.columns
        f = Segment(n, (
            *binary("place", 1, D, at["position"].start),
            *binary("token", 1, D, at["value"].start),
            Code("place", 1, "one", at["data"].start),
        ))  # fmt: skip
        x = Segment(1, (*binary("token", 1, D, at["x"].start), Code("place", 1, "one", at["asks"].start)))
        return Frame(
            Architecture.parse(f"softmax(h=1,d={D},d_k={2 * D})"),
            at.width,
            self.task.answers,
            Codes(at.width, (*binary_tables(D), ("one", 1, 1)), (f, x)),
            readout=Binary(at["answer"].start, D),
        )

    def weights(self) -> dict[str, torch.Tensor]:
        frame, at, D = self.frame(), self.columns, self.D
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        bit, complement = slice(0, D), slice(D, 2 * D)
        identity(w["0.0.K"], at["position"], bit)
        identity(w["0.0.K"], at["position"], complement, -1)
        w["0.0.K"][at["data"], complement] = 1  # 1 - a, for the table alone
        identity(w["0.0.Q"], at["x"], bit, C)
        identity(w["0.0.Q"], at["x"], complement, -C)
        w["0.0.Q"][at["asks"], complement] = C
        identity(w["0.0.V"], at["value"], slice(0, D))
        identity(w["0.0.O"], slice(0, D), at["answer"])
        return w

    def margin(self, precision: Precision) -> float | None:
        """Two answers differ in a digit b at least, and are then 2|2x_b - 1| apart, summed over such b."""
        r = Roundoff.of(precision)
        if r is None:
            return None
        D, n = self.D, self.task.n
        # c·k with k ≤ D is exact when D fits in t bits; otherwise it is rounded, by at most u·cD
        exact = arb(D) * r.u <= arb(1) / 2
        noise = arb(0) if exact else r.u * C * D
        read = retrieved(off_mass(n, D, arb(C), noise, idle=1), n + 1, r)
        gap = 2 * min(2 * read.one - 1, 1 - 2 * read.zero, key=lower)
        return certified(gap * (1 - r.u) ** 3 - 2 * D * (r.u * 2 + r.sums(D)))

    @classmethod
    def examples(cls) -> tuple[EvaBySoftmax, ...]:
        return tuple(cls(Eva(n)) for n in (1, 2, 3, 4, 5))
