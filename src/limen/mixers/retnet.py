r"""Retention: linear attention that fades at a fixed rate, another one for each head.

    y_t = q_tᵀS_t,     S_t = γ_hS_{t-1} + k_tv_tᵀ,     γ_h = 1 - 2^{-5-h},  h = 0, 1, …       [sun2023retnet]

A token j ≤ i weighs γ_h^{i-j}: head h remembers some 2^{5+h} tokens, and no weights change that.  So a token
at a known distance is read as it was written, up to rounding, but no plain sum over many tokens is to be had.
Left out of the published block: the rotation of queries and keys by their places (places are the embedding's
here, as for softmax), the norm of each head, and the gate.  State: one (d_k, d) matrix a head.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from limen.core.heads import Headed, join, split
from limen.core.tally import ONE, Terms
from limen.core.tensors import jt, torch
from limen.mixers.recurrence.loops import Looped, Loops
from limen.mixers.recurrence.rule import Tokens, widened


class Retained(NamedTuple):
    """The matrix each head keeps."""

    S: jt.Float[torch.Tensor, "*batch h d_k d"]


@dataclass(frozen=True)
class Retnet(Looped, Headed):
    """h heads with values of size d and queries and keys of size d_k (default: d)."""

    def rates(self, like: torch.Tensor) -> jt.Float[torch.Tensor, "h 1 1"]:
        """γ of each head; it is rounded to 1 where 2^{-5-h} is below the precision."""
        h = torch.arange(self.h, dtype=like.dtype, device=like.device)
        return (1 - (-5 - h).exp2()).unsqueeze(-1).unsqueeze(-1)

    def mix(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        S, y, γ = self.start(w, x.shape[:-2]).S, [], self.rates(x)
        for q, k, v in zip(*(part.split(1, -2) for part in self._tokens(w, x)), strict=True):
            S = γ * S + k.mT @ v
            y.append(q @ S)  # (*batch, h, 1, d)
        return join(torch.cat(y, -2)) @ w["O"]

    def run(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"], loops: Loops
    ) -> jt.Float[torch.Tensor, "*batch n width"]:
        q, k, v = self._tokens(w, x)
        g = torch.zeros_like(v[..., :1]) + widened(self.rates(x)).log()  # one for each of many models, too
        return join(loops.rule(Tokens(q, k, v, g=g))) @ w["O"]

    def _tokens(
        self, w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """q, k and v, each (*batch, h, n, ·)."""
        q, k, v = (split(x @ w[name], self.h) for name in "QKV")
        return q, k, v

    def mixing(self) -> Terms:
        """FLOPs: kvᵀ written, qᵀS read: 2·d_k·d each."""
        return ((4 * self.h * self.key_size * self.d, ONE),)

    def state_bits(self, n: int, p: int) -> int:
        return self.h * self.key_size * self.d * p

    def start(self, w: Mapping[str, torch.Tensor], batch: tuple[int, ...]) -> Retained:
        return Retained(w["K"].new_zeros((*batch, self.h, self.key_size, self.d)))

    def step(
        self, w: Mapping[str, torch.Tensor], state: Retained, x_t: jt.Float[torch.Tensor, "*batch width"]
    ) -> tuple[Retained, jt.Float[torch.Tensor, "*batch width"]]:
        q, k, v = self._tokens(w, x_t.unsqueeze(-2))  # (*batch, h, 1, ·)
        S = self.rates(x_t) * state.S + k.mT @ v
        return Retained(S), (join(q @ S) @ w["O"]).squeeze(-2)

    @classmethod
    def examples(cls) -> tuple[Retnet, ...]:
        return cls(), cls(h=1, d=3, d_k=5)
