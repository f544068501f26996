r"""Bounded Dyck by three layers of RWKV-7 in which nothing fades and nothing is removed.

Why it works.  exp(-σ(-200)/√e) = 1 and ξ = α = 0: it is linear attention without a normaliser, so it adds up
as it is (_additive.py).  The three memories of _dyck.py do the rest.

Three layers of one head, keys of size D, values of size ⌈log₂k⌉, exact in bfloat16 for D ≤ 30.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.constructions._additive import GatedLinearMemory
from limen.constructions._dyck import DyckByMemories
from limen.mixers.rwkv7 import Rwkv7
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByRwkv7(DyckByMemories):
    """As small as can be: larger heads are filled with zeros."""

    task: Dyck = Dyck()

    @property
    def memory(self) -> GatedLinearMemory:
        return GatedLinearMemory(Rwkv7(1, self.b, d_k=self.task.D))

    @classmethod
    def examples(cls) -> tuple[DyckByRwkv7, ...]:
        return tuple(cls(Dyck(*size)) for size in ((2, 1, 1), (6, 1, 2), (6, 2, 2), (4, 3, 2)))
