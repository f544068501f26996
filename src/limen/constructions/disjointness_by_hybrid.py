r"""Disjointness by one softmax layer and one bit of recurrence, which drops where a_i and b_i are both 1.

    first layer    heard_i = a_i
    second layer   h_i = ReLU(h_{i-1} - ReLU(4(a_i + b_i) - 6)),  1 in the first half

Why it works.  The head and the recurrence are those of _halves.py.  With a_i heard within 1/4, the inner
ReLU is exactly 0 where not both bits are 1, and at least 1 where both are.  So h is exactly 1 while no
element is common and exactly 0 from the first one on: it is the answer at the last token.

One head with keys of size 2D + 1, D = ⌈log₂n⌉; then a state of one number, with 3 inner ReLUs; width 2D +
6.
"""

from dataclasses import dataclass

from limen.constructions._halves import Watched
from limen.tasks.disjointness import Disjointness


@dataclass(frozen=True)
class DisjointnessByHybrid(Watched):
    """One head, then a recurrence whose state is 0 or 1."""

    task: Disjointness = Disjointness()
    small = tuple(map(Disjointness, (1, 2, 3, 5)))
