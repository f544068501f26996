r"""Show how many nearly orthogonal vectors fit.

Into k dimensions, |⟨u, v⟩| ≤ γ for any two of length 1:

    N ≥ k                                        the axes: products of 0
    N ≥ ⌊e^(γ²k/4)⌋                              random signs: Hoeffding, and a union over all pairs
    N ≥ what one draw of random signs holds      each word kept that is near to none before it
    N ≤ C(1 - γ^2r)/(1 - C·γ^2r)                 Welch, C = C(k+r-1, r), for all r with C·γ^2r < 1 [welch1974]

So log₂N positions take k = O(log N/γ²) columns, and in k columns there is an end to them: for γ below about
1/√k no more than a multiple of k.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from typing import Annotated

from limen.commands._command import Shown, command
from limen.commands._words import Seed
from limen.core.arrays import np
from limen.core.option import Argument, Option
from limen.core.report import Report
from limen.errors import BadInput, shortened

_MOST, _WIDEST, _DRAWN = 2**12, 4096, 2**14  # words that are kept, dimensions, words that are drawn
_BLOCK, _WORK = 2**8, 2**35  # words that are looked at together; products of two signs in all, some seconds
_ORDERS = 64  # of Welch's bound that are tried; some larger one sets a limit for each γ < 1, far above
_FLOOR = 1 - 2**-40  # what an exponential of a float below 40 may lack
_GAMMA = re.compile(r"[0-9]{0,20}\.?[0-9]{0,20}(e-?[0-9]{1,2})?|[0-9]{1,20}/[0-9]{1,20}", re.ASCII)


class OrthogonalReport(Report, frozen=True, kw_only=True, tag="limen/orthogonal/1"):
    """What is known of the largest number."""

    dimensions: int
    gamma: str
    proved: int  # by the union bound
    found: int  # in one draw, every product looked at
    drawn: int  # words that were looked at for it
    at_most: int | None  # Welch; null where none of the orders that are tried says anything

    @property
    def headline(self) -> str:
        most = "no upper bound found" if self.at_most is None else f"at most {self.at_most:,}"
        return f"{self.dimensions} dimensions, γ = {self.gamma}: at least {self.at_least:,}, {most}"

    @property
    def at_least(self) -> int:
        """The best of the lower bounds; the axes are as many as there are dimensions."""
        return max(self.dimensions, self.proved, self.found)


@command(
    example="limen demo orthogonal 64 --gamma 0.5",
    answers=(
        Shown("limen.commands.demo.orthogonal:OrthogonalReport", "limen.render.demo.orthogonal:lines_of"),
    ),
)
def orthogonal(
    dimensions: Annotated[int, Argument("k, the number of dimensions.", least=1)],
    gamma: Annotated[str, Option("Largest absolute inner product of two unit vectors.")] = "0.5",
    seed: Seed = 0,
) -> OrthogonalReport:
    """Unit vectors of k dimensions. The lower bounds come from the axes, a union bound and one draw of random
    signs, and the upper bound is Welch's.
    """
    k = dimensions
    try:
        γ = Fraction(gamma if _GAMMA.fullmatch(gamma) else "")
    except (ValueError, ZeroDivisionError) as error:
        raise BadInput(f"gamma must be a number such as 0.25 or 1/4, got {shortened(gamma)}") from error
    if not 1 <= k <= _WIDEST or not 0 <= γ < 1:
        raise BadInput(f"dimensions must be 1 to {_WIDEST} and gamma 0 to less than 1, got {k} and {gamma}")
    found, drawn = _held(k, γ, seed)
    return OrthogonalReport(
        dimensions=k,
        gamma=gamma,
        proved=max(1, math.floor(math.exp(min(40.0, float(γ) ** 2 * k / 4)) * _FLOOR)),
        found=found,
        drawn=drawn,
        at_most=welch(k, γ),
    )


def _held(k: int, γ: Fraction, seed: int) -> tuple[int, int]:
    """Words of k signs, each kept if its product with none before it is beyond γk; how many of how many.

    Whole numbers below 2^24, which float32 holds and multiplies fast.
    """
    most, drawn, held, work = math.floor(γ * k), 0, 0, 0
    signs, kept = np.random.default_rng(seed), np.empty((_MOST, k), dtype=np.float32)
    while drawn < _DRAWN and held < _MOST and work < _WORK:
        words = 2 * signs.integers(2, size=(_BLOCK, k), dtype=np.int32).astype(np.float32) - 1
        fits = (np.abs(words @ kept[:held].T) <= most).all(axis=1)
        far = np.abs(words @ words.T) > most
        for i in np.flatnonzero(fits):
            if fits[i] and held < _MOST:
                kept[held], held = words[i], held + 1
                fits[far[i]] = False
        drawn, work = drawn + _BLOCK, work + _BLOCK * (held + _BLOCK) * k
    return held, drawn


def welch(k: int, γ: Fraction) -> int | None:
    """The least of Welch's bounds, in whole numbers."""
    found = []
    for r in range(1, _ORDERS + 1):
        C, off = math.comb(k + r - 1, r), γ ** (2 * r)
        if C * off < 1:
            found.append(math.floor(C * (1 - off) / (1 - C * off)))
    return min(found, default=None)
