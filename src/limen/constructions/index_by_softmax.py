r"""Index by one softmax layer: the key is the position, the query is p, the value is s, all in binary.

    K_i = T(i),   Q = C·T(p),   V_i = s_i       =>   score = C·(D - 2·Hamming distance of i and p)

Why it works.  Position p scores 2C more than any other, so all others together weigh n·e^-2C; C grows with
log n, and scores are C times whole numbers up to D: exact in bfloat16 while D ≤ 256 (_lookup.py).

Width 2D + 2b, one head with keys of size D = ⌈log₂n⌉ and values of size b = ⌈log₂S⌉ [bhattamishra2024].
"""

from dataclasses import dataclass

from limen.constructions._lookup import BinaryLookup
from limen.tasks.index import Index


@dataclass(frozen=True)
class IndexBySoftmax(BinaryLookup):
    """Positions in binary."""

    task: Index = Index()
    small = Index(1, 2), Index(4, 2), Index(5, 3), Index(3, 9), Index(9, 2)
