r"""Equality by one softmax layer and one bit of recurrence, which drops when a_i, brought to b_i, differs.

    first layer    heard_i = a_i
    second layer   h_i = ReLU(h_{i-1} - ReLU(4(b_i - a_i) - 2) - ReLU(4(a_i - b_i) - 2)),  1 in the first half

Why it works.  The head is that of _halves.py.  With a_i heard within 1/4, the inner ReLUs are exactly 0
where the bits agree, and one of them is at least 1 where they differ.  So h is exactly 1 while all bits
agree and exactly 0 from the first difference on: it is the answer at the last token.

One head with keys of size 2D + 1, D = ⌈log₂n⌉; then a state of one number, with 4 inner ReLUs; width 2D + 5.
The order matters: a recurrence that comes first leaves n bits to be passed on [bhattamishra2024].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from flint import arb

from limen.constructions._halves import Halves
from limen.constructions._margins import Roundoff, certified, in_balls
from limen.constructions._weights import zeros
from limen.constructions._words import decide
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.model.model import Frame
from limen.tasks.equality import Equality


@dataclass(frozen=True)
class EqualityByHybrid(Construction):
    """One head, then a recurrence whose state is 0 or 1."""

    task: Equality = Equality()

    @property
    def halves(self) -> Halves:
        return Halves(self.task.n)

    @property
    def columns(self) -> Columns:
        return self.halves.columns

    def frame(self) -> Frame:
        return Frame(
            Architecture.parse(f"{self.halves.head},relu_rnn(d=1,stages=2,inner=4)"),
            self.columns.width,
            self.task.answers,
            self.halves.embedding,
        )

    def weights(self) -> Weights:
        frame, at = self.frame(), self.columns
        w = zeros(frame)
        self.halves.fill(w, frame)
        # inside: h in the second half, 1 in the first, and the two differences, in the second half alone
        old, start, *differences = range(4)
        w["1.0.W1"][0, old] = 1
        w["1.0.U"][at["second"], old] = 1
        w["1.0.b1"][old] = -1
        w["1.0.U"][at["second"], start] = -1
        w["1.0.b1"][start] = 1
        for i, sign in zip(differences, (4, -4), strict=True):
            w["1.0.U"][at["bit"], i] = sign
            w["1.0.U"][at["heard"], i] = -sign
            w["1.0.U"][at["second"], i] = 4
            w["1.0.b1"][i] = -6
        w["1.0.W2"][:, 0] = np.array([1, 1, -1, -1])
        w["1.0.O"][:, at["verdict"]] = 1
        decide(w, at["verdict"], high=1)
        return w

    @in_balls
    def margin(self, precision: Precision) -> float | None:
        """h is 0 or 1 and the logits ±(h - 1/2), exactly, if a difference, 2 but for errors, is above 1."""
        r = Roundoff.of(precision)
        if r is None:
            return None
        difference = 2 - 4 * self.halves.blur(r) - 10 * (r.u + r.sums(self.columns.width))
        return certified(arb(1)) if difference > 1 else None

    def hints(self) -> dict[str, Any]:
        """Every token hears the first half's at its own place; h is the machine's one cell."""
        looks = [[0, 0, 0, asker, "one", "a"] for asker in ("a", "b", "last")]
        return {"looks": looks, "cells": {"found": [0]}}

    @classmethod
    def examples(cls) -> tuple[EqualityByHybrid, ...]:
        return tuple(cls(Equality(n)) for n in (1, 2, 3, 5, 6))
