r"""Retrieval by one softmax layer: each token holds a key and its value in binary.

    K_i = T(a_i),   Q = C·T(a),   V_i = b_i       =>   score = C·(D - 2·Hamming distance of a_i and a)

Why it works.  The token whose key is a scores 2C more than any other, so all others together weigh
n·e^-2C.  With `absent=true` the asking token scores below a match and above all else on itself, and its own
value is "absent" (_lookup.py).

Width 2D + 2b, one head with keys of size D and values of size b = ⌈log₂V⌉; with `absent=true` width and
keys are larger by 1, and b = ⌈log₂(V+1)⌉ [chen2025].
"""

from dataclasses import dataclass

from limen.constructions._lookup import BinaryLookup
from limen.tasks.retrieval import Retrieval


@dataclass(frozen=True)
class RetrievalBySoftmax(BinaryLookup):
    """Keys as the task writes them, in binary."""

    task: Retrieval = Retrieval()
    small = (
        *(Retrieval(*sizes) for sizes in ((4, 2, 2), (2, 3, 3), (1, 1, 1))),
        *(Retrieval(*sizes, absent=True) for sizes in ((3, 2, 3), (2, 3, 4), (1, 1, 1))),
    )
