r"""What the delta rules share: their sizes, their projections, what they carry.

In the terms of `recurrence/rule.py` q and k have length 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.heads import Headed, split
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.mixers._conv import convolve, passing
from limen.mixers.recurrence.loops import Looped
from limen.mixers.recurrence.rule import widened

_EPSILON = 1e-6


def unit(x: jt.Float[torch.Tensor, "*batch d"]) -> jt.Float[torch.Tensor, "*batch d"]:
    """The direction of x; 0 stays 0."""
    length = (widened(x).square().sum(-1, keepdim=True) + _EPSILON).sqrt()
    return (x / length).to(x.dtype)


class DeltaMemory(NamedTuple):
    """The matrix each head keeps, and the rows that the short convolution still needs."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]
    seen: jt.Float[torch.Tensor, "*batch past channels"]


@dataclass(frozen=True)
class DeltaRule(Looped, Headed):
    """The sizes of a delta rule behind a causal convolution over c tokens (1: none), and what it carries."""

    _: KW_ONLY
    c: int = 1

    @property
    def channels(self) -> int:
        return self.h * (2 * self.key_size + self.d)

    def rule_shapes(self, width: int) -> Shapes:
        """The projections, the convolution's kernel and β."""
        kernel: Shapes = {"conv": (self.c, self.channels)} if self.c > 1 else {}
        return self.projections(width) | kernel | {"B": (width, self.h), "b": (self.h,)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = super().initial(width, generator, dtype)
        return w | ({"conv": passing(w["conv"])} if "conv" in w else {})

    def state_bits(self, n: int, p: int) -> int:
        return (self.h * self.key_size * self.d + (self.c - 1) * self.channels) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> DeltaMemory:
        zeros = w["K"].new_zeros
        return DeltaMemory(
            zeros((*batch, self.h, self.key_size, self.d)), zeros((*batch, self.c - 1, self.channels))
        )


def projected(
    w: Mapping[str, torch.Tensor],
    x: jt.Float[torch.Tensor, "*batch n width"],
    h: int,
    seen: jt.Float[torch.Tensor, "*batch past channels"],
) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """What the convolution has seen then, and unit q and k, v and β, each (*batch, h, n, ·)."""
    parts = [x @ w[name] for name in "QKV"]
    if "conv" in w:
        seen, y = convolve(seen, torch.cat(parts, -1), w["conv"])
        parts = list(torch.nn.functional.silu(y).split([part.shape[-1] for part in parts], -1))
    q, k, v = (split(part, h) for part in parts)
    β = split((x @ w["B"] + w["b"]).sigmoid(), h)
    return seen, (unit(q), unit(k), v, β)
