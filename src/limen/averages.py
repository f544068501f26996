r"""Sparse averages with every token asking, by one self-attention unit: `limen average` [sanford2023].

    token i is (y_i, z_i):  y_i a set of q places, z_i real numbers in [-1, 1];  wanted: the average of z_j,
    j ∈ y_i

    key of place j    φ(j) = (1, t, …, t^{2q}),  t = j - (N-1)/2
    query of a set    the coefficients of -c·Π_{j∈y} (t - t_j)²:  0 on y, at most -c·g elsewhere

One softmax unit with m = 2q + 1 then averages over y, up to e^{-cg}, g = (⌊q/2⌋!⌈q/2⌉!)² ≥ 1.  The error is
bounded for every set of places and all z: scores from the very floats in rational numbers, the rounding of a
dot product of m by its usual bound, weights in balls.  A recurrence that is asked behind the z must remember
them: N bits for z = ±1.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, log
from typing import TYPE_CHECKING

import lazy_loader
from flint import arb, ctx, fmpq, fmpz

from limen.core.arrays import NDArray, np
from limen.core.errors import BadInput
from limen.core.report import Report
from limen.core.task import distinct
from limen.mixers.softmax import Softmax
from limen.tasks.sparse_average import SparseAverage

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_SETS = 2**12  # whose error is bounded one by one
_LOST = 2.0**-40  # of the weight that may go elsewhere
_U = Fraction(1, 2**53)


class AverageReport(Report, frozen=True, kw_only=True, tag="limen/average/1"):
    """The unit, its error on every input and the largest that was seen; what a recurrence needs."""

    tokens: int
    q: int
    size: int  # d', the numbers of a z
    embedding: int  # m
    scale: float  # c
    sets: int
    error: float  # at most, for all sets and all z in [-1, 1], in float64
    seen: float
    recurrent_bits: int

    @property
    def headline(self) -> str:
        return f"averages over {self.q} of {self.tokens} tokens: error at most {self.error:.3g}"

    @property
    def holds(self) -> bool:
        return self.seen <= self.error < 1


def average(N: int, q: int, size: int, seed: int) -> AverageReport:
    """Builds the unit, bounds its error over all sets, and runs it on drawn ones."""
    task = SparseAverage(N, q)
    if (sets := comb(N, q)) > _SETS:
        raise BadInput(
            f"there are {sets:,} sets of {q} of {N} positions; the error can be bounded for at most {_SETS:,}"
        )
    keys, c = _keys(N, q), log(N / _LOST)
    queries = {y: _query(keys, y, c) for y in combinations(range(N), q)}
    rows = task.rows(task.cut)
    return AverageReport(
        tokens=N,
        q=q,
        size=size,
        embedding=2 * q + 1,
        scale=c,
        sets=sets,
        error=max(_error(keys, queries[y], y) for y in queries),
        seen=_seen(keys, queries, size, seed),
        recurrent_bits=rows.bits,
    )


def _keys(N: int, q: int) -> NDArray[np.float64]:
    """(N, 2q+1): powers of a place, from the middle of the text."""
    t = np.arange(N) - (N - 1) / 2
    return np.asarray(t[:, None] ** np.arange(2 * q + 1), dtype=np.float64)


def _query(keys: NDArray[np.float64], y: tuple[int, ...], c: float) -> NDArray[np.float64]:
    """(2q+1,): the coefficients of -c·Π (t - t_j)², lowest first."""
    roots = keys[list(y), 1].repeat(2)
    return np.asarray(-c * np.poly(roots)[::-1], dtype=np.float64)


def _error(keys: NDArray[np.float64], a: NDArray[np.float64], y: tuple[int, ...]) -> float:
    """Σ_{j∈y} |α_j - 1/q| + Σ_{j∉y} α_j, each score anywhere in its interval, plus softmax's rounding."""
    m, N, q = len(a), len(keys), len(y)
    with ctx.workprec(128):
        weights = [_weight(a, row, m) for row in keys]
        total = sum(weights, arb(0))
        error = sum((abs(weights[j] / total - arb(1) / q) for j in y), arb(0))
        error += sum((weights[j] / total for j in set(range(N)) - set(y)), arb(0))
        return float((error + (2 * N + 16) * arb(2) ** -52).upper())


def _weight(a: NDArray[np.float64], row: NDArray[np.float64], m: int) -> arb:
    """e^s as a ball: s in rational numbers, and around it the error of a sum of m rounded products."""
    products = [Fraction(float(x)) * Fraction(float(k)) for x, k in zip(a, row, strict=True)]
    s, off = sum(products), sum(map(abs, products)) * m * _U / (1 - m * _U)
    return arb(_rational(s), _rational(off)).exp()


def _rational(x: Fraction | int) -> arb:
    whole = Fraction(x)
    return arb(fmpq(fmpz(whole.numerator), fmpz(whole.denominator)))


def _seen(
    keys: NDArray[np.float64], queries: dict[tuple[int, ...], NDArray[np.float64]], size: int, seed: int
) -> float:
    """The unit on drawn inputs: every token asks for a set of its own, z uniform."""
    rng, (N, m), q = np.random.default_rng(seed), keys.shape, len(next(iter(queries)))
    y = np.sort(distinct(rng, N, q, N), axis=1)
    z = rng.uniform(-1, 1, size=(N, size))
    x = np.hstack([keys, np.stack([queries[tuple(map(int, row))] for row in y]), z, np.zeros((N, size))])
    unit, columns = Softmax(h=1, d=size, d_k=m, bidirectional=True), np.eye(x.shape[1])
    key, query, value, out = np.split(columns, [m, 2 * m, 2 * m + size], axis=1)
    w = {"Q": query, "K": key, "V": value, "O": out.T}
    found = unit.mix({name: torch.as_tensor(part) for name, part in w.items()}, torch.as_tensor(x))
    return float(np.abs(found.numpy()[:, -size:] - z[y].mean(axis=1)).max())
