"""Dot products with some rows of a table, not copied: forward a sparse matrix, backward `embedding_bag`."""

import warnings
from typing import Any

import torch
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding_bag


class Dots(torch.autograd.Function):
    """⟨q_i, table[rows_is]⟩: (r, d), (rows, d), (r, s) -> (r, s).

    Kept for the way back are q, the table and the rows.
    """

    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, table: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(q, table, rows)
        wide = torch.promote_types(q.dtype, torch.float32)  # as a matrix product accumulates
        q_, keys = q.to(wide), table.to(wide).mT
        if rows.shape[-1] > len(table):  # more than a sparse matrix holds: some are alike
            return (q_ @ keys).gather(-1, rows).to(q.dtype)
        products = _pattern(rows, len(table), wide)
        torch.sparse.sampled_addmm(products, q_, keys, beta=0.0, out=products)
        return products.values().reshape(rows.shape).to(q.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, g: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        """B = Σ_s g_is T[rows_is] for q; ∂⟨q, B⟩/∂T for the table."""
        q, table, rows = ctx.saved_tensors
        with torch.enable_grad():
            T = table.detach().requires_grad_()
            bags = embedding_bag(rows, T, per_sample_weights=g, mode="sum")
            return bags.detach(), torch.autograd.grad(bags, T, q)[0], None


def _pattern(rows: torch.Tensor, n: int, dtype: torch.dtype) -> torch.Tensor:
    """Which products are wanted, as a sparse matrix: (r, n).  Nothing asks for sorted or distinct columns."""
    r, s = rows.shape
    starts = torch.arange(0, r * s + 1, s, device=rows.device)
    zeros = torch.zeros(r * s, dtype=dtype, device=rows.device)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(starts, rows.reshape(-1), zeros, (r, n), check_invariants=False)
