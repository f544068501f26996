"""The k highest scores of a row: the choice of an index."""

from __future__ import annotations

import math

from limen.core.tensors import jt, torch


def highest(
    scores: jt.Float[torch.Tensor, "*batch n m"], k: int, among: jt.Bool[torch.Tensor, "n m"]
) -> jt.Bool[torch.Tensor, "*batch n m"]:
    """The k highest scores of each row (all, if fewer are allowed), the leftmost ones on ties.

    `topk` alone breaks ties as it likes, and differently for other m: then a token would read
    other tokens in a longer text.
    A score of -∞ is none, and of a row with a NaN no token is chosen.
    """
    scores = scores.masked_fill(~among, -math.inf)
    best = scores.topk(min(k, scores.shape[-1]), dim=-1).values  # a NaN comes first
    level = best[..., -1:].masked_fill(best[..., :1].isnan(), math.nan)
    above, tied = scores > level, scores == level
    room = k - above.sum(-1, keepdim=True)
    chosen = above | (tied & (tied.cumsum(-1) <= room))
    return chosen & among & (scores > -math.inf)  # a simulated format may have no -∞, but a lowest number
