r"""Retrieval by one layer of hard attention: retrieval_by_softmax, where the highest score takes all.

    K_i = T(a_i),   Q = C·T(a),   V_i = b_i       =>   j = the one token whose key is the one asked for

Why it works.  Different keys have different products with the question, and the right one's is the largest:
it is copied, whatever the gap.  With `absent=true` the asking token is ahead of every other key on itself,
and says "absent".  Softmax needs a gap of some log n for the same [hahn2020].
"""

from limen.constructions._hard import Hardened
from limen.constructions.retrieval_by_softmax import RetrievalBySoftmax


class RetrievalByHard(Hardened, RetrievalBySoftmax):
    """One layer, one head."""
