r"""Equality by two softmax layers: the first brings a_i to b_i, the second looks for a difference.

    heard_i = a_i,   flaw_i = ReLU(2(b_i - a_i) - 1) + ReLU(2(a_i - b_i) - 1),   answer 1 iff no flaw is found

Why it works.  The heads are those of _halves.py.  With a_i heard within 1/2, the flaw is exactly 0 where
the bits agree; elsewhere it is about 1.  In the first half a bias keeps it at 0, whatever was heard there.
The last token, b_n, is compared as any other and also reads the verdict: no end mark is needed.

Two layers of one head, keys of size 2D + 1 with D = ⌈log₂n⌉, width 2D + 6, two ReLUs a token.  One layer
needs n bits between the halves [bhattamishra2024].
"""

from dataclasses import dataclass

from limen.constructions._halves import Compared
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class EqualityBySoftmax(Compared):
    """The flaw is all there is to say."""

    task: Equality = Equality()
    small = tuple(map(Equality, (1, 2, 3, 5, 6)))
