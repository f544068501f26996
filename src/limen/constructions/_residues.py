r"""Sums without carries: two numbers below M are compared with a sum by their residues modulo m and m+1.

    x + y = s  <=>  x ≡ s - y  modulo m and modulo m+1        (0 ≤ x + y, s < 2M < m(m+1))

since m and m+1 have no common factor.  The residue of an id is a row of a table, so 2m+1 ≈ √(8M) rows write
the code of x, and as many that of its partner s - x, which in binary would need borrows, or M rows.

x + y ≡ 0 modulo M, with x, y < M, means that the sum is 0 or M: one head looks for each.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.weights import Weights
from limen.model.embedding import Code


@dataclass(frozen=True)
class Residues:
    """The word of x is T(x mod m), T(x mod m+1) (_words.py); that of its partner in s is T̄ of s - x."""

    M: int

    @property
    def sums(self) -> tuple[int, int]:
        """What two partners sum to."""
        return 0, self.M

    @property
    def moduli(self) -> tuple[int, int]:
        m = isqrt(2 * self.M) + 1  # m² > 2M
        return m, m + 1

    @property
    def bits(self) -> int:
        """Of one residue."""
        return bits_for(self.moduli[1])

    @property
    def size(self) -> int:
        """Of a word: 4⌈log₂(m+1)⌉ ≈ 2 log₂(8M)."""
        return 4 * self.bits

    @property
    def tables(self) -> tuple[tuple[str, int, int], ...]:
        names = ("word", *(f"partner{s}_" for s in range(2)))
        return tuple((f"{name}{i}", m, 2 * self.bits) for name in names for i, m in enumerate(self.moduli))

    def word(self, column: int) -> tuple[Code, ...]:
        return self._codes("word", column)

    def partner(self, s: int, column: int) -> tuple[Code, ...]:
        """The partner that makes the sum `sums[s]`."""
        return self._codes(f"partner{s}_", column)

    def _codes(self, table: str, column: int) -> tuple[Code, ...]:
        return tuple(Code("token", 1, f"{table}{i}", column + 2 * self.bits * i) for i in range(2))

    def fill(self, w: Weights) -> None:
        a = digits(self.bits)
        for i, m in enumerate(self.moduli):
            residue = np.arange(m)
            w[f"embedding.word{i}"] = np.hstack([a, 1 - a])[residue]
            for s, total in enumerate(self.sums):
                w[f"embedding.partner{s}_{i}"] = np.hstack([1 - a, a])[(total - residue) % m]
