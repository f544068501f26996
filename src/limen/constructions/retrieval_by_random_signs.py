r"""Retrieval by one softmax layer: a key is written as k random signs, nearly orthogonal to all others.

    K_i = T(a_i),   Q = C·T(a),   V_i = b_i,       T random in {±1}^k,   k = ⌈8 ln N⌉,   N = 2^D

Why it works.  In more than half of all draws the products of different words stay below 0.71k
(Johnson–Lindenstrauss; _addresses.py); this draw has 0.62k at N = 2^14.  So the right token scores C·0.29k
more than any other: a fixed share, so a fixed number of significant bits holds the scores of every N, where
binary words need log₂log₂N.  The margin is certified from the very words drawn: by all their products up
to N = 2^14, beyond that by their being different.

Width 2k + 2b, one head with keys of size k and values of size b = ⌈log₂V⌉; with `absent=true` width and
keys are larger by 1, and b = ⌈log₂(V+1)⌉ [bhattamishra2024].
"""

from dataclasses import dataclass

from limen.constructions._lookup import RandomLookup
from limen.tasks.retrieval import Retrieval


@dataclass(frozen=True)
class RetrievalByRandomSigns(RandomLookup):
    """Option k: the length of a word; about 2 log₂N is the least with which all words differ."""

    task: Retrieval = Retrieval()
    small = Retrieval(4, 2, 2), Retrieval(3, 2, 3, absent=True), (Retrieval(2, 3, 3), {"k": 9})
