r"""2-Sum by one layer of a token index that reads ONE token: its index score says whether it is the partner.

    I_j = Σ_s ReLU(2⟨T(x_j), T(s - q)⟩ - 2(2b - 1)),   s = 0, M;     the query's own token: I = 1

T writes the residues modulo m and m+1 as 2b signs (_residues.py), b = ⌈log₂(m+1)⌉ ≈ (log₂M + 1)/2: an index
key of 2b signs and two marks, so 2b + 2 numbers.

Why it works.  ⟨T, T'⟩ = 2b - 2H, H the Hamming distance: the ReLU is 2 for the partner and 0 for any other
token.  So I is 2 for partners, 1 for the query itself and 0 elsewhere.  The one token that is read is a
partner, if there is any, and its value is 1; else it is the query's own, with the value 0.  What is read is 0
or 1 exactly, at any length: no softmax has to be sharp, for it is over one token.  The index scores are small
whole numbers.

One head of size 1, two index heads.  Blocks cannot do this: the message of a block is about all of its tokens
[ye2026], an index key is about one [deepseek2025dsa].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._fields import ONE, tokens
from limen.constructions._margins import whole
from limen.constructions._program import Attend, Logits, Program, Programmed, Tier
from limen.constructions._residues import ResidueWords
from limen.constructions._weights import identity
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.two_sum import TwoSum


@dataclass(frozen=True)
class TwoSumByTopK(Programmed):
    """One layer, k = 1."""

    task: TwoSum = TwoSum()
    small = tuple(TwoSum(n, M) for n, M in ((4, 7), (3, 6), (1, 3), (4, 4), (2, 25)))

    @property
    def residues(self) -> ResidueWords:
        return ResidueWords(self.task.M)

    @property
    def program(self) -> Program:
        residues = self.residues
        asks = {f"partner{s}": residues.signs_of_partner(s) for s in range(2)}
        head = Attend([("q", "either", "x", "q")], (), {"found": {"data": 1}})
        mixer = f"top_k(h=1,d=1,k=1,d_k=1,h_i=2,d_i={2 * residues.bits + 2})"
        return Program(
            text=[tokens(self.task.n, word=residues.signs, data=ONE), tokens(1, **asks, asks=ONE)],
            layers=[Tier([head], mixer, self._index)],
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
        w["IQ"][at["asks"], asks] = 1  # in the first head
        w["IW"][at["asks"]] = 1

    def margin(self, precision: Precision) -> float | None:
        """All numbers are whole; no part of a sum is above 2·2b + 2(2b - 1)."""
        return 1.0 if whole(precision, 8 * self.residues.bits) else None
