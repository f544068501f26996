"""The key-value cache: the state of every mixer that may look at past tokens again."""

from __future__ import annotations

from typing import NamedTuple

from limen.core.heads import spread
from limen.core.tensors import jt, torch


class Cache(NamedTuple):
    """Keys and values of the tokens kept so far."""

    k: jt.Num[torch.Tensor, "*batch h n d_k"]
    v: jt.Num[torch.Tensor, "*batch h n d"]

    @property
    def pairs(self) -> int:
        return self.k.shape[-2]

    def append(
        self, k_t: jt.Num[torch.Tensor, "*batch h d_k"], v_t: jt.Num[torch.Tensor, "*batch h d"]
    ) -> Cache:
        return self.extended(k_t.unsqueeze(-2), v_t.unsqueeze(-2))

    def extended(
        self, k: jt.Num[torch.Tensor, "*batch h n d_k"], v: jt.Num[torch.Tensor, "*batch h n d"]
    ) -> Cache:
        """The cache with the keys and values of some more tokens."""
        return Cache(torch.cat([self.k, k], dim=-2), torch.cat([self.v, v], dim=-2))

    def drop(self, at: int) -> Cache:
        """The cache without the pair at one position."""
        return Cache(*(torch.cat([x[..., :at, :], x[..., at + 1 :, :]], dim=-2) for x in self))

    def spread(self, group: int) -> Cache:
        """The cache with each set repeated for the heads that share it."""
        return Cache(*(spread(x, group) for x in self))

    def read(self, q_t: jt.Float[torch.Tensor, "*batch h d_k"]) -> jt.Float[torch.Tensor, "*batch h d"]:
        """One query's softmax average of the values."""
        α = (self.k @ q_t.unsqueeze(-1)).squeeze(-1).softmax(-1)  # (*batch, h, n)
        return (α.unsqueeze(-2) @ self.v).squeeze(-2)


def empty(like: torch.Tensor, batch: tuple[int, ...], h: int, d_k: int, d: int) -> Cache:
    return Cache(like.new_empty((*batch, h, 0, d_k)), like.new_empty((*batch, h, 0, d)))
