r"""Eva by one block-sparse layer: the position of its first token identifies a block, which is then opened.

Why it works.  The key is the place in signs, the query is x, the value is f in binary.  The message of a
block is the key of its first token, so that the block asked for scores highest and is opened; inside it is
the lookup of `eva_by_softmax` (_blocks.py).

One head with keys of size ⌈log₂n⌉; any number of blocks, B a power of two.
"""

from dataclasses import dataclass

from limen.constructions._blocks import BlockLookup
from limen.tasks.eva import Eva


@dataclass(frozen=True)
class EvaByBlockSparse(BlockLookup):
    """One head."""

    task: Eva = Eva()
    small = Eva(1), Eva(4), (Eva(5), {"B": 4}), (Eva(5), {"B": 1, "k": 2})
