r"""RWKV-7: the delta rule with a rate for each row, which takes away under other keys than it writes.

    y_t = r_tᵀS_t,     S_t = diag(w_t)S_{t-1} - (a_t∘κ_t)κ_tᵀS_{t-1} + k̃_tv_tᵀ                 [peng2025rwkv7]
    w_t = exp(-σ(x_tW_w + b_w)/√e),     a_t = σ(x_tW_a + b_a)                       a number for each row
    κ_t = k_t∘ξ, scaled to length 1,    k̃_t = k_t∘(1 + α∘(a_t - 1))                 ξ, α: weights, one a row

r is q.  W_w, b_w are the weights "T", "t"; W_a, b_a are "B", "b"; ξ is "x", α is "l".  ξ = α = 0 and w = 1
give linear attention with φ = identity, unnormalised; keys of length 1, w = 1, ξ = α = 1 and one a for all
rows give `delta`.  Left out of the published block: the last token mixed into each input, what the first
layer's values add, a token's own v added behind a norm, and the gate.  State: one (d_k, d) matrix a head.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens, widened


class Rwkv7Memory(NamedTuple):
    """The matrix each head keeps."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]


@dataclass(frozen=True)
class Rwkv7(Looped, Headed):
    """h heads with values of size d and keys of size d_k (default: d)."""

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        rows = self.h * self.key_size
        gates: dict[str, tuple[int, ...]] = dict.fromkeys("TB", (width, rows))
        return self.projections(width) | gates | dict.fromkeys("tbxl", (rows,))

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """ξ = α = 1, a = 1/2; b_w from -6 to 0, so that rows of a head keep from 300 tokens down to 3."""
        w = super().initial(width, generator, dtype)
        rates = torch.linspace(-6, 0, self.key_size, dtype=dtype).repeat(self.h)
        ones = {name: torch.ones_like(w[name]) for name in "xl"}
        return w | ones | {"t": rates, "b": torch.zeros_like(w["b"])}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, y = self.start(w, x.shape[:-2]).S, []
        for x_t in x.split(1, -2):
            S, y_t = self._read(w, S, x_t)
            y.append(y_t)
        return torch.cat(y, -2)

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        return join(loops.rule(self._tokens(w, x))) @ w["O"]

    def _tokens(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Tokens:
        """r, k̃, v, ln w, κ and a∘κ, each (*batch, h, n, ·)."""
        k, a = x @ w["K"], (x @ w["B"] + w["b"]).sigmoid()
        ln_w = -((x @ w["T"] + w["t"]).sigmoid()) * math.exp(-0.5)
        κ = _scaled(split(k * w["x"], self.h))
        written = k * (1 + w["l"] * (a - 1))
        q, k, v, g, a = (split(part, self.h) for part in (x @ w["Q"], written, x @ w["V"], ln_w, a))
        return Tokens(q, k, v, g=g, e=κ, r=a * κ)

    def _read(
        self, w: Mapping[str, torch.Tensor], S: torch.Tensor, x: jt.Float[torch.Tensor, "*batch 1 width"]
    ) -> tuple[torch.Tensor, jt.Float[torch.Tensor, "*batch 1 width"]]:
        """The memory after one token, and the token's output."""
        q, k, v, _, g, κ, r = self._tokens(w, x)  # (*batch, h, 1, ·)
        assert g is not None and κ is not None and r is not None
        S = g.exp().mT * S - r.mT @ (κ @ S) + k.mT @ v
        return S, join(q @ S) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: κᵀS read, its share taken away, k̃vᵀ written, rᵀS read: four times 2·d_k·d."""
        return ((8 * self.h * self.key_size * self.d, ONE),)

    def state_bits(self, n: int, p: int) -> int:
        return self.h * self.key_size * self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Rwkv7Memory:
        return Rwkv7Memory(w["K"].new_zeros((*batch, self.h, self.key_size, self.d)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Rwkv7Memory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Rwkv7Memory, jt.Float[torch.Tensor, "*batch width"]]:
        S, y = self._read(w, state.S, x_t.unsqueeze(-2))
        return Rwkv7Memory(S), y.squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Rwkv7, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(h=3, d=2, d_k=1)


def _scaled(κ: jt.Float[torch.Tensor, "*batch d_k"]) -> jt.Float[torch.Tensor, "*batch d_k"]:
    """κ at length 1; 0 stays 0."""
    length: torch.Tensor = torch.linalg.vector_norm(widened(κ), dim=-1, keepdim=True)
    return (κ / length.where(length > 0, 1)).to(κ.dtype)
