r"""Index by one layer of hard attention: the weights of index_by_softmax; the highest score takes all.

    K_i = T(i),   Q = C·T(x),   V_i the token       =>   j = the one position whose word is the one asked for

Why it works.  Different words have different products with the question, and the right one's is the largest:
it is copied, whatever the gap.  Softmax needs a gap of some log n for the same [hahn2020].
"""

from limen.constructions._hard import Hardened
from limen.constructions.index_by_softmax import IndexBySoftmax


class IndexByHard(Hardened, IndexBySoftmax):
    """One layer, one head."""
