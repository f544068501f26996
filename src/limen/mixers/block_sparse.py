r"""(B,k)-sparse attention: a summary of every block of B tokens, and k blocks read in full.

    y_i = λ_i·y_i^cmp + (1-λ_i)·y_i^sel,     λ_i = σ(x_i G + g) per head        [ye2026] [yuan2025nsa]

    k̃_j = Σ_b PK_b k_{jB+b},   ṽ_j = Σ_b PV_b v_{jB+b}                  the message of block j
    y_i^cmp = softmax attention over the messages of the blocks complete by token i (0: none yet)
    y_i^sel = softmax attention over the tokens ≤ i of the own block and of the k strictly earlier
              blocks with the highest ⟨q_i,k̃_j⟩, the leftmost ones on ties

What a token learns about a block that it does not select is the block's message: 2·h·d·p bits
(h·(d_k+d)·p in general).  The theorem that limits this mixer counts these bits, and needs the
maps as they are here: a message depends on the tokens of its own block alone, by one map for
all blocks.  Keys and values made by an earlier layer, or a window beside, are other maps.

B=1, k ≥ n with all pools 1 is full attention, for every λ.  State: all keys and values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.core.heads import Headed, join, split, split_t
from limen.core.highest import highest
from limen.core.weights import random_weights
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import attend, attend_fused

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


class Blocked(NamedTuple):
    """The tokens, and the messages of the complete blocks."""

    tokens: Cache
    messages: Cache


@dataclass(frozen=True)
class BlockSparse(Headed):
    """h heads with values of size d and queries and keys of size d_k (d unless said)."""

    B: int = 4
    k: int = 2

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {
            "PK": (self.h, self.B),
            "PV": (self.h, self.B),
            "G": (width, self.h),
            "g": (self.h,),
        }

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        """A message starts as the mean of its block."""
        mean = {name: torch.full((self.h, self.B), 1 / self.B, dtype=dtype) for name in ("PK", "PV")}
        return random_weights(self.shapes(width), generator, dtype) | mean

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")  # (*batch, h, n, d)
        compressed, visible = self._look(q, self.messages(w, k, v), x.shape[-2])
        return self.gate(w, x, compressed, attend(q, k, v, visible))

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        compressed, visible = self._look(q, self.messages(w, k, v), x.shape[-2])
        return self.gate(w, x, compressed, attend_fused(q, k, v, visible))

    def messages(
        self,
        w: Mapping[str, torch.Tensor],
        k: jt.Float[torch.Tensor, "*batch h n d_k"],
        v: jt.Float[torch.Tensor, "*batch h n d"],
    ) -> Cache:
        """k̃ and ṽ of the complete blocks: (*batch, h, n // B, d)."""
        m = k.shape[-2] // self.B
        k_blocks, v_blocks = (x[..., : m * self.B, :].unflatten(-2, (m, self.B)) for x in (k, v))
        pool_k, pool_v = (w[name][:, None, None, :] for name in ("PK", "PV"))  # (h, 1, 1, B)
        return Cache((pool_k @ k_blocks).squeeze(-2), (pool_v @ v_blocks).squeeze(-2))

    def _look(
        self, q: jt.Float[torch.Tensor, "*batch h r d_k"], messages: Cache, n: int
    ) -> tuple[jt.Float[torch.Tensor, "*batch h r d"], jt.Bool[torch.Tensor, "*batch h r {n}"]]:
        """For the last r of n tokens: y^cmp, and which tokens y^sel reads."""
        i = torch.arange(n - q.shape[-2], n, device=q.device).unsqueeze(-1)  # (r, 1)
        j = torch.arange(messages.pairs, device=q.device)
        scores = q @ messages.k.mT  # (*batch, h, r, m)
        pending = j >= (i + 1) // self.B
        α = scores.masked_fill(pending, -math.inf).softmax(-1)
        compressed = α.masked_fill(pending, 0) @ messages.v  # while all are pending α is 0/0
        selected = torch.nn.functional.pad(highest(scores, self.k, among=j < i // self.B), (0, 1))
        selected = selected.repeat_interleave(self.B, dim=-1)[..., :n]  # (*batch, h, r, n)
        token = torch.arange(n, device=q.device)
        own = (token // self.B == i // self.B) & (token <= i)
        return compressed, selected | own

    def gate(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch r width"],
        compressed: jt.Float[torch.Tensor, "*batch h r d"],
        selected: jt.Float[torch.Tensor, "*batch h r d"],
    ) -> jt.Float[torch.Tensor, "*batch r width"]:
        λ = split((x @ w["G"] + w["g"]).sigmoid(), self.h)  # (*batch, h, r, 1)
        return join(λ * compressed + (1 - λ) * selected) @ w["O"]

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Blocked:
        nothing = empty(w["K"], batch, self.h, self.key_size, self.d)
        return Blocked(tokens=nothing, messages=nothing)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Blocked, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Blocked, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = (split_t(x_t @ w[name], self.h) for name in "QKV")  # (*batch, h, d)
        tokens, messages = state.tokens.append(k, v), state.messages
        if tokens.pairs % self.B == 0:
            new = self.messages(w, tokens.k[..., -self.B :, :], tokens.v[..., -self.B :, :])
            messages = messages.append(new.k.squeeze(-2), new.v.squeeze(-2))
        q = q.unsqueeze(-2)  # (*batch, h, 1, d_k)
        compressed, visible = self._look(q, messages, tokens.pairs)
        y = self.gate(w, x_t.unsqueeze(-2), compressed, attend(q, *tokens, visible))
        return Blocked(tokens, messages), y.squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[BlockSparse, ...]:
        return cls(), cls(h=1, d=3, B=5, k=1, d_k=5), cls(h=3, d=2, B=1, k=3)
