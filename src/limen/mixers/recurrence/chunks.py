"""Sequences in chunks: cut, work inside all chunks at once, carry the state from chunk to chunk, glue."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import jaxtyping as jt
    import torch
else:
    jt = lazy_loader.load("jaxtyping")
    torch = lazy_loader.load("torch")

CHUNK = 32  # a power of two; best or tied for every mixer when measured on CPU,
ERASING = 16  # but where something is erased: torch solves triangular systems slowly


def cut(
    x: jt.Num[torch.Tensor, "*batch n m"], chunk: int = CHUNK
) -> jt.Num[torch.Tensor, "*batch chunks _ m"]:
    """Zero tokens fill the last chunk: they come last, so in a causal mixer nobody sees them.

    A shorter text is one chunk, filled up to a power of two.
    """
    chunk = min(chunk, 1 << (x.shape[-2] - 1).bit_length())
    missing = -x.shape[-2] % chunk
    filled = torch.nn.functional.pad(x, (0, 0, 0, missing)) if missing else x
    return filled.reshape(*x.shape[:-2], filled.shape[-2] // chunk, chunk, x.shape[-1])


def glue(y: jt.Num[torch.Tensor, "*batch chunks chunk m"], n: int) -> jt.Num[torch.Tensor, "*batch {n} m"]:
    return y.flatten(-3, -2)[..., :n, :]


def carry(
    act: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
    Φ: jt.Num[torch.Tensor, "*#batch chunks _ _"],
    added: jt.Num[torch.Tensor, "*batch chunks r d"],
) -> jt.Num[torch.Tensor, "*batch chunks r d"]:
    """The state before each chunk, where a chunk turns the state S into act(Φ, S) + added; the first is 0."""
    S = torch.zeros_like(added[..., 0, :, :])
    before = [S]
    for Φ_c, added_c in zip(Φ.unbind(-3)[:-1], added.unbind(-3)[:-1], strict=True):
        S = act(Φ_c, S) + added_c
        before.append(S)
    return torch.stack(before, -3)


def summed(added: jt.Num[torch.Tensor, "*batch chunks r d"]) -> jt.Num[torch.Tensor, "*batch chunks r d"]:
    """The state before each chunk, where a chunk only adds."""
    before = [torch.zeros_like(added[..., 0, :, :])]
    for added_c in added.unbind(-3)[:-1]:
        before.append(before[-1] + added_c)
    return torch.stack(before, -3)
