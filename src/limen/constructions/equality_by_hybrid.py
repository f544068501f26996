r"""Equality by one softmax layer and one bit of recurrence, which drops when a_i, brought to b_i, differs.

    first layer    heard_i = a_i
    second layer   h_i = ReLU(h_{i-1} - ReLU(4(b_i - a_i) - 2) - ReLU(4(a_i - b_i) - 2)),  1 in the first half

Why it works.  The head and the recurrence are those of _halves.py.  With a_i heard within 1/4, the inner
ReLUs are exactly 0 where the bits agree, and one of them is at least 1 where they differ.  So h is exactly
1 while all bits agree and exactly 0 from the first difference on: it is the answer at the last token.

One head with keys of size 2D + 1, D = ⌈log₂n⌉; then a state of one number, with 4 inner ReLUs; width 2D +
6. The order matters: a recurrence that comes first leaves n bits to be passed on [bhattamishra2024].
"""

from dataclasses import dataclass

from limen.constructions._halves import Watched
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class EqualityByHybrid(Watched):
    """One head, then a recurrence whose state is 0 or 1."""

    task: Equality = Equality()
    small = tuple(map(Equality, (1, 2, 3, 5, 6)))
