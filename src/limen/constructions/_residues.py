r"""Sums without carries: two numbers below M are compared with a sum by their residues modulo m and m+1.

    x + y = s  <=>  x ≡ s - y  modulo m and modulo m+1        (0 ≤ x + y, s ≤ 2M - 2 < m(m+1))

since m and m+1 have no common factor.  The residue of an id is a row of a table, so 2m+1 ≈ √(8M) rows write
the code of x, and as many that of its partner s - x, which in binary would need borrows, or M rows.

x + y ≡ 0 modulo M, with x, y < M, means that the sum is 0 or M: one head looks for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isqrt

from limen.constructions._fields import CodedPart, RowTable
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.weights import Array
from limen.model.embedding import Code


@dataclass(frozen=True)
class ResidueWords:
    """The word of x is T(x mod m), T(x mod m+1) (_words.py); that of its partner in s is T̄ of s - x."""

    M: int

    @property
    def sums(self) -> tuple[int, int]:
        """What two partners sum to."""
        return 0, self.M

    @property
    def moduli(self) -> tuple[int, int]:
        """The least m with m(m+1) > 2M - 2, the largest sum; m+1 ≤ M, so ids have all residues."""
        m = (isqrt(8 * self.M - 7) + 1) // 2
        return m, m + 1

    @property
    def bits(self) -> int:
        """Digits of one residue."""
        return bits_for(self.moduli[1])

    @property
    def size(self) -> int:
        """Columns of a word: 4⌈log₂(m+1)⌉ ≈ 2 log₂(8M)."""
        return 4 * self.bits

    @property
    def word(self) -> CodedPart:
        return self._field("word", _word)

    def partner(self, s: int) -> CodedPart:
        """The partner that makes the sum `sums[s]`."""
        return self._field(f"partner{s}_", lambda a: _word(1 - a), self.sums[s])

    @property
    def signs(self) -> CodedPart:
        """The same digits as signs, half as long: the product of two words is 2b - 2·(their distance)."""
        return self._field("signs", _signs)

    def signs_of_partner(self, s: int) -> CodedPart:
        return self._field(f"signs{s}_", _signs, self.sums[s])

    def _field(self, name: str, written: Callable[[Array], Array], total: int | None = None) -> CodedPart:
        """A table for each modulus m: of x, or of total - x, what is written of the digits."""

        def fill(m: int) -> Array:
            x = np.arange(m)
            return written(digits(self.bits))[x if total is None else (total - x) % m]

        size = self.bits if written is _signs else 2 * self.bits
        tables = (
            RowTable(f"{name}{i}", m, size, partial(fill, m), "residues") for i, m in enumerate(self.moduli)
        )
        codes = (Code("token", 1, f"{name}{i}", size * i) for i in range(2))
        return CodedPart(2 * size, tuple(codes), tuple(tables))


def _word(a: Array) -> Array:
    return np.hstack([a, 1 - a])


def _signs(a: Array) -> Array:
    return 2 * a - 1
