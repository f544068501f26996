r"""Full attention with QK-norm: queries and keys are scaled to length 1, a learned number says how sharply.

    y_i = Σ_{j≤i} α_ij v_j,     α_ij = exp(e^t⟨q_i,k_j⟩) / Σ_{l≤i} exp(e^t⟨q_i,k_l⟩),     |q| = |k| = 1
                                                                                                  [henry2020]
t is a weight, one a head.  Scores stay between -e^t and e^t, so no early step of training makes a token look
at one key alone (docs/protocol.md).  State: all keys and values.  A reply is that of `softmax`: queries and
keys are functions of their own token, which is all that counts of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from limen.core.heads import Headed, join, split
from limen.core.tally import SEEN, Terms
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._delta import unit
from limen.mixers._masked import attend, fused

_SHARP = 1.5  # t at the start: scores within ±4.5


@dataclass(frozen=True)
class UnitSoftmax(Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d)."""

    reply_is_all = True
    is_softmax = True

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {"t": (self.h,)}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = super().initial(width, generator, dtype)
        return w | {"t": torch.full_like(w["t"], _SHARP)}

    def heads(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """e^t q, k and v of each head: (*batch, h, n, ·)."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return unit(q) * w["t"].exp()[:, None, None], unit(k), v

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        n = x.shape[-2]
        past = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        return join(attend(*self.heads(w, x), past)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        heads = self.heads(w, x)
        q, k, v = (part.reshape(-1, *part.shape[-3:]) for part in heads)  # the kernel wants one axis
        return join(fused(q, k, v, causal=True).reshape(*heads[0].shape[:-1], self.d)) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs: ⟨q,k⟩ and the weighted sum of v, for each token seen: 2(d_k + d) a head."""
        return ((2 * self.pair_size, SEEN),)

    def kept(self, n: int) -> int:
        return n * self.pair_size

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.h * (self.d + 2) * p  # as `softmax`

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Cache:
        return empty(w["K"], batch, self.h, self.key_size, self.d)

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Cache:
        return Cache(*self.heads(w, x)[1:])

    def step(
        self, w: Mapping[str, torch.Tensor], state: Cache, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Cache, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = (part.squeeze(-2) for part in self.heads(w, x_t.unsqueeze(-2)))  # (*batch, h, ·)
        state = state.append(k, v)
        return state, state.read(q).flatten(-2) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[UnitSoftmax, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(h=3, d=2)
