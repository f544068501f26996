r"""Softmax attention to a few chosen tokens, given by their places: work in proportion to their number.

    y_i = Σ_s α_is v_{t_is},     α_i = softmax_s⟨q_i, k_{t_is}⟩          t_i1 … t_ik the tokens that i reads

Σ_s α_s x_{t_s} is torch's `embedding_bag`, which adds up rows of a table without copying them first.
"""

from __future__ import annotations

import math
from typing import Any

from limen.core.arrays import NDArray, np
from limen.core.tensors import jt, torch

_TILE = 16  # queries that are multiplied with a block at once
_GROUP = 8  # scores that are first judged by their maximum alone, in rows that are _LONG times as long as k
_LONG = 16


def attend_chosen(
    q: jt.Float[torch.Tensor, "*batch r d_k"],
    k: jt.Float[torch.Tensor, "*batch n d_k"],
    v: jt.Float[torch.Tensor, "*batch n d"],
    places: jt.Int64[torch.Tensor, "*batch r s"],
    valid: jt.Bool[torch.Tensor, "*#batch r s"],
) -> jt.Float[torch.Tensor, "*batch r d"]:
    """The attention of each query to its valid places, of which there is at least one."""
    n, (r, s) = k.shape[-2], places.shape[-2:]
    batch = torch.arange(math.prod(places.shape[:-2]), device=q.device)
    rows = (places.reshape(-1, r, s) + n * batch[:, None, None]).reshape(-1, s)  # of all tables in one
    scores = dots(q.reshape(-1, q.shape[-1]), k.reshape(-1, k.shape[-1]), rows).reshape(places.shape)
    α = scores.masked_fill(~valid, -math.inf).softmax(-1)
    return weighed(α.reshape(-1, s), v.reshape(-1, v.shape[-1]), rows).reshape(*q.shape[:-1], v.shape[-1])


def attend_blocks(
    q: jt.Float[torch.Tensor, "*batch r d_k"],
    k: jt.Float[torch.Tensor, "*batch n d_k"],
    v: jt.Float[torch.Tensor, "*batch n d"],
    blocks: jt.Int64[torch.Tensor, "*batch r s"],
    valid: jt.Bool[torch.Tensor, "*batch r s B"],
) -> jt.Float[torch.Tensor, "*batch r d"]:
    """The attention of each query to whole blocks of B tokens, of which only the valid tokens count."""
    (n, d), B = v.shape[-2:], valid.shape[-1]
    k, v = (torch.nn.functional.pad(x, (0, 0, 0, -n % B)).unflatten(-2, (-1, B)) for x in (k, v))
    m, batch = k.shape[-3], torch.arange(math.prod(q.shape[:-2]), device=q.device)
    block = (blocks.reshape(-1, *blocks.shape[-2:]) + m * batch[:, None, None]).flatten(0, 1)  # (rows, s)
    scores = block_dots(q.reshape(-1, q.shape[-1]), k.reshape(-1, B, k.shape[-1]), block)  # (rows, s, B)
    α = scores.masked_fill(~valid.reshape(scores.shape), -math.inf).flatten(-2).softmax(-1)
    rows = (block.unsqueeze(-1) * B + torch.arange(B, device=q.device)).flatten(-2)
    return weighed(α, v.reshape(-1, d), rows).reshape(*q.shape[:-1], d)


def block_dots(
    q: jt.Float[torch.Tensor, "rows d"],
    table: jt.Float[torch.Tensor, "blocks B d"],
    block: jt.Int64[torch.Tensor, "rows s"],
) -> jt.Float[torch.Tensor, "rows s B"]:
    """⟨q_i, k⟩ for each k of the chosen blocks, as matrix products: sorted by block, in tiles of queries.

    A block's last tile is filled up with the first query, whose products nobody reads.
    """
    flat = block.reshape(-1)
    order = flat.argsort(stable=True)  # of the pairs of a query and a block
    count = torch.bincount(flat, minlength=len(table))
    tiles = -(-count // _TILE)  # of each block
    before = (tiles.cumsum(0) - tiles) * _TILE - (count.cumsum(0) - count)  # places of fillers before it
    slot = torch.empty_like(order)
    slot[order] = torch.arange(len(flat), device=q.device) + before[flat[order]]
    of = torch.arange(len(table), device=q.device).repeat_interleave(tiles)  # the block of each tile
    query = flat.new_zeros(len(of) * _TILE)
    query[slot] = torch.arange(len(flat), device=q.device) // block.shape[-1]
    tiled = q.index_select(0, query).unflatten(0, (-1, _TILE))
    products: torch.Tensor = tiled @ table.index_select(0, of).mT  # (tiles, _TILE, B)
    return products.flatten(0, 1).index_select(0, slot).reshape(*block.shape, table.shape[1])


def weighed(
    α: jt.Float[torch.Tensor, "r s"],
    table: jt.Float[torch.Tensor, "rows d"],
    rows: jt.Int64[torch.Tensor, "r s"],
) -> jt.Float[torch.Tensor, "r d"]:
    """Σ_s α_is table[rows_is]."""
    return torch.nn.functional.embedding_bag(rows, table, per_sample_weights=α, mode="sum")


def dots(
    q: jt.Float[torch.Tensor, "r d"],
    table: jt.Float[torch.Tensor, "rows d"],
    rows: jt.Int64[torch.Tensor, "r s"],
) -> jt.Float[torch.Tensor, "r s"]:
    """⟨q_i, table[rows_is]⟩."""
    from limen.mixers._dots import Dots  # a class of torch's, made when torch is loaded

    products: torch.Tensor = Dots.apply(q, table, rows)  # type: ignore[no-untyped-call]
    return products


def leading(
    scores: jt.Float[torch.Tensor, "*batch m"], k: int
) -> tuple[jt.Int64[torch.Tensor, "*batch {k}"], jt.Bool[torch.Tensor, "*batch {k}"]]:
    """The positions of the k highest scores of each row, the leftmost on ties; and which of these count.

    Those above -∞ do, but none of a row with a NaN.
    """
    padded = scores.detach().to(torch.promote_types(scores.dtype, torch.float32))
    long = padded.shape[-1] >= _LONG * k and padded.numel() > 0  # of no texts torch makes no maxima
    if missing := -padded.shape[-1] % _GROUP if long else max(k - padded.shape[-1], 0):
        padded = torch.nn.functional.pad(
            padded, (0, missing), value=-math.inf
        )  # by nothing it would copy all
    rows = padded.flatten(0, -2).numpy()
    flat, numbers = (_among_the_best_groups if long else _highest)(rows, k)
    counts = (rows.take(flat) > -math.inf) & numbers[:, None]
    places = np.where(counts, flat - rows.shape[-1] * np.arange(len(rows))[:, None], 0)
    shape = *scores.shape[:-1], k
    return torch.from_numpy(places).reshape(shape), torch.from_numpy(counts).reshape(shape)


def _among_the_best_groups(rows: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """`_highest` of long rows, by groups and their maxima.

    Whoever stands outside the k groups with the highest maxima, the leftmost on ties, has k before it: the
    best of each of these groups.  So they alone are searched.
    """
    maxima = torch.nn.functional.max_pool1d(torch.from_numpy(rows), _GROUP)  # NaN, if there is one
    groups, numbers = _highest(maxima.numpy(), k)
    few = rows.reshape(-1, _GROUP).take(groups, axis=0).reshape(len(rows), -1)  # (r, k·_GROUP)
    at, _ = _highest(few, k)
    group = at // _GROUP  # among the chosen ones
    return at + _GROUP * (groups.take(group) - group), numbers


def _highest(rows: NDArray[Any], k: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where the k highest of each row stand if all rows are laid end to end: (r, k); which rows have no NaN.

    The leftmost win ties.  Numpy finds the k-th highest of a row about five times as fast as torch.
    """
    m = rows.shape[-1]
    highest = np.partition(rows, m - k, axis=-1)[:, m - k :]  # NaN counts as the highest of all
    level, numbers = highest[:, :1], np.invert(np.isnan(highest).any(-1))
    among = rows >= level
    unclear = np.flatnonzero((among.sum(-1, dtype=np.int32) != k) & numbers)
    among[unclear] = _leftmost(rows[unclear], level[unclear], k)
    among[~numbers] = np.arange(m) < k
    return np.flatnonzero(among).reshape(-1, k), numbers


def _leftmost(rows: NDArray[Any], level: NDArray[Any], s: int) -> NDArray[np.bool_]:
    """Whether a number is above the level, or one of the leftmost at the level that make s in all."""
    above, tied = rows > level, rows == level
    room = s - above.sum(-1, keepdims=True, dtype=np.int32)
    return np.asarray(above | (tied & (tied.cumsum(-1, dtype=np.int32) <= room)))
