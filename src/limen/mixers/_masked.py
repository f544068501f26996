"""Softmax attention over some of the tokens, given by a boolean mask of what each query may see."""

from __future__ import annotations

import math
from functools import partial

from limen.core.tensors import jt, torch

# Queries taken together. Measured: fewer cost more in overhead than they save in work.
_ROWS = 128  # in `attend_fused`
_NEAR = 64  # in `attend_ends`
_EVEN = 16  # its keys come in so many: the kernel takes 128 in 5/6 of the time of 127


def attend(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h m d_k"],
    v: jt.Float[torch.Tensor, "*batch h m d"],
    visible: jt.Bool[torch.Tensor, "*any n m"],
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """Softmax attention of each query to its visible tokens, of which there is at least one."""
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
    visible: jt.Shaped[torch.Tensor, "*any n m"] | None = None,
    *,
    causal: bool = False,
) -> jt.Float[torch.Tensor, "batch h n d"]:
    """Torch's kernel, which is quick for one batch axis and d_k = d only: zeros make the sizes equal.

    `visible` holds booleans, or numbers that are added to the scores, 0 or -∞.
    Zeros add nothing to a score, and the output's last numbers are dropped.  Unequal sizes would take
    n×n memory and 14 to 21 times as long.
    """
    from limen.core.folded import folded, is_stacked  # it needs torch when it is loaded

    if is_stacked(q):
        return folded(partial(fused, causal=causal), q, k, v, visible)
    d, most = v.shape[-1], max(q.shape[-1], v.shape[-1])
    if q.shape[-1] != d:
        q, k, v = (torch.nn.functional.pad(x, (0, most - x.shape[-1])) for x in (q, k, v))
    y = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=visible, is_causal=causal, scale=1.0
    )
    return y if d == most else y[..., :d]


def attend_later(
    q: jt.Float[torch.Tensor, "*batch h n d_k"],
    k: jt.Float[torch.Tensor, "*batch h m d_k"],
    v: jt.Float[torch.Tensor, "*batch h m d"],
    visible: jt.Bool[torch.Tensor, "n m"],
) -> jt.Float[torch.Tensor, "*batch h n d"]:
    """`attend` by torch's kernel, for queries that come after some of the keys."""
    q_, k_, v_ = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    return fused(q_, k_, v_, visible).reshape(*q.shape[:-1], v.shape[-1])


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
    """`attend` through `ends` in O(n·(first + last)): some queries at a time, with the tokens they see.

    The first `last` tokens see all before them.  All stretches of queries after them see alike, if not the
    `first`: what they see is worked out once.
    """
    q_, k_, v_ = (x.reshape(-1, *x.shape[-3:]) for x in (q, k, v))
    n, full = q.shape[-2], min(last // _NEAR * _NEAR, q.shape[-2])
    y = [fused(*(x[..., :full, :] for x in (q_, k_, v_)), causal=True)] if full else []
    seen: dict[tuple[int, int, int], torch.Tensor] = {}
    for at in range(full, n, _NEAR):
        stop, low = min(at + _NEAR, n), max((at - last + 1) // _EVEN * _EVEN, 0)
        q_i, k_j, v_j = (x.narrow(-2, i, stop - i) for x, i in ((q_, at), (k_, low), (v_, low)))
        if far := min(first, low):
            k_j, v_j = (torch.cat([x[..., :far, :], near], -2) for x, near in ((k_, k_j), (v_, v_j)))
        alike = stop - at, at - low, max(first - low, 0)
        if alike not in seen:
            seen[alike] = _near_or_first(q, *alike, far, last)
        y.append(fused(q_i, k_j, v_j, seen[alike]))
    tokens = torch.cat([part.transpose(1, 2) for part in y], 1)  # as the kernel lays them, for `join`
    return tokens.transpose(1, 2).reshape(*q.shape[:-1], v.shape[-1])


def _near_or_first(
    like: torch.Tensor, rows: int, before: int, first: int, far: int, last: int
) -> jt.Float[torch.Tensor, "rows columns"]:
    """0 where a query may look, else -∞; columns: `far` tokens, `before` older ones, then the rows' own.

    All of `far` and `first` more are visible, and of the others up to the row's own the `last`.
    """
    own = far + before  # the column of row 0
    nothing = torch.full((rows, own + rows), -math.inf, dtype=like.dtype, device=like.device)
    older = nothing.tril(own - last)
    older[:, : far + first] = 0
    return nothing.triu_(own + 1).add_(older)
