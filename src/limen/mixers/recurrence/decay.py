r"""Forgetting by one number a head and token, as in Mamba-2: α_t = exp(-exp(A)·Δ_t).

Inside a chunk everything is a product of such α ≤ 1, computed as the exponential of a *sum* of
logarithms: no difference of long sums, so nothing overflows and nothing cancels, whatever the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

LOWEST = -1e4  # its exponential is 0 in every precision; -∞ itself would meet a 0 and give NaN


def time_step(
    w: Mapping[str, torch.Tensor], x: jt.Float[torch.Tensor, "*batch n width"]
) -> tuple[jt.Float[torch.Tensor, "*batch n h"], jt.Float[torch.Tensor, "*batch n h"]]:
    """Δ = softplus(x W_Δ + b_Δ) and ln α = -exp(A)·Δ, a number a token and head."""
    Δ = torch.nn.functional.softplus(x @ w["T"] + w["t"])
    return Δ, -w["A"].exp() * Δ


def initial_time_steps(
    size: int, generator: torch.Generator, dtype: torch.dtype, least: float = 1e-3, most: float = 0.1
) -> torch.Tensor:
    """Biases for which softplus starts log-uniform; between 1/1000 and 1/10 as in [gu2023mamba]."""
    Δ = least * (most / least) ** torch.rand(size, generator=generator, dtype=torch.float64)
    return (Δ + (-torch.expm1(-Δ)).log()).to(dtype)  # softplus inverted


class Decay(NamedTuple):
    """What is left of something written, within a chunk."""

    pairs: jt.Float[torch.Tensor, "*batch chunk chunk"]  # by token j, seen at token i; 0 for j > i
    since_start: jt.Float[torch.Tensor, "*batch chunk 1"]  # before the chunk, seen at token i
    to_end: jt.Float[torch.Tensor, "*batch chunk 1"]  # by token j, seen after the chunk
    whole: jt.Float[torch.Tensor, "*batch 1 1"]  # before the chunk, seen after it


def decay(g: jt.Float[torch.Tensor, "*batch chunk 1"]) -> Decay:
    """The decay for gates with logarithms g: pairs[i, j] = exp(g_{j+1} + … + g_i)."""
    g = g.clamp(min=LOWEST)
    causal = g.new_ones(g.shape[-2], g.shape[-2]).tril()
    pairs = (
        (causal * g.mT) @ causal.tril(-1)
    ).exp() * causal  # the constant on the right: one product for all
    since_start = (g.mT @ causal.mT).mT.exp()
    return Decay(pairs, since_start, pairs[..., -1:, :].mT, since_start[..., -1:, :])
