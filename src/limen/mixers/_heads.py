"""Cutting a projection into heads and putting them together again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

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
