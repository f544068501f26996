r"""Average real vectors over one set of positions per token.

Sparse averages with every token asking, by one self-attention unit [sanford2023].

    token i is (y_i, z_i):  y_i a set of q places, z_i real numbers in [-1, 1];  wanted: the average of z_j,
    j ∈ y_i

    key of place j    φ(j) = (1, t, …, t^{2q}),  t = j - (N-1)/2
    query of a set    the coefficients of -c·Π_{j∈y} (t - t_j)²:  0 on y, at most -c·g elsewhere

One softmax unit with m = 2q + 1 then averages over y, up to e^{-cg}, g = (⌊q/2⌋!⌈q/2⌉!)² ≥ 1.  The kernel
bounds the error for every set of places and all z, from the very floats in rational numbers (R29).  A
recurrence that is asked behind the z must remember them: N bits for z = ±1.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb, inf, log, nextafter
from typing import Annotated

from limen.commands._command import Shown, command
from limen.commands._words import Seed
from limen.core.arrays import NDArray, np
from limen.core.kernel import averaging_error
from limen.core.option import Option
from limen.core.report import Report
from limen.core.task import distinct
from limen.core.tensors import torch
from limen.errors import BadInput
from limen.mixers.softmax import Softmax
from limen.tasks.sparse_average import SparseAverage

_SETS = 2**12  # whose error is bounded one by one
_LOST = 2.0**-40  # of the weight that may go elsewhere


class AverageReport(Report, frozen=True, kw_only=True, tag="limen/average/1"):
    """The unit, its error on every input and the largest that was seen; what a recurrence needs."""

    tokens: int
    q: int
    size: int  # d', the numbers of a z
    embedding: int  # m
    scale: float  # c
    sets: int
    error: float | None  # at most, for all sets and all z in [-1, 1], in float64; None: nothing is derived
    seen: float
    recurrent_bits: int

    @property
    def headline(self) -> str:
        most = "not bounded" if self.error is None else f"at most {self.error:.3g}"
        return f"averages over {self.q} of {self.tokens} tokens: error {most}"

    @property
    def holds(self) -> bool:
        return self.error is not None and self.seen <= self.error < 1


@command(
    example="limen demo average --tokens 16 --sets 2 --size 3",
    answers=(Shown("limen.commands.demo.average:AverageReport", "limen.render.demo.average:lines_of"),),
)
def average(
    tokens: Annotated[
        int, Option("Number of tokens. Every token asks for an average.", least=2, most=512)
    ] = 16,
    q: Annotated[int, Option("Size of each token's set.", flag="--sets", least=1, most=8)] = 2,
    size: Annotated[int, Option("Size of each token's vector.", least=1, most=1024)] = 3,
    seed: Seed = 0,
) -> AverageReport:
    """The error bound holds for all sets and all vectors. The exit code is 1 if nothing is certified."""
    N, task = tokens, SparseAverage(tokens, q)
    if (sets := comb(N, q)) > _SETS:
        raise BadInput(
            f"there are {sets:,} sets of {q} of {N} positions; the error can be bounded for at most {_SETS:,}"
        )
    keys, c = _keys(N, q), log(N / _LOST)
    queries = {y: _query(keys, y, c) for y in combinations(range(N), q)}
    error = averaging_error(keys.tolist(), [a.tolist() for a in queries.values()], q)
    return AverageReport(
        tokens=N,
        q=q,
        size=size,
        embedding=2 * q + 1,
        scale=c,
        sets=sets,
        error=None if error is None else _above(error),
        seen=_seen(keys, queries, size, seed),
        recurrent_bits=task.rows(task.cut).bits,
    )


def _above(x: Fraction) -> float:
    """A float that is not below x."""
    near = float(x)
    return near if near >= x else nextafter(near, inf)


def _keys(N: int, q: int) -> NDArray[np.float64]:
    """(N, 2q+1): powers of a place, from the middle of the text."""
    t = np.arange(N) - (N - 1) / 2
    return np.asarray(t[:, None] ** np.arange(2 * q + 1), dtype=np.float64)


def _query(keys: NDArray[np.float64], y: tuple[int, ...], c: float) -> NDArray[np.float64]:
    """(2q+1,): the coefficients of -c·Π (t - t_j)², lowest first."""
    roots = keys[list(y), 1].repeat(2)
    return np.asarray(-c * np.poly(roots)[::-1], dtype=np.float64)


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
    mixed = unit.mix({name: torch.as_tensor(part) for name, part in w.items()}, torch.as_tensor(x))
    return float(np.abs(mixed.numpy()[:, -size:] - z[y].mean(axis=1)).max())
