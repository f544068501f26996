r"""Bounded Dyck by three layers of the gated delta rule, which writes so little that it erases nothing.

    S ← S - β·k(kᵀS - v),    β = σ(-22.875) ≈ 2^-33,    |S| ≤ β·(D + 1)      =>      S ← S + β·k vᵀ

Why it works.  Beside v, of size 1/16 or more, kᵀS is less than formats of up to 24 bits see: nothing is
erased, the memory adds up, and O multiplies by 1/β (_additive.py).  No gate beyond (0, 1) and no negative
eigenvalue is needed.  The three memories of _dyck.py do the rest.

Three layers of one head, keys of size D, values of size ⌈log₂k⌉, behind a convolution over c tokens that
passes the present one.  In bfloat16 β is 2^-33 and sums are exact for D ≤ 30; in float32 each token may add
10^-7 of an error.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._additive import AdditiveDelta
from limen.constructions._dyck import DyckByMemories
from limen.constructions._features import sizes_of
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.gated_delta import GatedDelta
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByGatedDelta(DyckByMemories):
    """c is that of the architecture: a convolution brings a SiLU with it."""

    task: Dyck = Dyck()
    _: KW_ONLY
    c: int = 1

    @property
    def memory(self) -> AdditiveDelta:
        return AdditiveDelta(GatedDelta(1, self.b, d_k=self.task.D, c=self.c))

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByGatedDelta:
        return cls(task=task, **sizes_of(GatedDelta, architecture, "c"))  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> tuple[DyckByGatedDelta, ...]:
        return cls(Dyck(2, 1, 1)), cls(Dyck(6, 1, 2)), cls(Dyck(6, 2, 2)), cls(Dyck(6, 2, 2), c=4)
