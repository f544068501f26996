r"""Recall by two softmax layers: a value fetches the key before it, then the asked key is looked up.

All tokens are written alike: position and id, each as a word of signs, one of them the position's parity.

    layer 1    K_j = (rest_j, parity_j),   Q_j = C·(rest_j, -1)      fetches u_j = T(id at the even position)
    layer 2    K_j = (u_j, parity_j),      Q   = C·(T(id), +1)       reads the id behind the asked key

Why it works.  In layer 1 the query is the word of the pair's first position, which scores 2C more than any
other; a key fetches itself.  In layer 2 only values have parity +1, and each has fetched another key, so the
right one alone carries the word (T(key), +1): again 2C more than any other.  A query that stands where a
value would has fetched the query before it, and queries differ.  What was fetched is within about n·e^-2C of
signs, and equal to them once rounded to 24 bits or fewer.  C grows with log n (_lookup.py).

Two layers of one head, key sizes D and b+1, value size b, width D + 3b + 1, where D = ⌈log₂(2n+q)⌉ and
b = ⌈log₂V⌉; any q.  Scores are exact in bfloat16 while D ≤ 256 and b < 256
[arora2024zoology].
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._addresses import BinaryWords
from limen.constructions._fields import ONE, Stretch
from limen.constructions._lookup import blur, contrast, digits_margin, noise, rounded, roundoff, stray
from limen.constructions._margins import certified
from limen.constructions._program import Attend, Match, Piece, Program, Programmed, Tier
from limen.core.balls import ball
from limen.core.numbers import Precision
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallBySoftmax(Programmed):
    """A previous-token head, then a retrieval head."""

    task: Recall = Recall()
    small = Recall(1, 2), Recall(1, 9), Recall(2, 7), Recall(2, 5, q=2)

    @property
    def position(self) -> BinaryWords:
        return BinaryWords.of(self.task.length)

    @property
    def id(self) -> BinaryWords:
        return BinaryWords.of(self.task.V)

    @property
    def C(self) -> int:
        """What one matching sign scores."""
        return contrast(self.task.length)

    @property
    def program(self) -> Program:
        """All look at the even place of their pair, then the questions at the values."""
        D, C = self.position.k, self.C
        asks = ("even", "odd") if self.task.q > 1 else ("even",)
        parity, rest = Piece("position", 0, 1), Piece("position", 1, D - 1)  # the least digit: +1 on values
        fetch = Attend(
            [(asker, "one", "evens") for asker in ("evens", "values", *asks)],
            [Match({"one": -C}, {parity: 1}), Match({rest: C}, {rest: 1})],
            {"key": {"id": 1}},
        )
        find = Attend(
            [(asker, "one", "values") for asker in asks],
            [Match({"id": C}, {"key": 1}), Match({"one": C}, {parity: 1})],
            {"answer": {"id": 1 / 2, "one": 1 / 2}},  # signs become digits, (1 + T)/2
        )
        token = {"position": self.position.field("place"), "id": self.id.field("token"), "one": ONE}
        return Program([Stretch(self.task.length, token)], [Tier([fetch]), Tier([find])], "answer")

    def margin(self, precision: Precision) -> float | None:
        n, D, b, C = self.task.length, self.position.k, self.id.k, self.C
        r = roundoff(precision, C * max(D, b + 1))
        if r is None:
            return None
        fetched = rounded(blur(stray(n - 1, 2 * C, noise(C, D, ball(0), r)), n, r), r)
        off = stray(n - 1, 2 * C, noise(C, b + 1, fetched, r))
        return certified(digits_margin(blur(off, n, r), b, r))
