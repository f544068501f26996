r"""A short convolution looks back by one: a Mamba-2 block with an empty memory shows the token before.

    u_t = SiLU(32·x_{t-1}),    y_t = u_t,    out = RMSNorm(y ∘ SiLU(z))W_O

x are digits 0 and 1, so u is 0 or 32; the norm is a constant, as in _additive.py.  Nothing is written into
the memory: B = 0.  What is kept are the last c - 1 rows of digits, one bit a number: the layer does not set
the precision.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Self

from limen.constructions._additive import OPEN, REFERENCE, AdditiveMamba2
from limen.constructions._features import sizes_of
from limen.constructions._program import Programmed
from limen.core.architecture import Architecture
from limen.core.columns import Columns
from limen.core.task import Task
from limen.core.text import spell
from limen.core.weights import Weights
from limen.errors import BadInput
from limen.mixers.mamba2 import Mamba2


@dataclass(frozen=True)
class LooksBack(Programmed):
    """All sizes of the block are those of the architecture: its norm is over all channels."""

    _: KW_ONLY
    h: int = 2
    d: int = 4
    s: int = 1
    c: int = 2

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> Self:
        return cls(task=task, **sizes_of(Mamba2, architecture, "h", "d", "s", "c"))

    @property
    def mixer(self) -> Mamba2:
        return Mamba2(self.h, self.d, self.s, c=self.c)


def look_back_text(mixer: Mamba2, values: int) -> str:
    """The layer, with one bit a number."""
    if mixer.c < 2 or not AdditiveMamba2(mixer).holds(1, values):
        raise BadInput(f"{mixer} has no room for {values} digits of the token before")
    return spell(mixer, p=1)


def look_back(w: Weights, mixer: Mamba2, at: Columns, *marks: str) -> None:
    """`id` of the token before becomes `before`; each token has one of the marks."""
    digits, out, one = at["id"], at["before"], [at[mark].start for mark in marks]
    r, a = AdditiveMamba2(mixer).references
    for i in range(digits.stop - digits.start):
        w["X"][digits.start + i, i] = OPEN
        w["conv"][-2, i] = 1
        w["O"][i, out.start + i] = REFERENCE / 2**a / OPEN
    w["conv"][-1, mixer.h * mixer.d - r : mixer.h * mixer.d] = 1
    w["X"][one, -r:], w["Z"][one] = REFERENCE, OPEN
    w["norm"][:], w["D"][:], w["A"][:], w["t"][:] = 1, 1, -1000, -200
