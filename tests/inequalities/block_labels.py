"""The inequality of `block_labels`: where scores are coarse, a near point and a far one score alike."""

from __future__ import annotations

from inequalities.block_cut import sparse_layer
from limen.core.architecture import P
from limen.core.theorem import NoStatement
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """h·p·(⌊(2n+1)/B⌋ + 2(d+2)) ≥ n(1 - (2^{hp}-1)/(m-1)), m cosines with a query on an axis."""
    part = sparse_layer(case)
    if isinstance(part, NoStatement):
        return part
    if not isinstance(case.task, NearestNeighbor):
        return NoStatement("it is about points and their labels", elsewhere=True)
    mixer, p, n = part.mixer, P if part.p is None else part.p, case.task.n
    assert isinstance(mixer, BlockSparse)
    m = cosines(case.task)
    if mixer.h * p >= m.bit_length():
        return NoStatement(
            f"{m} different cosines are no more than {mixer.h} scores of {p} bits can distinguish"
        )
    bad = n * (2 ** (mixer.h * p) - 1) // (m - 1)
    return Sides(needs=n - bad, has=mixer.h * p * ((2 * n + 1) // mixer.B + 2 * (mixer.d + 2)))


def cosines(task: NearestNeighbor) -> int:
    """With a query on the first axis there are at least: one for every two directions of a plane, and one."""
    return NearestNeighbor(1, 2, task.g).directions // 2 + 1
