r"""Gated linear attention: every key dimension forgets at its own rate, chosen by the present token.

    y_t = q_tᵀS_t,     S_t = diag(α_t)S_{t-1} + k_tv_tᵀ,     α_t = σ(x_tW_α + b_α)        [yang2024gla]

W_α is the weight "A", b_α the weight "a".  Gates of 1 give back linear attention with φ = identity
and no normaliser.  State: one (d_k, d) matrix a head.

`fast` doubles blocks.  Of two neighbouring blocks the right one reads the left one at their border:
queries decayed since the border, keys decayed up to it, then one matrix product.  Every factor is a
product of gates, so it is at most 1 and right even where it underflows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.core.heads import Headed, join, split
from limen.core.weights import random_weights
from limen.mixers._chunks import CHUNK, carry, cut, glue

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

_BIAS = 3.0  # σ(3) ≈ 0.95: a memory of some twenty tokens to start from, as the paper's σ(0)^(1/16)


class GatedMemory(NamedTuple):
    """The matrix each head keeps."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]


class GatedBlocks(NamedTuple):
    """Blocks of tokens: queries decayed since before their block, keys up to its end, the gates' product."""

    q: jt.Float[torch.Tensor, "*batch blocks size d_k"]
    k: jt.Float[torch.Tensor, "*batch blocks size d_k"]
    v: jt.Float[torch.Tensor, "*batch blocks size d"]
    y: jt.Float[torch.Tensor, "*batch blocks size d"]
    α: jt.Float[torch.Tensor, "*batch blocks 1 d_k"]


def _doubled(blocks: GatedBlocks) -> GatedBlocks:
    """Joins neighbours two by two; the right one has then read the left one."""
    left, right = (
        GatedBlocks(*half)
        for half in zip(*(t.unflatten(-3, (-1, 2)).unbind(-3) for t in blocks), strict=True)
    )
    read = right.y + (right.q @ left.k.mT) @ left.v
    return GatedBlocks(
        torch.cat([left.q, right.q * left.α], -2),
        torch.cat([left.k * right.α, right.k], -2),
        blocks.v.unflatten(-3, (-1, 2)).flatten(-3, -2),
        torch.cat([left.y, read], -2),
        left.α * right.α,
    )


@dataclass(frozen=True)
class GatedLinear(Headed):
    """h heads with values of size d and queries, keys and gates of size d_k (d unless said)."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {
            "A": (width, self.h * self.key_size),
            "a": (self.h * self.key_size,),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = random_weights(self.shapes(width), generator, dtype)
        return w | {"a": torch.full_like(w["a"], _BIAS)}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, y = self.start(w, x.shape[:-2]).S, []
        for q, k, v, α in zip(*(part.split(1, -2) for part in self._tokens(w, x)), strict=True):
            S = α.mT * S + k.mT @ v
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v, α = (cut(part).unsqueeze(-2) for part in self._tokens(w, x))  # a block is one token
        blocks = GatedBlocks(q * α, k, v, (q * k).sum(-1, keepdim=True) * v, α)
        while blocks.q.shape[-2] < CHUNK:
            blocks = _doubled(blocks)
        q, k, v, y, α = (part.squeeze(-3) for part in blocks)  # (*batch, h, chunks, chunk, ·)
        y = y + q @ carry(torch.mul, α.mT, k.mT @ v)
        return join(glue(y, x.shape[-2])) @ w["O"]

    def _tokens(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k, v and α, each (*batch, h, n, ·)."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return q, k, v, split((x @ w["A"] + w["a"]).sigmoid(), self.h)

    def state_bits(self, n: int, p: int) -> int:
        return self.h * self.key_size * self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> GatedMemory:
        return GatedMemory(w["K"].new_zeros((*batch, self.h, self.key_size, self.d)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: GatedMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[GatedMemory, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v, α = self._tokens(w, x_t.unsqueeze(-2))  # (*batch, h, 1, ·)
        S = α.mT * state.S + k.mT @ v
        return GatedMemory(S), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[GatedLinear, ...]:
        return cls(), cls(h=1, d=3, d_k=5)
