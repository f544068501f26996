r"""How many nearly orthogonal vectors fit into k dimensions: |⟨u, v⟩| ≤ γ for any two of length 1.

    N ≥ ⌊e^(γ²k/4)⌋                              random signs: Hoeffding, and a union over all pairs
    N ≥ what one draw of random signs holds      each word kept that is near to none before it
    N ≤ C(1 - γ^2r)/(1 - C·γ^2r)                 Welch, C = C(k+r-1, r), for all r with C·γ^2r < 1 [welch1974]

So log₂N positions take k = O(log N/γ²) columns, and in k columns there is an end to them: for γ below about
1/√k no more than a multiple of k.
"""

from __future__ import annotations

import math
from fractions import Fraction

from limen.core.arrays import np
from limen.core.errors import BadInput
from limen.core.report import Report

_MOST, _WIDEST, _DRAWN = 2**12, 4096, 2**14  # words that are kept, dimensions, words that are drawn
_ORDERS = 64  # of Welch's bound


class OrthogonalReport(Report, frozen=True, kw_only=True, tag="limen/orthogonal/1"):
    """What is known of the largest number."""

    dimensions: int
    gamma: str
    proved: int  # by the union bound
    found: int  # in one draw, every product looked at
    drawn: int
    at_most: int | None  # Welch; null where it says nothing

    @property
    def headline(self) -> str:
        most = "no bound" if self.at_most is None else f"at most {self.at_most:,}"
        least = max(self.proved, self.found)
        return f"{self.dimensions} dimensions, γ = {self.gamma}: at least {least:,}, {most}"


def orthogonal(k: int, gamma: str, seed: int = 0) -> OrthogonalReport:
    """γ as a decimal number or a fraction, such as 0.25 or 1/4."""
    try:
        γ = Fraction(gamma)
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"gamma must be a number such as 0.25 or 1/4, got {gamma}") from error
    if not 1 <= k <= _WIDEST or not 0 <= γ < 1:
        raise BadInput(f"dimensions must be 1 to {_WIDEST} and gamma 0 to less than 1, got {k} and {gamma}")
    return OrthogonalReport(
        dimensions=k,
        gamma=gamma,
        proved=max(1, math.floor(math.exp(min(40.0, float(γ) ** 2 * k / 4)))),
        found=_held(k, γ, seed),
        drawn=_DRAWN,
        at_most=welch(k, γ),
    )


def _held(k: int, γ: Fraction, seed: int) -> int:
    """Words of k signs, each kept if its product with none before it is beyond γk; whole numbers."""
    most = math.floor(γ * k)
    drawn = 2 * np.random.default_rng(seed).integers(2, size=(_DRAWN, k), dtype=np.int32) - 1
    kept = np.empty((0, k), dtype=np.int32)
    for word in drawn:
        if len(kept) < _MOST and (np.abs(kept @ word) <= most).all():
            kept = np.vstack([kept, word])
    return len(kept)


def welch(k: int, γ: Fraction) -> int | None:
    """The least of Welch's bounds, in whole numbers."""
    found = []
    for r in range(1, _ORDERS + 1):
        C, off = math.comb(k + r - 1, r), γ ** (2 * r)
        if C * off < 1:
            found.append(math.floor(C * (1 - off) / (1 - C * off)))
    return min(found, default=None)
