r"""Multi-head latent attention: the keys and values of all heads are read from one short vector a token.

    c_j = x_j W_C                                                    the latent, r numbers   [deepseek2024]
    k_j = (c_j U_K | x_j W_R),   v_j = c_j U_V                       of each head; W_R is the same for all
    y_i = Σ_{j≤i} α_ij v_j,      α_ij = exp⟨q_i,k_j⟩ / Σ_{l≤i} exp⟨q_i,k_l⟩

The absorbed form makes no keys and values: with q = (q^C | q^R),

    ⟨q_i,k_j⟩ = ⟨q^C U_Kᵀ, c_j⟩ + ⟨q^R, x_j W_R⟩,     Σ_j α_ij v_j = (Σ_j α_ij c_j) U_V

`mix` and `fast` make them, `step` and `at_end` do not: that they agree is a law.  State: r + d_r numbers a
token, whatever the number of heads: DeepSeek-V3 keeps 512 + 64 for its 128.

What crosses a cut.  Keys and values are functions of their own token, so earlier tokens tell a later one what
they tell it in `softmax`: the maximum, the normaliser and sums, p bits each.  The form of the paper adds up
d values, the absorbed form r latents, to which U_V is applied later.  In real numbers that is the same; with
p bits it is not: r sums hold more, and h = d = 1, r = 111 does equality(n=110) in the absorbed form alone.
So max(d, r) sums are counted, which covers both.

What softmax heads do, these do, too, if the latent has room: c holds the keys and values of all heads side by
side, U_K and U_V pick those of each, and every number is the same.

Left out, as in `softmax`: the rotation of q^R and x W_R by the position.  And a norm of the latent, and that
queries pass a latent, too: no theorem asks how a token makes its own keys and values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tally import ONE, SEEN, Terms
from limen.core.tensors import jt, torch
from limen.core.weights import Shapes
from limen.errors import BadInput, at_least
from limen.mixers._masked import attend, fused


class Latents(NamedTuple):
    """The latent of each token, and the part of its key that all heads share."""

    c: jt.Float[torch.Tensor, "*batch n r"]
    k: jt.Float[torch.Tensor, "*batch n d_r"]


@dataclass(frozen=True)
class Mla(Headed):
    """h heads with values of size d and keys of size d_k, d_r of them the same for all; latents of size r.

    As in the paper r is 4d and d_r is d/2, where they are not said, and d_k is d + d_r.
    """

    reply_is_all = True
    is_softmax = True

    _: KW_ONLY
    r: int | None = None
    d_r: int | None = None

    def __post_init__(self) -> None:
        least = {"h": 1, "d": 1, "d_k": 1, "r": 1, "d_r": 0}
        at_least(self, **{name: low for name, low in least.items() if getattr(self, name) is not None})
        if self.key_size <= self.shared:
            raise BadInput(f"mla: d_k must be more than d_r = {self.shared}, got {self.key_size}")

    @property
    def latent(self) -> int:
        return self.r or 4 * self.d

    @property
    def shared(self) -> int:
        return self.d // 2 if self.d_r is None else self.d_r

    @property
    def key_size(self) -> int:
        return self.d_k or self.d + self.shared

    @property
    def own(self) -> int:
        """The numbers of a key that come from the latent."""
        return self.key_size - self.shared

    @property
    def resolved(self) -> dict[str, int]:
        return super().resolved | {"r": self.latent, "d_r": self.shared}

    def shapes(self, width: int) -> Shapes:
        return {
            "Q": (width, self.h * self.key_size),
            "C": (width, self.latent),
            "R": (width, self.shared),
            "UK": (self.latent, self.h, self.own),
            "UV": (self.latent, self.h, self.d),
            "O": (self.h * self.d, width),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        n = x.shape[-2]
        past = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        return join(attend(*self.heads(w, x), past)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, *_ = parts = self.heads(w, x)
        y = fused(*(part.reshape(-1, *part.shape[-3:]) for part in parts), causal=True)  # one batch axis
        return join(y.reshape(*q.shape[:-1], self.d)) @ w["O"]

    def at_end(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        return self.absorbed(w, x[..., -1:, :], self.absorb(w, x))

    def heads(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k and v of each head, made from the latents: (*batch, h, n, ·)."""
        q, (c, shared) = split(x @ w["Q"], self.h), self.absorb(w, x)
        own, v = (split(c @ w[name].flatten(-2), self.h) for name in ("UK", "UV"))
        return q, torch.cat([own, shared.unsqueeze(-3).expand(*own.shape[:-1], self.shared)], -1), v

    def absorbed(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch 1 width"],
        seen: Latents,
        visible: jt.Bool[torch.Tensor, "*batch 1 1 n"] | None = None,
    ) -> jt.Float[torch.Tensor, "*batch 1 width"]:
        """The output of the last token, which is among the latents already: no key or value is made.

        `visible`: the tokens that it reads, all unless said.
        """
        U_K, U_V = (w[name].movedim(-2, -3) for name in ("UK", "UV"))  # (h, r, ·)
        c, k = (part.unsqueeze(-3) for part in seen)  # (*batch, 1, n, ·)
        own, shared = split(x @ w["Q"], self.h).split([self.own, self.shared], -1)  # (*batch, h, 1, ·)
        scores = own @ U_K.mT @ c.mT + shared @ k.mT  # (*batch, h, 1, n)
        α = (scores if visible is None else scores.masked_fill(~visible, -math.inf)).softmax(-1)
        return join(α @ c @ U_V) @ w["O"]

    def mixing(self) -> Terms:
        """FLOPs of the absorbed form: 2(2r + d_r) a head for each token seen; U_K and U_V come once."""
        once = 2 * self.h * self.latent * (self.own + self.d)
        return (2 * self.h * (2 * self.latent + self.shared), SEEN), (once, ONE)

    def kept(self, n: int) -> int:
        return n * (self.latent + self.shared)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.h * (max(self.d, self.latent) + 2) * p  # as `softmax`, of values or of latents

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Latents:
        return Latents(*(w[name].new_empty((*batch, 0, w[name].shape[-1])) for name in "CR"))

    def absorb(self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]) -> Latents:
        return Latents(x @ w["C"], x @ w["R"])

    def step(
        self, w: Mapping[str, torch.Tensor], state: Latents, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Latents, jt.Float[torch.Tensor, "*batch width"]]:
        x = x_t.unsqueeze(-2)  # (*batch, 1, width)
        both = zip(state, self.absorb(w, x), strict=True)
        state = Latents(*(torch.cat(parts, -2) for parts in both))
        return state, self.absorbed(w, x, state).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Mla, ...]:
        return cls(), cls(h=1, d=3, d_k=5, r=2, d_r=0), cls(h=3, d=2, d_k=4, r=5, d_r=3)
