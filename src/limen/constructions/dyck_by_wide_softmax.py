r"""Bounded Dyck of depth at most 2 by ONE softmax layer as wide as the text, which it gathers whole.

    h_i = s_1 + … + s_i            s_i = ±1: bracket i opens or closes        -1/2 < h_i < D + 1/2,  h_n = 0
    Σ_{l=i}^{j} p_l·s_l ± (β_i - β_j) < j - i + 2                                          p = + (+ -)* -

β is a bit of the kind, as ±1.  A ReLU for each i, j and bit sees a pair that is closed by another kind.

Why it works.  Inside a pair of level 1 stand only pairs of level 2, ( ) ( ) …, and in one of level 2 nothing.
So if bracket j closes bracket i, and nothing was wrong before, the signs from i to j are the pattern p, and
the sum is j - i + 1; for any other signs it is less by 2 or more.  If the two kinds differ in a bit, then
β_i - β_j = ±2 puts the sum beyond the threshold; in a word without a fault nothing does.

One head of size n(1 + ⌈log₂k⌉) passes on so many numbers, and two more, of p bits each; (n/2)log₂k bits are
needed (one_layer_cut).  Two layers do with O(log n) of them (dyck_by_two_softmax).
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._gathered import Gathered, Watch
from limen.constructions._weights import bits_for, digits
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Array
from limen.errors import BadInput
from limen.model.embedding import Code
from limen.tasks.dyck import Dyck

_LONGEST = 128  # places: their pairs are units, each of which reads what is between


@dataclass(frozen=True)
class DyckByWideSoftmax(Gathered):
    """A sign and the bits of the kind for each place."""

    task: Dyck = Dyck()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.task.D > 2:
            raise BadInput(f"dyck_by_wide_softmax: D ≤ 2, got D={self.task.D}")
        if self.task.n > _LONGEST:
            raise BadInput(
                f"dyck_by_wide_softmax: n ≤ {_LONGEST}, got n={self.task.n}: a unit for each pair of places"
            )

    @property
    def b(self) -> int:
        """Bits of a kind; none if there is one kind."""
        return bits_for(self.task.k) if self.task.k > 1 else 0

    @property
    def columns(self) -> Columns:
        told = self.task.n * (1 + self.b)
        return Columns.of(told=told, heard=told, flaw=1)

    @property
    def tables(self) -> dict[str, Array]:
        k = self.task.k
        sign = np.where(np.arange(2 * k) < k, 1.0, -1.0)[:, None]
        kind = 2 * digits(self.b)[np.arange(2 * k) % k] - 1 if self.b else np.zeros((2 * k, 0))
        return {"bracket": np.concatenate([sign, kind], axis=1)}

    def codes(self, place: int) -> tuple[Code, ...]:
        return (Code("token", 1, "bracket", place * (1 + self.b)),)

    @property
    def units(self) -> list[Watch]:
        n, D, κ, ρ = self.task.n, self.task.D, self.κ, self.ρ
        flaw, first, each = self.columns["flaw"].start, self.columns["heard"].start, 1 + self.b
        sign = [first + i * each for i in range(n)]
        units = []
        for i in range(n):
            up, down = (dict.fromkeys(sign[: i + 1], s * κ) for s in (1, -1))
            units.append(Watch(down, -ρ / 2, flaw, 2))
            if i >= D:
                units.append(Watch(up, -ρ * (D + 0.5), flaw, 2))
        units.append(Watch(dict.fromkeys(sign, κ), -ρ / 2, flaw, 2))
        for i in range(n):
            for j in range(i + 1, n if D == 2 else min(n, i + 2), 2):
                pattern = [1, *[1, -1] * ((j - i - 1) // 2), -1]
                pair = {c: p * κ for c, p in zip(sign[i : j + 1], pattern, strict=True)}
                for bit in range(1, each):
                    for s in (κ, -κ):
                        of = pair | {sign[i] + bit: s, sign[j] + bit: -s}
                        units.append(Watch(of, -ρ * (j - i + 2), flaw, 1))
        return units

    def margin(self, precision: Precision) -> float | None:
        return self.flawed(2 * self.task.n + 4, 1, self.task.n + 2, 0.5, precision)

    @classmethod
    def examples(cls) -> tuple[DyckByWideSoftmax, ...]:
        return tuple(cls(Dyck(*size)) for size in ((2, 1, 1), (4, 2, 1), (6, 1, 2), (6, 2, 2), (4, 3, 2)))
