"""Attention to every token of the past, or of the text: what `softmax` and its gated kin share."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping

from limen.core.heads import Grouped, join, split
from limen.core.tally import SEEN, Terms
from limen.core.tensors import jt, torch
from limen.errors import BadInput
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import fused


class FullAttention(Grouped):
    """Heads that read all tokens that they see; `out` makes the output of what they have read."""

    reply_is_all = True
    reads_kv_alone = True
    is_softmax = True

    @abstractmethod
    def out(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch width"],
        y: jt.Float[torch.Tensor, "*batch hd"],
    ) -> jt.Float[torch.Tensor, "*batch width"]:
        """The output of tokens x whose heads, side by side, have read y."""

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, v = self.keys_values(w, x)  # (*batch, h, n, d)
        return self.out(w, x, join(self.attention(w, x) @ v))

    def attention(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n n"]:
        """α: how much each position looks at each."""
        q, k, _ = self.heads(w, x)  # (*batch, h, n, d_k)
        scores = q @ k.mT  # (*batch, h, n, n)
        if not self.sees_future:
            n = x.shape[-2]
            future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        return scores.softmax(-1)

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)
        q_, k_, v_ = (part.reshape(-1, *part.shape[-3:]) for part in (q, k, v))  # the kernel wants one axis
        y = fused(q_, k_, v_, causal=not self.sees_future)
        return self.out(w, x, join(y.reshape(*q.shape[:-1], self.d)))

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        last = x[..., -1:, :]
        parts = split(last @ w["Q"], self.h), *self.keys_values(w, x)
        q, k, v = (part.reshape(-1, *part.shape[-3:]) for part in parts)  # the kernel wants one axis
        return self.out(w, last, join(fused(q, k, v).reshape(*parts[0].shape[:-1], self.d)))

    def mixing(self) -> Terms:
        """FLOPs: ⟨q,k⟩ and the weighted sum of v, for each token seen: 2(d_k + d) a head."""
        return ((2 * self.pair_size, SEEN),)

    def kept(self, n: int) -> int:
        return n * self.kv_sets * (self.key_size + self.d)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.h * (self.d + 2) * p  # max ⟨q,k⟩, Σ e^(⟨q,k⟩-max) and Σ e^(⟨q,k⟩-max)v

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        if self.sees_future:
            raise BadInput(f"{self} reads tokens that come later: it cannot be run one token at a time")
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Cache:
        return Cache(split(x @ w["K"], self.kv_sets), split(x @ w["V"], self.kv_sets))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        return state, self.out(w, x_t, state.spread(self.group).read(q).flatten(-2))
