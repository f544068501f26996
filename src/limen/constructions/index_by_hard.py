r"""Index by one layer of hard attention: the weights of index_by_softmax; the highest score takes all.

    K_i = T(i),   Q = C·T(x),   V_i the token       =>   j = the one position whose word is the one asked for

Why it works.  Different words have different products with the question, and the right one's is the largest:
it is copied, whatever the gap.  Softmax needs a gap of some log n for the same [hahn2020].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._hard import hardened
from limen.constructions.index_by_softmax import IndexBySoftmax
from limen.model.model import Frame


@dataclass(frozen=True)
class IndexByHard(IndexBySoftmax):
    """One layer, one head."""

    def frame(self) -> Frame:
        return hardened(super().frame())
