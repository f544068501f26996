r"""Bounded Dyck by three Mamba-2 blocks without decay, with a channel that keeps their norm constant.

    S ← S + B(Δu)ᵀ,   Δ = 32,   u = SiLU(x₊) = 1/16 or SiLU(x₋) = -1/16      out = RMSNorm(y ∘ SiLU(z))W_O

Why it works.  exp(-e^-1000·Δ) = 1: nothing fades, the memory adds up.  Some channels of heads with Δ = 0
show 2^45; beside them the sums are small, so that the norm divides by a power of two (_additive.py).  The
three memories of _dyck.py do the rest.

Three layers of h ≥ 2 heads, d ≥ ⌈log₂k⌉ channels each and s ≥ D, behind a convolution over c tokens that
passes the present one.  In bfloat16 sums are exact for D ≤ 30.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._additive import AdditiveMamba2
from limen.constructions._dyck import DyckByMemories
from limen.constructions._features import sizes_of
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.mamba2 import Mamba2
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByMamba2(DyckByMemories):
    """All sizes are those of the architecture: the norm is over all channels."""

    task: Dyck = Dyck()
    _: KW_ONLY
    h: int = 2
    d: int = 4
    s: int = 4
    c: int = 4

    @property
    def memory(self) -> AdditiveMamba2:
        return AdditiveMamba2(Mamba2(self.h, self.d, self.s, c=self.c))

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByMamba2:
        return cls(task=task, **sizes_of(Mamba2, architecture, "h", "d", "s", "c"))  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> tuple[DyckByMamba2, ...]:
        return (
            cls(Dyck(2, 1, 1)),
            cls(Dyck(6, 1, 2)),
            cls(Dyck(6, 2, 2)),
            cls(Dyck(4, 3, 2), h=3, d=4, s=3, c=1),
        )
