r"""Index by one block-sparse layer: a block is known by its first token's place, and so it is opened.

Why it works.  The key is the place in signs, the query is p, the value is s in binary.  The message of a
block is the key of its first token, so that the block asked for scores highest and is opened; inside it is
the lookup of `index_by_softmax` (_blocks.py).

One head with keys of size ⌈log₂n⌉; any number of blocks, B a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._blocks import BlockLookup
from limen.tasks.index import Index


@dataclass(frozen=True)
class IndexByBlockSparse(BlockLookup):
    """One head."""

    task: Index = Index()

    @classmethod
    def examples(cls) -> tuple[IndexByBlockSparse, ...]:
        return cls(Index(1, 3)), cls(Index(6, 2)), cls(Index(8, 2), B=4), cls(Index(7, 2), B=2, k=2)
