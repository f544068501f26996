r"""Gated linear attention: every key dimension forgets at its own rate, chosen by the present token.

    y_t = q_tᵀS_t,     S_t = diag(α_t)S_{t-1} + k_tv_tᵀ,     α_t = σ(x_tW_α + b_α)        [yang2024gla]

W_α is the weight "A", b_α the weight "a".  Gates of 1 give back linear attention with φ = identity
and no normaliser.  State: one (d_k, d) matrix a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tensors import jt, torch
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens

_BIAS = 3.0  # σ(3) ≈ 0.95: a memory of some twenty tokens to start from, as the paper's σ(0)^(1/16)


class GatedMemory(NamedTuple):
    """The matrix each head keeps."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]


@dataclass(frozen=True)
class GatedLinear(Looped, Headed):
    """h heads with values of size d and queries, keys and gates of size d_k (default: d)."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {
            "A": (width, self.h * self.key_size),
            "a": (self.h * self.key_size,),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = super().initial(width, generator, dtype)
        return w | {"a": torch.full_like(w["a"], _BIAS)}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, y = self.start(w, x.shape[:-2]).S, []
        for q, k, v, a in zip(*(part.split(1, -2) for part in self._tokens(w, x)), strict=True):
            S = a.sigmoid().mT * S + k.mT @ v
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v, a = self._tokens(w, x)
        return join(loops.rule(Tokens(q, k, v, g=torch.nn.functional.logsigmoid(a)))) @ w["O"]

    def _tokens(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k, v and the a of α = σ(a), each (*batch, h, n, ·)."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return q, k, v, split(x @ w["A"] + w["a"], self.h)

    def state_bits(self, n: int, p: int) -> int:
        return self.h * self.key_size * self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> GatedMemory:
        return GatedMemory(w["K"].new_zeros((*batch, self.h, self.key_size, self.d)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: GatedMemory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[GatedMemory, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v, a = self._tokens(w, x_t.unsqueeze(-2))  # (*batch, h, 1, ·)
        S = a.sigmoid().mT * state.S + k.mT @ v
        return GatedMemory(S), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[GatedLinear, ...]:
        return cls(), cls(h=1, d=3, d_k=5)
