r"""Full attention: every token weighs all earlier ones by the exponential of a score.

    y_i = Σ_{j≤i} α_ij v_j,     α_ij = exp⟨q_i,k_j⟩ / Σ_{l≤i} exp⟨q_i,k_l⟩        [vaswani2017]

No 1/√d: fold a scale into W_Q.  State: all keys and values, so it grows with n.
`bidirectional=true` is the encoder: j runs over all tokens, and there is no recurrence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

from limen.core.heads import Grouped, join, split
from limen.core.tally import SEEN, Terms
from limen.core.tensors import jt, torch
from limen.errors import BadInput
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import fused


@dataclass(frozen=True)
class Softmax(Grouped):
    """h heads with values of size d and queries and keys of size d_k (default: d), in kv_heads sets."""

    reply_is_all = True
    reads_kv_alone = True

    _: KW_ONLY
    bidirectional: bool = False

    @property
    def sees_future(self) -> bool:
        return self.bidirectional

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, v = self.keys_values(w, x)  # (*batch, h, n, d)
        return join(self.attention(w, x) @ v) @ w["O"]

    def attention(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch h n n"]:
        """α: how much each position looks at each."""
        q, k, _ = self.heads(w, x)  # (*batch, h, n, d_k)
        scores = q @ k.mT  # (*batch, h, n, n)
        if not self.bidirectional:
            n = x.shape[-2]
            future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
            scores = scores.masked_fill(future, -math.inf)
        return scores.softmax(-1)

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)
        q_, k_, v_ = (part.reshape(-1, *part.shape[-3:]) for part in (q, k, v))  # the kernel wants one axis
        y = fused(q_, k_, v_, causal=not self.bidirectional)
        return join(y.reshape(*q.shape[:-1], self.d)) @ w["O"]

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        parts = split(x[..., -1:, :] @ w["Q"], self.h), *self.keys_values(w, x)
        q, k, v = (part.reshape(-1, *part.shape[-3:]) for part in parts)  # the kernel wants one axis
        return join(fused(q, k, v).reshape(*parts[0].shape[:-1], self.d)) @ w["O"]

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
        if self.bidirectional:
            raise BadInput(f"{self} reads tokens that come later: it cannot be run one token at a time")
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Cache:
        return Cache(split(x @ w["K"], self.kv_sets), split(x @ w["V"], self.kv_sets))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        return state, state.spread(self.group).read(q).flatten(-2) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Softmax, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(bidirectional=True), cls(h=6, d=3, d_k=2, kv_heads=2)
