r"""Eva by one softmax layer: the key is the position, the query is x, the value is f, all in binary.

    K_i = T(i),   Q = C·T(x),   V_i = f(i)       =>   score = C·(D - 2·Hamming distance of i and x)

Why it works.  Position x scores 2C more than any other, so all others together weigh n·e^-2C; C grows with
log n, and scores are C times whole numbers up to D: exact in bfloat16 while D ≤ 256 (_lookup.py).

Width 4D, one head with keys and values of size D = ⌈log₂n⌉ [ye2026].
"""

from dataclasses import dataclass

from limen.constructions._lookup import BinaryLookup
from limen.tasks.eva import Eva


@dataclass(frozen=True)
class EvaBySoftmax(BinaryLookup):
    """The retrieval head at its smallest."""

    task: Eva = Eva()
    small = tuple(map(Eva, (1, 2, 3, 4, 5)))
