r"""Sliding window: softmax attention over the last W tokens, the current one included.

    y_i = Σ_{i-W<j≤i} α_ij v_j,     α_ij = exp⟨q_i,k_j⟩ / Σ_{i-W<l≤i} exp⟨q_i,k_l⟩        [beltagy2020]

State: the last W-1 keys and values, however long the text: for every limit that counts bits
this is a recurrence.  l layers see l·(W-1)+1 tokens.  W ≥ n is full attention.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import Grouped, join
from limen.core.tally import Terms, latest
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._masked import attend, attend_ends, ends


@dataclass(frozen=True)
class Window(Grouped):
    """h heads with values of size d and queries and keys of size d_k (default: d); W tokens in sight."""

    reads_kv_alone = True

    W: int = 4

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width)

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)  # (*batch, h, n, d)
        visible = ends(x.shape[-2], 0, self.W, x.device)  # (n, n)
        return join(attend(q, k, v, visible)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)
        return join(attend_ends(q, k, v, 0, self.W)) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: as softmax, for the last W tokens."""
        return ((2 * self.pair_size, latest(self.W)),)

    def state_bits(self, n: int, p: int) -> int | None:
        return min(n, self.W - 1) * self.kv_sets * (self.key_size + self.d) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        y = state.spread(self.group).read(q)  # (*batch, h, d)
        kept = state if state.pairs < self.W else state.drop(0)  # the next token does not see the oldest
        return kept, y.flatten(-2) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Window, ...]:
        return cls(), cls(h=1, d=3, W=1, d_k=5), cls(h=3, d=2, W=19), cls(h=4, d=2, W=5, kv_heads=2)
