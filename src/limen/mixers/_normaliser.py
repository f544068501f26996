"""The normaliser of linear attention as one more value: a column of ones rides along, then divides."""

from __future__ import annotations

from limen.core.tensors import jt, torch


def with_ones(v: jt.Float[torch.Tensor, "*batch d"]) -> jt.Float[torch.Tensor, "*batch d+1"]:
    return torch.nn.functional.pad(v, (0, 1), value=1)


def divided(y: jt.Float[torch.Tensor, "*batch e"]) -> jt.Float[torch.Tensor, "*batch e-1"]:
    """The first columns divided by the last one; 0 where that is 0, and there without a gradient."""
    z = y[..., -1:]
    return torch.where(z == 0, 0, y[..., :-1] / torch.where(z == 0, 1, z))
