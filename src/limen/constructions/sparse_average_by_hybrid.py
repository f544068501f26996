r"""Sparse averaging by one softmax layer, then a ReLU recurrence that counts the fetched ones.

    first layer    each query token fetches its z, ±1 (_fetched.py)
    second layer   h_i = h_{i-1} + ReLU(z_i) at the query tokens,      logit_a = 2a·h - a²

Why it works.  Once rounded, what is fetched is exactly ±1, so h counts in whole numbers: at the last token
it is the answer, and logit_h - logit_a = (a - h)².

One softmax head with keys of size ⌈log₂n⌉ + 1, then a state of one number, with 2 inner ReLUs; width
2⌈log₂n⌉ + 5. t significant bits reach q = 2^{t/2 - 1}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from limen.constructions._fetched import Fetched
from limen.constructions._margins import Roundoff, certified, holds
from limen.constructions._program import Logits, Program, Tier
from limen.core.arrays import np
from limen.core.columns import Columns
from limen.core.numbers import Precision
from limen.core.weights import Weights
from limen.tasks.sparse_average import SparseAverage


@dataclass(frozen=True)
class SparseAverageByHybrid(Fetched):
    """The state is a number from 0 to q."""

    task: SparseAverage = SparseAverage()
    small = tuple(SparseAverage(*size) for size in ((1, 1), (2, 1), (3, 3), (5, 2), (4, 4)))

    @property
    def program(self) -> Program:
        """h is the machine's one cell: how many there are."""
        return replace(super().program, more={"cells": {"count": [0]}})

    @property
    def second(self) -> Tier:
        return Tier(mixer="relu_rnn(d=1,stages=2,inner=2)", write=_add, fills={"answer": 1})

    @property
    def readout(self) -> Logits:
        q = self.task.q
        return Logits({"answer": lambda: 2 * np.arange(q + 1.0)}, lambda: -np.square(np.arange(q + 1.0)))

    def margin(self, precision: Precision) -> float | None:
        """Neighbours of h differ by 1, exactly; an error e of each z moves a difference by 2·q·e."""
        r, q = Roundoff.of(precision), self.task.q
        if r is None or not holds(precision, 4 * q * q, 1):
            return None
        error = self.fetching(r)
        return certified(1 - 2 * q * (q + 1) * (error + 4 * r.u)) if error > 0 else 1.0


def _add(w: Weights, at: Columns) -> None:
    """The recurrence: what is kept, and what is new."""
    kept, new = 0, 1
    w["W1"][0, kept] = w["U"][at["fetched"], new] = 1
    w["U"][at["asks"], new], w["b1"][new] = 2, -2  # nothing is added elsewhere
    w["W2"][:, 0] = w["O"][:, at["answer"]] = 1
