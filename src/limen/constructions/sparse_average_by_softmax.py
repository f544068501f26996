r"""Sparse averaging by two softmax layers: each query token fetches its z, then the last one averages them.

    layer 1   score_j = c(Σ_b (2y_b - 1)·j_b + [j is a position])        value: z_j = ±1
    layer 2   score_i = 32·[i is a query token]                          value: what it fetched

Why it works.  In this task the q positions are tokens of their own, so each can ask for itself; layer 1 is
the retrieval of `eva_by_softmax`, and the mean over the query tokens needs no code at all.  Where one token
holds all of y, one query vector must stand for the set [sanford2023]: `sparse_average_by_random_keys` and
`sparse_average_by_polytope`.

Width 2P + 5, P = ⌈log₂n⌉, whatever q; two layers of one head, keys of size P+1 and 1.  Logits are as large
as q² and 1 apart: t significant bits reach about q = 2^{t/2 - 1}.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._margins import Roundoff, in_balls, off_mass
from limen.constructions._sparse_average import FLAG, mean_error, mean_margin, read_mean
from limen.constructions._weights import binary, binary_tables, bits_for, fill_tables, identity, zeros
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.sparse_average import SparseAverage

C = 16  # the score of one matching bit, as in eva_by_softmax


@dataclass(frozen=True)
class SparseAverageBySoftmax(Construction):
    """Two layers of one head."""

    task: SparseAverage = SparseAverage()

    @property
    def P(self) -> int:
        return bits_for(self.task.n)

    @property
    def columns(self) -> Columns:
        return Columns.of(position=self.P, data=1, z=1, y=self.P, asks=1, fetched=1, answer=1)

    def frame(self) -> Frame:
        n, q, P, at = self.task.n, self.task.q, self.P, self.columns
        z = Segment(n, (
            *binary("place", 1, P, at["position"].start),
            Code("place", 1, "one", at["data"].start),
            Code("token", 1, "sign", at["z"].start),
        ))  # fmt: skip
        y = Segment(q, (*binary("token", 1, P, at["y"].start), Code("place", 1, "one", at["asks"].start)))
        return Frame(
            Architecture.parse(f"softmax(h=1,d=1,d_k={P + 1}),softmax(h=1,d=1)"),
            at.width,
            self.task.answers,
            Codes(at.width, (*binary_tables(P), ("one", 1, 1), ("sign", 2, 1)), (z, y)),
        )

    def weights(self) -> Weights:
        frame, at, P = self.frame(), self.columns, self.P
        w = zeros(frame)
        fill_tables(w, frame)
        w["embedding.one"][:] = 1
        w["embedding.sign"][:, 0] = np.array([-1.0, 1.0])
        bits, data = slice(0, P), P
        identity(w["0.0.Q"], at["y"], bits, 2 * C)
        w["0.0.Q"][at["asks"], bits] = -C
        w["0.0.Q"][at["asks"], data] = C
        identity(w["0.0.K"], at["position"], bits)
        w["0.0.K"][at["data"], data] = 1
        w["0.0.V"][at["z"]] = w["0.0.O"][:, at["fetched"]] = 1
        w["1.0.Q"][at["asks"]] = FLAG
        w["1.0.K"][at["asks"]] = w["1.0.V"][at["fetched"]] = w["1.0.O"][:, at["answer"]] = 1
        read_mean(w, self.task.q, at["answer"])
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r, n, q, P = Roundoff.of(precision), self.task.n, self.task.q, self.P
        if r is None:
            return None
        # scores are C·k with |k| ≤ P + 1, exact when that fits in t bits
        noise = arb(0) if (P + 1) * r.u <= 1 else r.u * C * (P + 1)
        off = off_mass(n, P, arb(C), noise) + q * (2 * noise - C).exp()  # query tokens have key 0
        fetched = mean_error(off, arb(0), n + q, r)
        mean = mean_error(n * arb(-FLAG).exp() / q, arb(0), n + q, r)
        return mean_margin(fetched + mean * (1 + fetched), q, r)

    def hints(self) -> dict[str, Any]:
        """Each question looks at its place, the last one at all questions alike."""
        fetch: list[list[Any]] = [[0, 0, 0, asker, "one", "z"] for asker in ("y", "last")]
        return {"looks": [*fetch, [1, 0, 0, "last", "share", "y"]]}

    @classmethod
    def examples(cls) -> tuple[SparseAverageBySoftmax, ...]:
        return tuple(cls(SparseAverage(*size)) for size in ((1, 1), (2, 1), (3, 3), (5, 2), (6, 3), (4, 4)))
