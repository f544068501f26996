r"""Bounded Dyck by three layers of log-linear attention with equal levels and an anchored normaliser.

Why it works.  λ = softplus(32) = 32 for every level, so it is linear attention with another order of adding
up (_additive.py, dyck_by_linear).  A level's state is a sum over a stretch of tokens: before the first
fault it is a whole number of size D + 1 at most, like all others.

Three layers of two, one and one heads over linear, keys of size D + 1 or more, values of size ⌈log₂k⌉ + 1;
⌈log₂n⌉ + 1 levels.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

from limen.constructions._additive import AnchoredMemory
from limen.constructions._dyck import DyckByMemories
from limen.constructions._features import sizes_of
from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.mixers.log_linear import LogLinear
from limen.tasks.dyck import Dyck


@dataclass(frozen=True)
class DyckByLogLinear(DyckByMemories):
    """Keys of size D + 1 and as many levels as are needed, unless said."""

    task: Dyck = Dyck()
    _: KW_ONLY
    d_k: int | None = None
    levels: int | None = None

    @property
    def memory(self) -> AnchoredMemory:
        levels = self.levels or (self.task.n - 1).bit_length() + 1
        return AnchoredMemory(LogLinear(1, self.b + 1, d_k=self.d_k or self.task.D + 1, levels=levels))

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> DyckByLogLinear:
        return cls(task=task, **sizes_of(LogLinear, architecture, "levels", d_k="key_size"))  # type: ignore[arg-type]

    @classmethod
    def examples(cls) -> tuple[DyckByLogLinear, ...]:
        return cls(Dyck(2, 1, 1)), cls(Dyck(6, 1, 2)), cls(Dyck(6, 2, 2), d_k=5, levels=7)
