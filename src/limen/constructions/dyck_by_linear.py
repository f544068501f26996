r"""Bounded Dyck by three layers of linear attention with an anchored normaliser, so that it adds up.

    y_i = Σ_{2≤j≤i} ⟨q_i, k_j⟩v_j / (A + m),   m ≤ n,   A = 2^50

Why it works.  Token 1 has a feature A of its own that every query reads: beside it the other tokens' share
of the normaliser vanishes, and the memory adds up (_additive.py).  Then the three memories of _dyck.py give
the depth, the kind that is open on each level, and whether there was a fault.

Three layers of two, one and one heads, φ = elu + 1 with its normaliser, keys of size D + 1 or more, values
of size ⌈log₂k⌉ + 1.  Every number before the first fault is whole: exact in bfloat16 for D ≤ 30, at any n
below 2^24.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._additive import AnchoredMemory
from limen.constructions._dyck import DyckByMemories
from limen.constructions._features import sizes_of
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.linear import Linear
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByLinear(DyckByMemories):
    """Keys of size D + 1 unless said; what is not used of them is shut, so it must be known."""

    task: Dyck = Dyck()
    _: KW_ONLY
    d_k: int | None = None

    @property
    def memory(self) -> AnchoredMemory:
        return AnchoredMemory(Linear(1, self.b + 1, d_k=self.d_k or self.task.D + 1))

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByLinear:
        return cls(task=task, **sizes_of(Linear, architecture, d_k="key_size"))  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> tuple[DyckByLinear, ...]:
        sizes = ((2, 1, 1), (6, 1, 2), (6, 2, 2), (4, 3, 2))
        return *(cls(Dyck(*size)) for size in sizes), cls(Dyck(6, 2, 3), d_k=9)
