r"""Lattice collisions of block messages: a block with a partner and one without send the same message.

    message = pool·Σ_b E(token_b);   wanted: c ∈ ℤ^M with Σ c = 0, Σ_t c_t·E(t) = 0 and |c|₁ ≤ 2B

Tokens may be repeated, so c need not be of 0 and ±1: its positive part is the one block, its negative part
the other, both filled up with the same tokens.  Every block of the text is the second; one that the query
does not open becomes the first.  The query then asks for a token that only the first has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limen.adversary.strategies._relations import relations, with_sums
from limen.core.arrays import NDArray, np
from limen.core.certificate import Collision
from limen.core.numbers import Exact, Fixed
from limen.core.strategy import Access, Searched, Strategy
from limen.core.task import Tokens
from limen.core.tensors import torch
from limen.mixers.block_sparse import BlockSparse
from limen.model.model import Model
from limen.model.target import Target
from limen.tasks.two_sum import TwoSum
from limen.witness.certified import collision

_SIZES = (1.25, 2, 3, 4.5)  # tokens of a lattice for each number of a message


@dataclass(frozen=True)
class BlockLattice(Strategy):
    """Lattices of more and more tokens, until a relation is short enough for a block."""

    needs: ClassVar[Access] = Access.WEIGHTS

    def refuses(self, target: Target) -> str | None:
        if not isinstance(target.task, TwoSum):
            return f"this strategy applies to two_sum, not to {target.task}"
        if target.limen is None or pooled(target.limen, target.task) is None:
            return "the model is not a single block-sparse layer whose sums ignore positions"
        exact = isinstance(target.precision, Fixed | Exact)
        return None if exact else "this strategy needs exact sums, as in fixed(f=…); here sums are rounded"

    def search(self, target: Target) -> Searched[Collision]:
        task, model = target.task, target.limen
        assert isinstance(task, TwoSum) and model is not None
        mixer = pooled(model, task)
        assert mixer is not None
        told = brought(target)  # (M, numbers)
        lower = np.arange(1, (task.M + 1) // 2)  # no two of them are partners
        for size in _SIZES:
            if target.over:
                break
            some = target.rng.permutation(lower)[: int(size * (told.shape[1] + 1))]
            with_count = np.column_stack([told[some], np.ones(len(some), dtype=np.int64)])
            vectors = relations(with_count)
            vectors = vectors[np.argsort(np.abs(vectors).sum(1))] if len(vectors) else vectors
            for c in with_sums(vectors) if len(vectors) else ():
                if 0 < np.abs(c).sum() <= 2 * mixer.B:
                    pair = _switched(target, mixer.B, np.repeat(some, np.maximum(c, 0)),
                                     np.repeat(some, np.maximum(-c, 0)))  # fmt: skip
                    if pair is not None:
                        return Searched(pair)
                    break
        return Searched(None)


def pooled(model: Model, task: TwoSum) -> BlockSparse | None:
    """The mixer of a single block-sparse layer whose message weighs all tokens of a block alike."""
    layers = model.frame.architecture.layers
    mixer = layers[0].parts[0].mixer if len(layers) == 1 and len(layers[0].parts) == 1 else None
    if not isinstance(mixer, BlockSparse) or task.n // mixer.B < 2:
        return None
    pools = (model.weights["0.0.PK"], model.weights["0.0.PV"])
    alike = all(bool((pool == pool[:, :1]).all()) for pool in pools)
    with torch.no_grad():
        token = torch.zeros(1, task.n, dtype=torch.int64)
        x = model.seen(0, model.embedded(token))
        placeless = bool((x == x[:, :1]).all())
    return mixer if alike and placeless else None


def brought(target: Target) -> NDArray[np.int64]:
    """(M, numbers): a token's keys and values of all heads, in units of 2^-f."""
    model = target.limen
    assert model is not None
    unit = 2.0**target.precision.f if isinstance(target.precision, Fixed) else 1.0
    with torch.no_grad(), target.computing():
        x = model.seen(0, model.embedded(torch.arange(target.task.vocab)[:, None]))[:, 0]
        w = model.parts["0.0"]
        told = torch.cat([x @ w["K"], x @ w["V"]], -1)
    target.forwards += 1
    return np.rint(told.to(torch.float64).numpy() * unit).astype(np.int64)


def _switched(target: Target, B: int, containing: Tokens, without: Tokens) -> Collision | None:
    """Two inputs that differ in one block which the query does not open, if there is such a block."""
    task = target.task
    assert isinstance(task, TwoSum)
    filler = np.full(B - len(without), without[0])
    containing, without = np.append(containing, filler), np.append(without, filler)
    v = containing[~np.isin(containing, without)][0]
    left = np.resize(without, task.n)
    for start in range(0, task.n - B + 1, B):
        right = left.copy()
        right[start : start + B] = containing
        target.forwards += 2
        if (pair := collision(target, left, right, np.array([-v % task.M]))) is not None:
            return pair
    return None
