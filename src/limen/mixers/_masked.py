"""Softmax attention over some of the tokens, told by a boolean mask of what each query may see."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

# Queries taken together. Measured: fewer cost more in overhead than they save in work.
_ROWS = 128  # in `attend_fused`
_NEAR = 64  # in `attend_ends`


def attend(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h m d_k"],
    v: jt.Float[torch.Tensor, "*batch h m d"],
    visible: jt.Bool[torch.Tensor, "*any n m"],
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """Each query sees at least one token."""
    return (q @ k.mT).masked_fill(~visible, -math.inf).softmax(-1) @ v


def attend_fused(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h n d_k"],
    v: jt.Float[torch.Tensor, "*batch h n d"],
    visible: jt.Bool[torch.Tensor, "*any n n"],
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """`attend` by torch's kernel, for a mask that shows no query a later token.

    The kernel knows nothing of the mask's triangle: so some queries at a time, with the keys up to the last
    of them.
    """
    q_, k_, v_ = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    mask = visible.reshape(-1, *visible.shape[-3:]) if visible.ndim > 2 else visible
    rows = [slice(at, at + _ROWS) for at in range(0, q.shape[-2], _ROWS)]
    y = [
        fused(q_[..., r, :], k_[..., : r.stop, :], v_[..., : r.stop, :], mask[..., r, : r.stop]) for r in rows
    ]
    return torch.cat(y, dim=-2).reshape(*q.shape[:-1], v.shape[-1])


def fused(
    q: jt.Float[torch.Tensor, "batch h n d_k"],
    k: jt.Float[torch.Tensor, "batch h m d_k"],
    v: jt.Float[torch.Tensor, "batch h m d"],
    visible: jt.Bool[torch.Tensor, "*any n m"] | None = None,
    *,
    causal: bool = False,
) -> jt.Float[torch.Tensor, "batch h n d"]:
    """Torch's kernel, which is quick for one batch axis and d_k = d only: zeros make the sizes equal.

    Zeros add nothing to a score, and the output's last numbers are dropped.  Unequal sizes would take
    n×n memory and 14 to 21 times as long.
    """
    d, most = v.shape[-1], max(q.shape[-1], v.shape[-1])
    q, k, v = (
        x if x.shape[-1] == most else torch.nn.functional.pad(x, (0, most - x.shape[-1])) for x in (q, k, v)
    )
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, is_causal=causal, scale=1.0
    )[..., :d]


def ends(n: int, first: int, last: int, device: torch.device) -> jt.Bool[torch.Tensor, "{n} {n}"]:
    """Token i sees the tokens 0 … first-1 and i-last+1 … i, none later than itself."""
    j = torch.arange(n, device=device)
    return _at_an_end(j, j, first, last)


def _at_an_end(
    i: jt.Int64[torch.Tensor, " n"], j: jt.Int64[torch.Tensor, " m"], first: int, last: int
) -> jt.Bool[torch.Tensor, "n m"]:
    age = i.unsqueeze(-1) - j
    return (age >= 0) & ((j < first) | (age < last))


def attend_ends(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h n d_k"],
    v: jt.Float[torch.Tensor, "*batch h n d"],
    first: int,
    last: int,
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """`attend` through `ends` in O(n·(first + last)): some queries at a time, with the tokens they see."""
    q_, k_, v_ = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    n, y = q.shape[-2], []
    for at in range(0, n, _NEAR):
        stop, low = min(at + _NEAR, n), max(at - last + 1, 0)
        i, j = (torch.arange(*end, device=q.device) for end in ((at, stop), (low, stop)))
        k_j, v_j = (x[..., low:stop, :] for x in (k_, v_))
        if far := min(first, low):
            j = torch.cat([torch.arange(far, device=q.device), j])
            k_j, v_j = (torch.cat([x[..., :far, :], near], -2) for x, near in ((k_, k_j), (v_, v_j)))
        y.append(fused(q_[..., at:stop, :], k_j, v_j, _at_an_end(i, j, first, last)))
    return torch.cat(y, -2).reshape(*q.shape[:-1], v.shape[-1])
