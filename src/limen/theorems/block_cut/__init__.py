"""One layer of block-sparse attention passes little about one player's blocks to its last token."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.tasks.is_tree import IsTree
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.block_cut.inequality import WholeBlocks, rows, sparse_layer


@dataclass(frozen=True)
class BlockCut(Theorem):
    """Alice holds whole blocks, Bob the others and the last one."""

    formal = (
        Formal(
            "block_cut.v",
            "block_cut",
            "the protocol: what one player's blocks tell, for any families of inputs",
        ),
        *(
            Formal("block_cut.v", f"cannot_{what}_blocks", f"{task}: concrete verdicts{words}")
            for what, task, words in (
                ("compare", "equality and disjointness", ""),
                ("count", "counting", ", words instead of all sets"),
                ("three", "3-Sum", ", words instead of all sets"),
                ("average", "sparse averages", ", q - 2 bits fewer"),
                ("tell_trees", "trees", ""),
                ("compose", "composition", ", entries of the first table"),
                ("close", "brackets", ""),
            )
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        part = sparse_layer(Case(task, architecture, steps))
        if isinstance(part, NoStatement):
            return part
        assert isinstance(part.mixer, BlockSparse)
        return stated("block_cut", Case(task, architecture, steps, "", _sizes(task, part.mixer.B)))

    def needs(self, task: Task) -> tuple[Need, ...]:
        family = rows(task, 2, **_sizes(task, 2))
        if not isinstance(family, WholeBlocks):
            return ()
        told = "h((d+2)p + k((d+3)p + ⌈log₂(a+1)⌉))"
        return (Need("one layer of block_sparse", f"{told} ≥ log₂({family.cases})", None),)


def _sizes(task: Task, B: int) -> dict[str, int]:
    """Of a graph the best number of roots: (N-k)·log₂k, N = n-1, is largest near k(ln k + 1) = N."""
    if not isinstance(task, IsTree) or task.n < 4:
        return {}
    low, high = 2, task.n - 2
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if k * Fraction(log(k) + 1) <= task.n - 1 else (low, k)
    whole = max(1, (task.n - 1 - low) // B) * B  # what does not fill a block are more roots
    return {"k": min(max(low, task.n - 1 - whole), task.n - 2)}
