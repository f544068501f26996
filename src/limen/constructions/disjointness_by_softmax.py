r"""Disjointness by two softmax layers: the first brings a_i to b_i, the second looks for a common element.

    heard_i = a_i,   flaw_i = ReLU(2(a_i + b_i) - 3),   answer 1 iff no flaw is found

Why it works.  The heads are those of _halves.py.  With a_i heard within 1/2, the flaw is exactly 0 where
not both are 1; elsewhere it is about 1.  In the first half a bias keeps it at 0, whatever was heard there.
The last token, b_n, is compared as any other and also reads the verdict: no end mark is needed.

Two layers of one head, keys of size 2D + 1 with D = ⌈log₂n⌉, width 2D + 5, one ReLU a token.  One layer
needs n bits between the halves [sanford2023].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader

from limen.constructions._halves import Halves
from limen.constructions._margins import Roundoff, certified
from limen.constructions._weights import zeros
from limen.constructions._words import decide
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.construction import Construction
from limen.core.local import Mlp
from limen.core.model import Frame
from limen.core.numbers import Precision
from limen.tasks.disjointness import Disjointness

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


@dataclass(frozen=True)
class DisjointnessBySoftmax(Construction):
    """Two layers, one head each."""

    task: Disjointness = Disjointness()

    @property
    def halves(self) -> Halves:
        return Halves(self.task.n)

    @property
    def columns(self) -> Columns:
        return self.halves.columns

    def frame(self) -> Frame:
        return Frame(
            Architecture.parse(f"{self.halves.head},softmax(h=1,d=1)"),
            self.columns.width,
            self.task.answers,
            self.halves.embedding,
            (Mlp(1), None),
        )

    def weights(self) -> dict[str, torch.Tensor]:
        frame, at = self.frame(), self.columns
        w = zeros(frame)
        self.halves.fill(w, frame)
        w["0.local.W1"][at["bit"]] = 2
        w["0.local.W1"][at["heard"]] = 2
        w["0.local.W1"][at["second"]] = 2
        w["0.local.b1"][:] = -5  # with 2·second: -3 in the second half and -5 in the first
        w["0.local.W2"][:, at["flaw"]] = 1
        self.halves.pool(w)
        decide(w, at["verdict"], high=0)
        return w

    def margin(self, precision: Precision) -> float | None:
        r = Roundoff.of(precision)
        apart = None if r is None else self.halves.pooled(r)
        return None if apart is None else certified(apart)

    @classmethod
    def examples(cls) -> tuple[DisjointnessBySoftmax, ...]:
        return tuple(cls(Disjointness(n)) for n in (1, 2, 3, 5, 6))
