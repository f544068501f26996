r"""Bounded Dyck by three layers of gated linear attention whose gates are all 1.

Why it works.  σ(200) = 1: nothing is forgotten, and there is no normaliser, so it adds up as it is
(_additive.py). The three memories of _dyck.py do the rest.

Three layers of one head, keys of size D, values of size ⌈log₂k⌉, exact in bfloat16 for D ≤ 30.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._additive import GatedLinearMemory
from limen.constructions._dyck import DyckByMemories
from limen.mixers.gated_linear import GatedLinear
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByGatedLinear(DyckByMemories):
    """As small as can be: larger heads are filled with zeros."""

    task: Dyck = Dyck()

    @property
    def memory(self) -> GatedLinearMemory:
        return GatedLinearMemory(GatedLinear(1, self.b, d_k=self.task.D))

    @classmethod
    def examples(cls) -> tuple[DyckByGatedLinear, ...]:
        return tuple(cls(Dyck(*size)) for size in ((2, 1, 1), (6, 1, 2), (6, 2, 2), (4, 3, 2)))
