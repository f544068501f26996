r"""2-Sum by one layer of a token index that reads k tokens: its index score says whether one is the partner.

    I_j = Σ_s ReLU(2⟨T(x_j), T(s - q)⟩ - 2(2b - 1)),   s = 0, M;     the query's own: I = 1, or 4 if k > 1

T writes the residues modulo m and m+1 as 2b signs (_residues.py), b = ⌈log₂(m+1)⌉ ≈ (log₂M + 1)/2: an index
key of 2b signs and two marks, so 2b + 2 numbers.

Why it works.  ⟨T, T'⟩ = 2b - 2H, H the Hamming distance: the ReLU is 2 for the partner and 0 for any other
token.  The index scores are small whole numbers.

k = 1.  I is 2 for partners, 1 for the query itself and 0 elsewhere.  The one token that is read is a partner,
if there is any, and its value is 1; else it is the query's own, with the value 0.  What is read is 0 or 1
exactly, at any length: no softmax has to be sharp, for it is over one token.

k > 1.  I is 4 for the query itself, so it is read, and with it a partner, if there is any, and others.  A
head for each sum tells them apart, as in two_sum_by_code, with words of signs:

    head s:   (c/2)⟨T(x_j), T(s - q)⟩ = cb - c·H,      the query's own token: cb - c/2

A partner leads the query by c/2, and all others are c/2 behind it.  No more than k tokens are read, so c
grows with log k, and n may be anything.  No text has partners for both sums (x = s - q, and the sums are M
apart), so those for one never take the places of those for the other.

One head of size 1, or two with keys of size 2b + 1; two index heads.  Blocks cannot do this: the message of a
block is about all of its tokens [ye2026], an index key is about one [deepseek2025dsa].
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._features import sizes_of
from limen.constructions._fields import ONE, tokens
from limen.constructions._lookup import contrast
from limen.constructions._margins import Roundoff, certified, holds, retrieved, whole
from limen.constructions._program import Attend, Logits, Match, Program, Programmed, Tier
from limen.constructions._residues import ResidueWords
from limen.constructions._weights import identity
from limen.constructions._words import decided
from limen.core.architecture import Architecture
from limen.core.balls import ball
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.weights import Weights
from limen.errors import at_least
from limen.mixers.top_k import TopK
from limen.tasks.two_sum import TwoSum


@dataclass(frozen=True)
class TwoSumByTopK(Programmed):
    """One layer."""

    task: TwoSum = TwoSum()
    small = (
        *(TwoSum(n, M) for n, M in ((4, 7), (3, 6), (1, 3), (4, 4), (2, 25))),
        *((TwoSum(n, M), {"k": k}) for n, M, k in ((4, 7, 2), (4, 4, 3), (2, 25, 2), (3, 6, 2048))),
    )
    _: KW_ONLY
    k: int = 1

    def __post_init__(self) -> None:
        at_least(self, k=1)

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> TwoSumByTopK:
        """With as many tokens read as by the architecture's first token index."""
        return cls(task=task, **sizes_of(TopK, architecture, "k"))  # type: ignore[arg-type]

    @property
    def residues(self) -> ResidueWords:
        return ResidueWords(self.task.M)

    @property
    def read(self) -> int:
        """Tokens that the query reads."""
        return min(self.k, self.task.n + 1)

    @property
    def C(self) -> int:
        """What one wrong bit costs."""
        return 4 * contrast(self.read)

    @property
    def program(self) -> Program:
        residues = self.residues
        b, asks = residues.bits, [f"partner{s}" for s in range(2)]
        if self.k == 1:
            heads, sizes = (
                [Attend([("q", "either", "x", "q")], (), {"found": {"data": 1}})],
                "h=1,d=1,k=1,d_k=1",
            )
        else:
            own = Match({"asks": self.C * (b - 0.5)}, {"asks": 1})
            looks = [Match({ask: self.C / 2}, {"word": 1}) for ask in asks]
            heads = [
                Attend([("q", "exists", "x", "q")], [look, own], {"found": {"data": 1}}) for look in looks
            ]
            sizes = f"h=2,d=1,k={self.k},d_k={2 * b + 1}"
        signs = {ask: residues.signs_of_partner(s) for s, ask in enumerate(asks)}
        return Program(
            text=[tokens(self.task.n, word=residues.signs, data=ONE), tokens(1, **signs, asks=ONE)],
            layers=[Tier(heads, f"top_k({sizes},h_i=2,d_i={2 * b + 2})", self._index)],
            readout=Logits({"found": (0, 2)}, (0, -1)),
        )

    def _index(self, w: Weights, at: Columns) -> None:
        """Index keys: the word, the mark of data, that of the query.  Each index head asks for one sum."""
        size = 2 * self.residues.bits
        data, asks = size, size + 1
        identity(w["IK"], at["word"], slice(0, size))
        w["IK"][at["data"], data] = w["IK"][at["asks"], asks] = 1
        for s in range(2):
            first = s * (size + 2)
            identity(w["IQ"], at[f"partner{s}"], slice(first, first + size), 2)
            w["IQ"][at["asks"], first + data] = -2 * (size - 1)
        w["IQ"][at["asks"], asks] = 1 if self.k == 1 else 4  # in the first head
        w["IW"][at["asks"]] = 1

    def margin(self, precision: Precision) -> float | None:
        """Index scores are whole: no part of a sum is above 2·2b + 2(2b - 1).  Scores are whole times C/2."""
        b, C, read = self.residues.bits, self.C, self.read
        if self.k == 1:
            return 1.0 if whole(precision, 8 * b) else None
        r = Roundoff.of(precision)
        if r is None or not holds(precision, 8 * b, 2 * C * b):
            return None
        partner = retrieved((ball(-C) / 2).exp() + read * ball(-C).exp(), read, r)
        blank = retrieved(read * (ball(-C) / 2).exp(), read, r)
        return certified(decided(partner.one, 2 * blank.zero, r))
