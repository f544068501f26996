"""Dot products with some rows of a table: forward slice by slice, backward by `embedding_bag`."""

from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag

_SLICE = 2**17  # numbers that are copied out of the table at a time; measured: what the second cache holds


class Dots(torch.autograd.Function):
    """⟨q_i, table[rows_is]⟩: (r, d), (rows, d), (r, s) -> (r, s).

    Kept for the way back are q, the table and the rows, none of the copies.
    """

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(q, table, rows)
        at_once = max(1, _SLICE // max(1, rows.shape[-1] * q.shape[-1]))
        wide = torch.promote_types(q.dtype, torch.float32)  # as a matrix product accumulates
        found = []
        for q_i, some in zip(q.to(wide).split(at_once), rows.split(at_once), strict=True):
            copied = table.index_select(0, some.reshape(-1)).reshape(*some.shape, -1).to(wide)
            found.append(copied.mul_(q_i.unsqueeze(1)).sum(-1))
        return torch.cat(found).to(q.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """B = Σ_s g_is T[rows_is] for q; ∂⟨q, B⟩/∂T for the table."""
        q, table, rows = ctx.saved_tensors
        with torch.enable_grad():
            T = table.detach().requires_grad_()
            bags = embedding_bag(rows, T, per_sample_weights=g, mode="sum")
            return bags.detach(), torch.autograd.grad(bags, T, q)[0], None
