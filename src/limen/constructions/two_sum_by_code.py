r"""2-Sum by one softmax layer: a head for each possible sum, 0 and M, finds the partner by its code.

    K_j = T(x_j),   Q_s = -c·T̄(s - q)   =>   score = -c·(Hamming distance of x_j and s - q),   s = 0, M

Codes are the residues modulo m and m+1 in binary, where sums have no carries (_residues.py).  The query's
own token is the blank: it scores -c/2 and its value is 0, while the x_j have the value 1.

Why it works.  A partner scores 0, the blank -c/2 and any other token at most -c.  With a partner the head of
its sum reads at least 1/(1 + e^{-c/2} + ne^{-c}); without one, both read at most n·e^{-c/2}: c grows with
log n (_lookup.py).  Scores need no significant digits (_words.py), so near misses cost
nothing extra, and any precision that tells 1/(1 + e^{-c/2} + ne^{-c}) from 1/2 will do.

Two heads.  With b = ⌈log₂(m+1)⌉ ≈ (log₂M + 1)/2: keys of size 4b + 1, values of size 1, width 12b + 3;
tables of some 6√(2M) rows [sanford2023].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, in_balls, retrieved
from limen.constructions._residues import Residues
from limen.constructions._weights import identity, zeros
from limen.constructions._words import decide, decided
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.embedding import Code, Codes, Segment
from limen.model.model import Frame
from limen.tasks.two_sum import TwoSum


@dataclass(frozen=True)
class TwoSumByCode(Construction):
    """One layer, two heads."""

    task: TwoSum = TwoSum()

    @property
    def residues(self) -> Residues:
        return Residues(self.task.M)

    @property
    def C(self) -> int:
        """What one wrong bit costs."""
        return 4 * contrast(self.task.n + 1)

    @property
    def columns(self) -> Columns:
        size = self.residues.size
        return Columns.of(word=size, data=1, partner0=size, partner1=size, asks=1, found=1)

    def frame(self) -> Frame:
        at, residues = self.columns, self.residues
        x = (*residues.word(at["word"].start), Code("place", 1, "one", at["data"].start))
        q = (
            *(code for s in range(2) for code in residues.partner(s, at[f"partner{s}"].start)),
            Code("place", 1, "one", at["asks"].start),
        )
        return Frame(
            Architecture.parse(f"softmax(h=2,d=1,d_k={residues.size + 1})"),
            at.width,
            self.task.answers,
            Codes(at.width, (*residues.tables, ("one", 1, 1)), (Segment(self.task.n, x), Segment(1, q))),
        )

    def weights(self) -> Weights:
        at, size, C = self.columns, self.residues.size, self.C
        w = zeros(self.frame())
        self.residues.fill(w)
        w["embedding.one"][:] = 1
        for s in range(2):
            blank = (s + 1) * (size + 1) - 1
            word = slice(blank - size, blank)
            identity(w["0.0.K"], at["word"], word)
            identity(w["0.0.Q"], at[f"partner{s}"], word, -C)
            w["0.0.K"][at["asks"], blank] = 1
            w["0.0.Q"][at["asks"], blank] = -C / 2
        w["0.0.V"][at["data"]] = 1
        w["0.0.O"][:, at["found"]] = 1
        decide(w, at["found"], high=1)
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        if r is None:
            return None
        n, C = self.task.n, self.C
        partner = retrieved((arb(-C) / 2).exp() + n * arb(-C).exp(), n + 1, r)
        blank = retrieved(n * (arb(-C) / 2).exp(), n + 1, r)
        return certified(decided(partner.one, 2 * blank.zero, r))

    def hints(self) -> dict[str, Any]:
        """Each head looks for a partner, its own token is the blank."""
        return {"looks": [[0, 0, s, "q", "exists", "x", "q"] for s in range(2)]}

    @classmethod
    def examples(cls) -> tuple[TwoSumByCode, ...]:
        return tuple(cls(TwoSum(n, M)) for n, M in ((4, 7), (3, 6), (1, 3), (4, 4), (2, 25)))
