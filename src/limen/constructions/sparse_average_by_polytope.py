r"""Sparse averaging by one query vector of 2q+1 numbers for the whole set: keys on a curve.

    K_j = (1, cos jθ, sin jθ, …, cos qjθ, sin qjθ),   θ = 2π/n
    ⟨Q, K_j⟩ = 32 - c·Π_{i in y} (1 - cos((j-i)θ))

Why it works.  The product is a trigonometric polynomial of degree q in jθ, so its coefficients are a query;
it is 0 on y and positive elsewhere: any q points of the curve span a face of their hull, a cyclic polytope
[sanford2023].  Off y it is least where j's q nearest neighbours are asked for: δ = Π 2sin²(⌈k/2⌉θ/2), k =
1..q, and c = 2·ln(16n)/δ, rounded up to a power of two.  The query tokens have key 0 and lack the 32.

The price is precision: c grows as (n/q)^{2q}, and what is 0 on y comes out of terms as large as 2^q·c. For
q = 1, 2, 3, 4 float64 is certified up to n = 2^20 and more, 2896, 304, 128; float32 to 2896, 32, 19, 13.
The coefficients are a function of y for which no ReLU network is written here: see `_sparse_average`.

Width 4q + (q+1)P + q + 4, P = ⌈log₂n⌉; q heads of size P, then one with keys of size 2q+1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from limen.constructions._margins import Roundoff
from limen.constructions._sparse_average import FLAG, SetQuery, native, power_of_two
from limen.core.arrays import NDArray, np
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.tasks.sparse_average import SparseAverage

_LARGEST = 1000  # 2^1000 and less is in float64, and 2^q·c is a sum of such terms


@dataclass(frozen=True)
class SparseAverageByPolytope(SetQuery):
    """Two layers; keys of 2q+1 numbers."""

    small = tuple(SparseAverage(*size) for size in ((1, 1), (5, 1), (5, 2), (8, 2), (6, 3), (4, 4)))

    def __post_init__(self) -> None:
        n, q = self.task.n, self.task.q
        if max(q, 2 * n.bit_length()) > _LARGEST or q + self._bits > _LARGEST:  # c grows as n², or faster
            raise BadInput(f"{self.task}: what is 0 on the set is a sum of terms that float64 does not have")

    @property
    def key_size(self) -> int:
        return 2 * self.task.q + 1

    @property
    def _bits(self) -> float:
        """log₂c before it is rounded up."""
        n, q = self.task.n, self.task.q
        δ = (1 + 2 * math.log2(math.sin(math.pi / n * d)) for d in self.nearest if q < n)
        return math.log2(2 * math.log(16 * n)) - math.fsum(δ)

    @property
    def c(self) -> float:
        return power_of_two(2**self._bits)

    @property
    def nearest(self) -> list[int]:
        """How far the q nearest neighbours of a position are."""
        return [math.ceil(k / 2) for k in range(1, self.task.q + 1)]

    @cached_property
    def keys(self) -> NDArray[np.float64]:
        n, q = self.task.n, self.task.q
        angle = 2 * np.pi / n * (np.outer(np.arange(n), np.arange(1, q + 1)) % n)  # (n, q)
        waves = np.stack([np.cos(angle), np.sin(angle)], axis=-1).reshape(n, 2 * q)
        return np.hstack([np.ones((n, 1)), waves])

    def query(self, y: torch.Tensor) -> torch.Tensor:
        """The coefficients A_k of e^{ikt}, k = -q..q, one factor 1 - cos(t - jθ), j in y, after another."""
        q = self.task.q
        A = torch.zeros(len(y), 2 * q + 1, dtype=torch.complex128)
        A[:, q] = -1
        turns = torch.polar(torch.ones(y.shape, dtype=torch.float64), 2 * math.pi / self.task.n * y.double())
        for e in turns.unsqueeze(-1).unbind(1):  # (count, 1)
            A = A - e.conj() / 2 * A.roll(1, -1) - e / 2 * A.roll(-1, -1)  # degree ≤ q: nothing wraps around
        waves = torch.stack([2 * A[:, q + 1 :].real, -2 * A[:, q + 1 :].imag], -1).flatten(1)
        return torch.cat([A[:, q : q + 1].real + FLAG / self.c, waves], -1)

    def margin(self, precision: Precision) -> float | None:
        r, n, q, c = Roundoff.of(precision), self.task.n, self.task.q, ball(self.c)
        size = ball(2) ** q + FLAG / c  # Σ|A_k|: a factor has 1 + ½ + ½
        if r is None or not native(precision) or not c * size < precision.largest:
            return None
        # In float64 an angle errs by 13 units of 2^-53, its cosine by 15; with the products each factor by 17
        # of its size, and the keys by √2·15 of all.  Both are rounded, the score is accumulated and rounded.
        made = size * (17 * q + 24) * ball(2) ** -53
        noise = c * (made + size * ((1 + r.u) ** 2 * (1 + r.sums(2 * q + 1)) - 1)) + r.u * 2 * FLAG
        if not noise < FLAG / 2:
            return None
        δ = ball(1)
        for d in self.nearest if q < n else ():
            δ *= 2 * (ball(d) / n).sin_pi() ** 2
        return self.set_margin(noise, (c * δ - 2 * noise) * (1 - r.u), (FLAG - noise) * (1 - r.u), r)
