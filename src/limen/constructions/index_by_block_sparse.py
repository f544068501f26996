r"""Index by one block-sparse layer: the position of its first token identifies a block, which is then opened.

Why it works.  The key is the place in signs, the query is p, the value is s in binary.  The message of a
block is the key of its first token, so that the block asked for scores highest and is opened; inside it is
the lookup of `index_by_softmax` (_blocks.py).

One head with keys of size ⌈log₂n⌉; any number of blocks, B a power of two.
"""

from dataclasses import dataclass

from limen.constructions._blocks import BlockLookup
from limen.tasks.index import Index


@dataclass(frozen=True)
class IndexByBlockSparse(BlockLookup):
    """One head."""

    task: Index = Index()
    small = Index(1, 3), Index(6, 2), (Index(8, 2), {"B": 4}), (Index(7, 2), {"B": 2, "k": 2})
