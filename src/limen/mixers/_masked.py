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

# Measured: smaller blocks or fewer rows cost more in overhead than they save in work.
_BLOCK = 16  # tokens that `attend_ends` takes together, at least
_ROWS = 128  # queries that `attend_fused` takes together


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
    q, k, v = (torch.nn.functional.pad(x, (0, most - x.shape[-1])) for x in (q, k, v))
    return torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, is_causal=causal, scale=1.0
    )[..., :d]


def ends(n: int, first: int, last: int, device: torch.device) -> jt.Bool[torch.Tensor, "{n} {n}"]:
    """Token i sees the tokens 0 … first-1 and i-last+1 … i, none later than itself."""
    j = torch.arange(n, device=device)
    age = j.unsqueeze(-1) - j
    return (age >= 0) & ((j < first) | (age < last))


def attend_ends(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h n d_k"],
    v: jt.Float[torch.Tensor, "*batch h n d"],
    first: int,
    last: int,
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """`attend` through `ends` in O(n·(first + last)).

    A block of C ≥ last tokens reads itself, the block before and the first tokens.
    """
    n, C = q.shape[-2], max(last, _BLOCK)
    if first + 2 * C >= n:  # every block would read everything
        return attend_fused(q, k, v, ends(n, first, last, q.device))
    b = math.ceil(n / C)
    i = torch.arange(b * C, device=q.device).reshape(b, C, 1)
    near = i[:, :1] - C + torch.arange(2 * C, device=q.device)  # (b, 1, 2C): the tokens of two blocks
    far = torch.arange(first, device=q.device)
    visible = torch.cat([far <= i - last, (near >= 0) & (near > i - last) & (near <= i)], dim=-1)

    def read(x: torch.Tensor) -> torch.Tensor:  # (*batch, h, n, d) -> (*batch, h, b, first + 2C, d)
        blocks = torch.nn.functional.pad(x, (0, 0, C, b * C - n)).unflatten(-2, (b + 1, C))
        start = x[..., :first, :].unsqueeze(-3).expand(*x.shape[:-2], b, first, -1)
        return torch.cat([start, blocks[..., :-1, :, :], blocks[..., 1:, :, :]], dim=-2)

    q_blocks = torch.nn.functional.pad(q, (0, 0, 0, b * C - n)).unflatten(-2, (b, C))
    return attend(q_blocks, read(k), read(v), visible).flatten(-3, -2)[..., :n, :]
