r"""Index by one softmax layer: a position is written as k random signs, nearly orthogonal to all others.

    K_i = T(i),   Q = C·T(p),   V_i = s_i,       T random in {±1}^k,   k = ⌈8 ln N⌉,   N = n

Why it works.  In more than half of all draws the products of different words stay below 0.71k
(Johnson–Lindenstrauss; _addresses.py); this draw has 0.62k at N = 2^14.  So the right token scores C·0.29k
more than any other: a fixed share, so a fixed number of significant bits holds the scores of every N, where
binary words need log₂log₂N.  The margin is certified from the very words drawn: by all their products up
to N = 2^14, beyond that by their being different.

Width 2k + 2b, one head with keys of size k and values of size b = ⌈log₂S⌉ [bhattamishra2024].
"""

from dataclasses import dataclass

from limen.constructions._lookup import RandomLookup
from limen.tasks.index import Index


@dataclass(frozen=True)
class IndexByRandomSigns(RandomLookup):
    """Option k: the length of a word; about 2 log₂N is the least with which all words differ."""

    task: Index = Index()
    small = Index(1, 2), Index(5, 3), Index(9, 2), (Index(9, 2), {"k": 9})
