r"""Sparse averaging by one query vector for the whole set: it scores 1 with each of its random keys.

    K_j = u_j in {±1}^m,     Q = c·w_y,  w_y = Σ_{i in y} α_i u_i  with  ⟨u_i, w_y⟩ = 1 on y     [sanford2023]

Why it works.  Random keys are nearly orthogonal, so w_y exists and scores little elsewhere, about N(0,
q/m): m = 8q·⌈log₂n⌉ leaves half of the score as the gap for nearly every y, but not for every one (measured
at n = 4096, q = 8: random y reach 0.48, the q keys most like another one reach 0.94).  For every y at once:
let s_k be the most that k keys overlap with another, Σ|⟨u_i, u_j⟩|.  Then |α_i| ≤ 1/(m - s_{q-1}), for the
Gram matrix is diagonally dominant, and off y the score is at most s_q/(m - s_{q-1}): below 1 from about m =
8q²·⌈log₂n⌉ on.  `margin` computes s from the keys themselves, up to n = 4096.

Plain sums Σ u_i will not do for q ≥ 3: their scores on y differ by overlaps, about √(qm) in m, and the
factor that suppresses n others turns this into unequal weights (measured at n = 1024, q = 4: wrong up to
m > n).  Hence α, a function of y for which no ReLU network is written here: see `_sparse_average`.

Width 2m + (q+1)P + q + 2, P = ⌈log₂n⌉; q heads of size P, then one with keys of size m.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import cached_property

from limen.constructions._margins import Roundoff
from limen.constructions._sparse_average import SetQuery, native, power_of_two
from limen.core.arrays import NDArray, np
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.core.tensors import torch
from limen.tasks.sparse_average import SparseAverage

SEED = 0  # any will do: what the keys must satisfy is computed from them, not assumed
MOST = 2**12  # keys whose overlaps are all computed


@dataclass(frozen=True)
class SparseAverageByRandomKeys(SetQuery):
    """Two layers; keys of m signs (default: 8q·⌈log₂n⌉)."""

    small = (
        *(SparseAverage(*size) for size in ((1, 1), (5, 1), (5, 2), (6, 3), (8, 2))),
        (SparseAverage(6, 3), {"m": 216}),
    )
    _: KW_ONLY
    m: int | None = None

    @property
    def key_size(self) -> int:
        return self.m or 8 * self.task.q * self.P

    @property
    def c(self) -> float:
        return power_of_two(2 * math.log(16 * self.task.n))

    @cached_property
    def keys(self) -> NDArray[np.float64]:
        signs = np.random.Generator(np.random.PCG64(SEED)).integers(2, size=(self.task.n, self.key_size))
        return (2 * signs - 1).astype(np.float64)

    def query(self, y: torch.Tensor) -> torch.Tensor:
        U = torch.as_tensor(self.keys)[y]  # (count, q, m)
        α = torch.linalg.solve(U @ U.mT, U.new_ones((*y.shape, 1)))  # (count, q, 1)
        w: torch.Tensor = (α.mT @ U).squeeze(-2)
        return w

    def overlaps(self) -> tuple[int, int]:
        """s_{q-1} and s_q: how much so many keys overlap with another at most."""
        U, n, q = self.keys.astype(np.float32), self.task.n, self.task.q  # exact: integers below 2^24
        overlap = np.abs(U @ U.T)
        np.fill_diagonal(overlap, 0)
        most = np.sort(np.partition(overlap, n - q, axis=1)[:, n - q :], axis=1).astype(np.int64)
        return int(most[:, 1:].sum(axis=1).max()), int(most.sum(axis=1).max())

    def margin(self, precision: Precision) -> float | None:
        r, q, m, c = Roundoff.of(precision), self.task.q, self.key_size, ball(self.c)
        if r is None or not native(precision) or self.task.n > MOST:
            return None
        fewer, s = self.overlaps()
        room = m - fewer
        if s >= room:
            return None
        # Gaussian elimination with growth at most 2 solves a system that differs by 6q³·2^-53 of its norm,
        # m + s_{q-1}; then w is a sum of q terms, each at most 1/room
        unit = ball(2) ** -52
        solved = (6 * q**3 * (m + fewer) + q * q * m) * unit / room
        # |w|₁ ≤ √m·|w|₂ and |w|₂² = Σα ≤ q/room; w is rounded once, the score accumulated and rounded
        size = (ball(m * q) / room).sqrt()
        noise = c * (solved + size * (r.u + r.sums(m)) * (1 + r.u) + r.u * (1 + size * r.sums(m)))
        off = c * (1 - ball(s) / room)
        return self.set_margin(noise, (off - 2 * noise) * (1 - r.u), (c - noise) * (1 - r.u), r)
