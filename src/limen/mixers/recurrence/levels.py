r"""The rule of a matrix memory with a weight for each stretch of the past, as in log-linear attention.

    y_t = Σ_j λ_t^(bit_length(t xor j)) M_tj v_j,        M v the outputs of the rule without levels

Inside a chunk M is written out.  Then blocks are joined two by two, as they stand in a binary tree: all
tokens of the right block see the left one at one level, and read the state that it leaves behind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import lazy_loader

from limen.errors import BadInput
from limen.mixers.recurrence.chunks import cut
from limen.mixers.recurrence.rule import Tokens, alike, chunk_maps, widened

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")


class LevelBlocks(NamedTuple):
    """Blocks of tokens: what a state before it gives a token (qS), the outputs so far, what becomes of S."""

    q: jt.Float[torch.Tensor, "*batch blocks size d_k"]
    y: jt.Float[torch.Tensor, "*batch blocks size d"]
    S: jt.Float[torch.Tensor, "*batch blocks d_k d"]  # what the block adds
    Φ: jt.Float[torch.Tensor, "*batch blocks _ _"]  # what it leaves: a number, or a matrix

    def at(self, some: slice) -> LevelBlocks:
        return LevelBlocks(*(part[..., some, :, :] for part in self))


def levelled(
    tokens: Tokens, λ: jt.Float[torch.Tensor, "*batch n levels"]
) -> jt.Float[torch.Tensor, "*batch n d"]:
    """The outputs y; n is at most 2^(levels - 1)."""
    enough_levels(tokens, λ)
    n, dtype = tokens.v.shape[-2], tokens.v.dtype
    if not tokens.v.numel():
        return tokens.v
    *parts, weights = alike((*tokens, λ))
    assert weights is not None
    q, k, v, β, g, *_ = Tokens(*parts).each(lambda part: cut(widened(part)))  # type: ignore[arg-type]
    λ = cut(widened(weights))
    M, N, Q, Φ = (x.expand(*v.shape[:-2], *x.shape[-2:]) for x in chunk_maps(q, k, β, g))  # for each head
    chunk = v.shape[-2]
    table = level_table(chunk, v.device).clamp(max=λ.shape[-1] - 1)  # higher ones are of padding only
    y = (λ.gather(-1, table.expand(M.shape)) * M) @ v
    blocks, tail = LevelBlocks(Q, y, N @ v, Φ), None
    λ, level = λ.flatten(-3, -2), chunk.bit_length()
    while (count := blocks.q.shape[-3]) > 0:
        weight = λ[..., min(level, λ.shape[-1] - 1), None]  # (*batch, tokens, 1)
        if count % 2:
            last = blocks.at(slice(count - 1, count))
            behind = 0 if tail is None else tail.y.shape[-2]
            tail = last if tail is None else _joined(last, tail, weight[..., None, -behind:, :])
            blocks = blocks.at(slice(count - 1))
        size = blocks.q.shape[-2]
        own = weight[..., : (count - count % 2) * size, :].unflatten(-2, (-1, 2, size))
        left, right = (blocks.at(slice(i, None, 2)) for i in (0, 1))
        blocks = _joined(left, right, own[..., 1, :, :])
        level += 1
    assert tail is not None
    return tail.y.squeeze(-3)[..., :n, :].to(dtype)


def enough_levels(tokens: Tokens, λ: torch.Tensor) -> None:
    """Raises if a token has no weight for the farthest stretch of its past."""
    n, levels = tokens.v.shape[-2], λ.shape[-1]
    if max(n - 1, 0).bit_length() >= levels:
        raise BadInput(f"{n} tokens need {max(n - 1, 0).bit_length() + 1} levels, got {levels}")


def _joined(left: LevelBlocks, right: LevelBlocks, weight: torch.Tensor) -> LevelBlocks:
    """Two blocks as one; the right one has then read the left one, weighed."""
    act = torch.mul if left.Φ.shape[-1] == 1 else torch.matmul
    return LevelBlocks(
        torch.cat([left.q, act(right.q, left.Φ)], -2),
        torch.cat([left.y, right.y + weight * (right.q @ left.S)], -2),
        act(right.Φ, left.S) + right.S,
        act(right.Φ, left.Φ),
    )


def level_table(n: int, device: torch.device) -> jt.Int64[torch.Tensor, "{n} {n}"]:
    """bit_length(t xor j): the exponent of a float is the bit length of the integer in it."""
    t = torch.arange(n, device=device)
    return torch.frexp((t[:, None] ^ t).double()).exponent.long()
