r"""Recall by a convolution that brings each key to its value, then one softmax head.

    first layer    a Mamba-2 block looks back by one (_convolution.py)
    second layer   K_j = (T(id before j), +1 at values),   Q = 16·(T(id), +1):   the id behind the asked key

Why it works.  The second layer is that of recall_by_softmax; its first one, a softmax head, is replaced by
a convolution over two tokens, which every Mamba and most delta rules have.  A question that stands where a
value would has been told the question before it, and questions differ.

One Mamba-2 layer with ⌈log₂V⌉ channels in its first head and c ≥ 2, then one softmax head with keys of size
⌈log₂V⌉ + 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._convolution import LooksBack, look_back, look_back_text
from limen.constructions._margins import Roundoff
from limen.constructions._program import Attend, Tier
from limen.constructions._recalled import Recalled
from limen.core.balls import Ball, ball
from limen.tasks.recall import Recall


@dataclass(frozen=True)
class RecallByConvolution(Recalled, LooksBack):
    """The block must hold the digits of a key."""

    task: Recall = Recall()
    small = Recall(1, 2), Recall(2, 7), (Recall(2, 5, q=2), {"c": 4})

    @property
    def first(self) -> Tier:
        """Every token learns the one before it."""
        return Tier(
            [Attend([(asker, "back", 1) for asker in ("values", *self.asks[1:])])],
            look_back_text(self.mixer, self.b),
            lambda w, at: look_back(w, self.mixer, at, "key", "value"),
            {"before": self.b},
        )

    def told(self, r: Roundoff) -> Ball:
        """The digits are exact in formats of up to 24 bits; else within 2^-40."""
        return ball(0) if r.u > ball(2) ** -30 else ball(2) ** -38
