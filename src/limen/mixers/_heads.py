"""Heads: their sizes and projections, cut apart and put together again."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields
from typing import TYPE_CHECKING

import lazy_loader

from limen.core.errors import at_least
from limen.core.mixer import Streaming
from limen.core.weights import Shapes

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


def split(x: jt.Num[torch.Tensor, "*batch n hd"], h: int) -> jt.Num[torch.Tensor, "*batch {h} n d"]:
    """(*batch, n, h·d) -> (*batch, h, n, d)."""
    return x.reshape(*x.shape[:-1], h, x.shape[-1] // h).transpose(-3, -2)


def join(x: jt.Num[torch.Tensor, "*batch h n d"]) -> jt.Num[torch.Tensor, "*batch n hd"]:
    """(*batch, h, n, d) -> (*batch, n, h·d)."""
    return x.transpose(-3, -2).flatten(-2)


def split_t(x_t: jt.Num[torch.Tensor, "*batch hd"], h: int) -> jt.Num[torch.Tensor, "*batch {h} d"]:
    """One token: (*batch, h·d) -> (*batch, h, d)."""
    return x_t.reshape(*x_t.shape[:-1], h, x_t.shape[-1] // h)


@dataclass(frozen=True)
class Headed(Streaming):
    """A mixer of h heads with values of size d and queries and keys of size d_k (d unless said)."""

    h: int = 2
    d: int = 4
    _: KW_ONLY
    d_k: int | None = None

    def __post_init__(self) -> None:
        """Every size is at least 1."""
        sizes = [f.name for f in fields(self) if type(getattr(self, f.name)) is int]
        at_least(self, **dict.fromkeys(sizes, 1))

    @property
    def key_size(self) -> int:
        return self.d_k or self.d

    @property
    def resolved(self) -> dict[str, int]:
        return {"d_k": self.key_size}

    def projections(self, width: int) -> Shapes:
        """W_Q, W_K, W_V, W_O."""
        keys, values = self.h * self.key_size, self.h * self.d
        return {"Q": (width, keys), "K": (width, keys), "V": (width, values), "O": (values, width)}
