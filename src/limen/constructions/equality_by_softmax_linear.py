r"""Equality by one softmax layer, then linear attention that reads only positions where a flaw was found.

    first layer    heard_i = a_i; ReLUs make flaw_i of it, exactly 0 or about 1
    second layer   φ(k_j) = flaw_j,  value flaw_j:   Σ flaw / Σ flaw, so 1, or 0 without a flaw

Why it works.  The head, the flaws and the average are those of _halves.py.  Linear attention cannot single
out one token of many, but it need not: all flaws are alike.

One head with keys of size 2D + 1, D = ⌈log₂n⌉; then one linear head, φ = elu + 1 with its normaliser, of
which one coordinate is used; width 2D + 6.
"""

from dataclasses import dataclass

from limen.constructions._halves import Weighed
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class EqualityBySoftmaxLinear(Weighed):
    """One softmax head, then one linear head."""

    task: Equality = Equality()
    small = Equality(1), Equality(2), Equality(5), (Equality(3), {"d_k": 4})
