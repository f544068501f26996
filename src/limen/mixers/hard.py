r"""Hard attention: every token copies the value of the earlier token whose key matches best.

    y_i = v_j,     j = the leftmost of the j ≤ i that maximise ⟨q_i,k_j⟩        [hahn2020]

The limit of softmax attention as the scores grow, except that on ties the leftmost takes all.
The side is part of the model: leftmost and rightmost compute different functions [jerad2025].
No exponential, so it is exact over the integers.  State: all keys and values.  The choice of
j is a step function: gradients reach V and O, never Q and K.
"""

from __future__ import annotations

from collections.abc import Mapping

from limen.core.heads import Grouped, join, split
from limen.core.tally import SEEN, Terms
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty


class Hard(Grouped):
    """h heads with values of size d and queries and keys of size d_k (default: d), in kv_heads sets."""

    reply_is_all = True
    reads_kv_alone = True

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]
    ) -> jt.Num[torch.Tensor, "*batch n width"]:
        q, k, v = self.heads(w, x)  # (*batch, h, n, d)
        scores = q @ k.mT  # (*batch, h, n, n)
        n = x.shape[-2]
        future = torch.ones(n, n, dtype=torch.bool, device=x.device).triu(1)
        # In the future's place its own score: not above the best, and right of the leftmost best.
        own = scores.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
        j = _leftmost(torch.where(future, own, scores))  # (*batch, h, n)
        return join(torch.take_along_dim(v, j.unsqueeze(-1), dim=-2)) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: ⟨q,k⟩ for each token seen, 2d_k a head; a value is copied."""
        return ((2 * self.h * self.key_size, SEEN),)

    def kept(self, n: int) -> int:
        return n * self.kv_sets * (self.key_size + self.d)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.h * (self.d + 1) * p  # the best score and its value

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        return empty(w["K"], batch, self.kv_sets, self.key_size, self.d)

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Num[torch.Tensor, "*batch n width"]) -> Cache:
        return Cache(split(x @ w["K"], self.kv_sets), split(x @ w["V"], self.kv_sets))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Num[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Num[torch.Tensor, "*batch width"]]:
        q, k, v = self.token(w, x_t)  # (*batch, h or kv_sets, d)
        state = state.append(k, v)
        read = state.spread(self.group)
        j = _leftmost((read.k @ q.unsqueeze(-1)).squeeze(-1))  # (*batch, h)
        y = torch.take_along_dim(read.v, j[..., None, None], dim=-2).squeeze(-2)  # (*batch, h, d)
        return state, y.flatten(-2) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[Hard, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(h=4, d=1, d_k=2, kv_heads=2)


def _leftmost(scores: jt.Num[torch.Tensor, "*any n"]) -> jt.Int64[torch.Tensor, "*any"]:
    """The first position of the highest score; `argmax` may return any of equals."""
    n = scores.shape[-1]
    best = scores == scores.amax(-1, keepdim=True)
    return torch.where(best, torch.arange(n, device=scores.device), n).amin(-1)
