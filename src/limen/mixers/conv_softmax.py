r"""Full attention after a short convolution: queries, keys and values first mix the last c tokens.

    y_i = Σ_{j≤i} α_ij v_j,     α_ij = exp⟨q_i,k_j⟩ / Σ_{l≤i} exp⟨q_i,k_l⟩
    q = κ^Q ∗ xW_Q,   k = κ^K ∗ xW_K,   v = κ^V ∗ xW_V          channel by channel, over c tokens    [so2021]

The kernels stand side by side in "conv", row c-1 weighs the present token.  c=1 with a kernel of ones is full
attention.  State: all keys and values, and the c-1 last rows of the projections.

In the depth rule the convolution of the queries is a recurrence in series with the softmax: through it the
last token may know, before it asks, what stands c-1 tokens earlier, and a stack chains one more hop, if the
chain starts within that reach and if no other recurrence stands before the second full layer.  On keys and
values it brings no hop.  Still a key of one player then holds up to c-1 tokens of the player before: where
replies are counted, the (c-1)·h·(2d_k+d) numbers at each border are to be counted as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tally import SEEN, Terms
from limen.core.tensors import jt, torch
from limen.mixers._cache import Cache, empty
from limen.mixers._conv import convolve, nothing_seen, passing
from limen.mixers._masked import attend, attend_later, fused


class Convolved(NamedTuple):
    """The tokens, and the rows that the convolution still needs."""

    tokens: Cache
    seen: jt.Float[torch.Tensor, "*batch past channels"]


@dataclass(frozen=True)
class ConvSoftmax(Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d); c tokens convolved."""

    c: int = 3

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        return self.projections(width) | {"conv": (self.c, self.h * (2 * self.key_size + self.d))}

    def initial(self, width: int, generator: torch.Generator, dtype: torch.dtype) -> dict[str, torch.Tensor]:
        w = super().initial(width, generator, dtype)
        return w | {"conv": passing(w["conv"])}

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v) = self._projected(w, x, nothing_seen(w["conv"], x.shape[:-2]))
        n = x.shape[-2]
        past = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()
        return join(attend(q, k, v, past)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v) = self._projected(w, x, nothing_seen(w["conv"], x.shape[:-2]))
        q_, k_, v_ = (part.reshape(-1, *part.shape[-3:]) for part in (q, k, v))  # the kernel wants one axis
        y = fused(q_, k_, v_, causal=True)
        return join(y.reshape(*q.shape[:-1], self.d)) @ w["O"]

    def _projected(
        self,
        w: Mapping[str, torch.Tensor],
        x: jt.Float[torch.Tensor, "*batch n width"],
        seen: jt.Float[torch.Tensor, "*batch past channels"],
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, ...]]:
        """What the convolution has seen then, and q, k and v, each (*batch, h, n, ·)."""
        parts = [x @ w[name] for name in "QKV"]
        seen, y = convolve(seen, torch.cat(parts, -1), w["conv"])
        return seen, tuple(split(part, self.h) for part in y.split([part.shape[-1] for part in parts], -1))

    def mixing(self) -> Terms:
        """FLOPs: as `softmax`; the convolution goes number by number."""
        return ((2 * self.pair_size, SEEN),)

    def kept(self, n: int) -> int:
        """Numbers kept: keys, values, and the rows that the convolution still needs."""
        return n * self.pair_size + (self.c - 1) * self.h * (2 * self.key_size + self.d)

    def state_bits(self, n: int, p: int) -> int | None:
        return None

    def reply_bits(self, p: int) -> int | None:
        return self.h * (self.d + 2) * p  # as `softmax`

    def query_state_bits(self, p: int) -> int | None:
        return (self.c - 1) * self.h * (2 * self.key_size + self.d) * p if self.c > 1 else None

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Convolved:
        tokens = empty(w["K"], batch, self.h, self.key_size, self.d)
        return Convolved(tokens, nothing_seen(w["conv"], batch))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Convolved, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Convolved, jt.Float[torch.Tensor, "*batch width"]]:
        seen, parts = self._projected(w, x_t.unsqueeze(-2), state.seen)
        q, k, v = (part.squeeze(-2) for part in parts)  # (*batch, h, d)
        tokens = state.tokens.append(k, v)
        return Convolved(tokens, seen), tokens.read(q).flatten(-2) @ w["O"]

    def advance(
        self, w: Mapping[str, torch.Tensor], state: Convolved, x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[Convolved, jt.Float[torch.Tensor, "*batch n width"]]:
        seen, (q, k, v) = self._projected(w, x, state.seen)
        tokens = state.tokens.extended(k, v)
        past = torch.ones(x.shape[-2], tokens.pairs, dtype=torch.bool, device=x.device)
        y = attend_later(q, tokens.k, tokens.v, past.tril(state.tokens.pairs))
        return Convolved(tokens, seen), join(y) @ w["O"]

    @classmethod
    def examples(cls) -> tuple[ConvSoftmax, ...]:
        return cls(), cls(h=1, d=3, c=1, d_k=5), cls(h=3, d=2, c=5)
