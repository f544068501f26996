"""Block-sparse attention with coarse scores confuses near and far points, so it must pass on all labels."""

from __future__ import annotations

from limen.core.architecture import Architecture, P
from limen.core.certificate import Bound
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.block_cut import sparse_layer
from limen_check.cannot.blocks import block_labels, cosines


class BlockLabels(Theorem):
    """Alice holds the labels, Bob the points."""

    supposes = (
        "each score ⟨q,k_j⟩ of a token is one of 2^p numbers, "
        "and a block's score is a function of its tokens' scores"
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """h·p·(⌊(2n+1)/B⌋ + 2(d+2)) ≥ n(1 - (2^{hp}-1)/(m-1)), m cosines with a query on an axis."""
        part = sparse_layer(case)
        if isinstance(part, NoStatement):
            return part
        if not isinstance(case.task, NearestNeighbor):
            return NoStatement("it is about points and their labels", elsewhere=True)
        assert isinstance(part.mixer, BlockSparse)
        h, p, m = part.mixer.h, P if part.p is None else part.p, cosines(case.task.g)
        if h * p >= m.bit_length():
            return NoStatement(
                f"{m} different cosines are no more than {h} scores of {p} bits can distinguish"
            )
        return stated("block_labels", block_labels, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if not isinstance(task, NearestNeighbor):
            return ()
        inequality = "hp(⌊(2n+1)/B⌋ + 2(d+2)) ≥ n(1 - (2^{hp}-1)/(m-1)), m cosines with one query"
        scores = (
            "h·p, the bits of one token's scores: at least min(B/4, log₂m - 1) in long texts, m about 1.2·g²"
        )
        mixer = "one layer of block_sparse, scores of p bits"
        return (Need(mixer, inequality, None, "Ω(min(B, log g))", scores),)
