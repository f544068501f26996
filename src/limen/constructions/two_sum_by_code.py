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

from limen.constructions._fields import ONE, tokens
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, retrieved
from limen.constructions._program import Attend, Match, Program, Programmed, Tier
from limen.constructions._residues import ResidueWords
from limen.constructions._words import decided, verdict
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.two_sum import TwoSum


@dataclass(frozen=True)
class TwoSumByCode(Programmed):
    """One layer, two heads."""

    task: TwoSum = TwoSum()
    small = tuple(TwoSum(n, M) for n, M in ((4, 7), (3, 6), (1, 3), (4, 4), (2, 25)))

    @property
    def residues(self) -> ResidueWords:
        return ResidueWords(self.task.M)

    @property
    def C(self) -> int:
        """What one wrong bit costs."""
        return 4 * contrast(self.task.n + 1)

    @property
    def program(self) -> Program:
        """Each head looks for a partner; its own token is the blank."""
        n, C, residues = self.task.n, self.C, self.residues
        heads = [
            Attend(
                [("q", "exists", "x", "q")],
                [Match({f"partner{s}": -C}, {"word": 1}), Match({"asks": -C / 2}, {"asks": 1})],
                {"found": {"data": 1}},
            )
            for s in range(2)
        ]
        return Program(
            text=[
                tokens(n, word=residues.word, data=ONE),
                tokens(1, partner0=residues.partner(0), partner1=residues.partner(1), asks=ONE),
            ],
            layers=[Tier(heads)],
            readout=verdict("found", high=1),
        )

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        if r is None:
            return None
        n, C = self.task.n, self.C
        partner = retrieved((ball(-C) / 2).exp() + n * ball(-C).exp(), n + 1, r)
        blank = retrieved(n * (ball(-C) / 2).exp(), n + 1, r)
        return certified(decided(partner.one, 2 * blank.zero, r))
