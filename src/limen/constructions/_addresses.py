r"""How addresses and positions are written.

Addresses are words of k signs.  ⟨T(a), T(a)⟩ = k, and ⟨T(a), T(b)⟩ ≤ k - 2 where the words differ: any
code will do whose words are all different.  Products are whole numbers, exact where k ≤ 2^t.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import accumulate, count

from limen.constructions._fields import CodedPart, Of, RowTable, signs, table
from limen.constructions._weights import bits_for
from limen.core.arrays import NDArray, np
from limen.core.weights import Array
from limen.errors import BadInput
from limen.model.embedding import Code

SEED = 2026  # harmless: `closest` inspects the very words that it gives
_DRAWN = 2**27  # random signs
FEW = 2**14  # words whose products are all computed


@dataclass(frozen=True)
class Words(ABC):
    """A word of k signs for each of the addresses 0 … N-1."""

    N: int
    k: int

    @property
    @abstractmethod
    def closest(self) -> int:
        """The largest product of two different addresses' words, or more."""

    @abstractmethod
    def field(self, of: Of, div: int = 1) -> CodedPart:
        """The word of (value // div) modulo N; modulo 2^k in binary."""


class BinaryWords(Words):
    """The address in binary, 0 as -1: k = ⌈log₂N⌉, as short as can be; neighbours differ in one sign."""

    @classmethod
    def of(cls, N: int) -> BinaryWords:
        return cls(N, bits_for(N))

    @property
    def closest(self) -> int:
        return self.k - 2

    def field(self, of: Of, div: int = 1) -> CodedPart:
        """Tables stand apart from those of other lengths."""
        written = signs(of, self.k, div)
        return replace(written, tables=tuple(t._replace(group=f"signs of {self.k}") for t in written.tables))


@dataclass(frozen=True)
class RandomWords(Words):
    r"""Random signs, nearly orthogonal: the gap k - closest is a share of k, not 2.

    Two words' product exceeds γk with probability at most exp(-γ²k/2) (Hoeffding).  With k = 8 ln N and
    γ = 1/√2 that is N^-2, so all N(N-1)/2 products stay below 0.71k in more than half of all draws.  All
    words differ from about k = 2 log₂N on, where N²/2^{k+1} falls below 1.
    """

    def __post_init__(self) -> None:
        if self.N * self.k > _DRAWN:
            raise BadInput(
                f"{self.N} random words of {self.k} signs are too many: at most {_DRAWN} signs are drawn"
            )

    @classmethod
    def of(cls, N: int, k: int | None) -> RandomWords:
        return cls(N, max(1, math.ceil(8 * math.log(N))) if k is None else k)

    @property
    def closest(self) -> int:
        return _closest(self.N, self.k)

    def field(self, of: Of, div: int = 1) -> CodedPart:
        return table("words", self.N, self.k, lambda: _signs(self.N, self.k).astype(np.float64), of, div)


def _signs(N: int, k: int) -> NDArray[np.int8]:
    """(N, k)."""
    return 2 * np.random.default_rng(SEED).integers(2, size=(N, k), dtype=np.int8) - 1


@cache
def _closest(N: int, k: int) -> int:
    """The largest product of two of the words; of more than FEW, k - 2 if all differ and k if not."""
    signs = _signs(N, k)
    if N > FEW:
        packed = np.packbits(signs > 0, axis=1)
        words = np.ascontiguousarray(packed).view(f"V{packed.shape[1]}")
        return k - 2 if len(np.unique(words)) == N else k
    block, words = 1024, signs.astype(np.float32)  # products up to k < 2^24 are exact
    most = -k
    for first in range(0, N, block):
        products = words[first : first + block] @ words[first:].T  # (≤ block, N - first)
        np.fill_diagonal(products, -k)
        most = max(most, int(products.max()))
    return most


@dataclass(frozen=True)
class ResidueAddresses:
    """Positions 0 … N-1 by their residues modulo the first primes, one-hot: looking back is linear, a turn.

    Positions below Π p that agree in every residue are equal (Chinese remainder theorem), so different ones
    share all but one of the ones at most.
    """

    N: int

    @property
    def primes(self) -> tuple[int, ...]:
        primes = [2]
        while math.prod(primes) < self.N:
            primes.append(next(p for p in count(primes[-1] + 1) if all(p % q for q in primes)))
        return tuple(primes)

    @property
    def k(self) -> int:
        return sum(self.primes)

    def field(self, start: int) -> CodedPart:
        """The positions of a stretch that begins at `start`."""
        columns = accumulate(self.primes[:-1], initial=0)
        names = {p: f"mod{p}+{start % p}" for p in self.primes}
        codes = (Code("place", 1, name, at) for name, at in zip(names.values(), columns, strict=True))
        tables = (RowTable(names[p], p, p, partial(_turn, p, start % p), "mod") for p in self.primes)
        return CodedPart(self.k, tuple(codes), tuple(tables))

    def back(self, o: int) -> Array:
        """(k, k): takes the code of j to that of j - o."""
        turns, at = np.zeros((sum(self.primes), sum(self.primes))), 0
        for p in self.primes:
            turns[at : at + p, at : at + p] = _turn(p, -o)
            at += p
        return turns


def _turn(p: int, by: int) -> Array:
    """(p, p): takes residue r to r + by."""
    return np.eye(p)[:, (np.arange(p) - by) % p]
