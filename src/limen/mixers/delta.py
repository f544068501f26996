r"""DeltaNet: before a token writes its value under its key, it erases what that key held.

    y_t = q_tᵀS_t,     S_t = S_{t-1} - β_tk_t(k_tᵀS_{t-1} - v_tᵀ),     β_t = σ(x_tW_β + b_β)   [yang2024delta]

q and k are scaled to length 1.  W_β is the weight "B", b_β the weight "b".  With c > 1 a causal
convolution over c tokens and a SiLU come between the projections and q, k, v.  State: one (d_k, d)
matrix a head, and the c-1 last rows of the projections.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.errors import at_least
from limen.core.mixer import Streaming
from limen.mixers._delta import Memory, chunked, projected
from limen.mixers._heads import join

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


@dataclass(frozen=True)
class Delta(Streaming):
    """h heads with values of size d and keys of size d_k (d unless said), behind a convolution over c."""

    h: int = 2
    d: int = 4
    _: KW_ONLY
    d_k: int | None = None
    c: int = 1

    def __post_init__(self) -> None:
        at_least(self, h=1, d=1, c=1)
        if self.d_k is not None:
            at_least(self, d_k=1)

    @property
    def key_size(self) -> int:
        return self.d_k or self.d

    @property
    def channels(self) -> int:
        return self.h * (2 * self.key_size + self.d)

    def shapes(self, width: int) -> dict[str, tuple[int, ...]]:
        keys, values = self.h * self.key_size, self.h * self.d
        return {
            "Q": (width, keys),
            "K": (width, keys),
            "V": (width, values),
            **({"conv": (self.c, self.channels)} if self.c > 1 else {}),
            "B": (width, self.h),
            "b": (self.h,),
            "O": (values, width),
        }

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, seen = self.start(w, x.shape[:-2])
        _, tokens = projected(w, x, self.h, seen)
        y = []
        for q, k, v, β in zip(*(part.split(1, -2) for part in tokens), strict=True):
            S = S - β * k.mT @ (k @ S - v)
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def fast(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        _, (q, k, v, β) = projected(w, x, self.h, self.start(w, x.shape[:-2]).seen)
        return join(chunked(q, β * k, k, v, torch.zeros_like(β))) @ w["O"]

    def state_bits(self, n: int, p: int) -> int:
        return (self.h * self.key_size * self.d + (self.c - 1) * self.channels) * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Memory:
        zeros = w["K"].new_zeros
        return Memory(
            zeros((*batch, self.h, self.key_size, self.d)), zeros((*batch, self.c - 1, self.channels))
        )

    def step(
        self, w: Mapping[str, torch.Tensor], state: Memory, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Memory, jt.Float[torch.Tensor, "*batch width"]]:
        seen, (q, k, v, β) = projected(w, x_t.unsqueeze(-2), self.h, state.seen)  # (*batch, h, 1, ·)
        S = state.S - β * k.mT @ (k @ state.S - v)
        return Memory(S, seen), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Delta, ...]:
        return cls(), cls(h=1, d=3, d_k=5), cls(d=3, c=4)
