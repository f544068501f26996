r"""The short causal convolution in front of many recurrences: each channel sees its own last c values.

    y_t = Σ_{i<c} κ_i x_{t-c+1+i}          channel by channel; x before the first token is 0

Row c-1 of the kernel weighs the present token.  State: the last c-1 rows of x.
"""

from __future__ import annotations

from limen.core.tensors import jt, torch


def passing(kernel: jt.Num[torch.Tensor, "c m"]) -> jt.Num[torch.Tensor, "c m"]:
    """A start that passes the present token on, with half of a random kernel on top.

    A random kernel alone mixes c tokens into one vector: keys would be found by their neighbours as well.
    """
    present = torch.zeros_like(kernel)
    present[-1] = 1
    return present + kernel / 2


def nothing_seen(
    kernel: jt.Num[torch.Tensor, "c m"], batch: tuple[int, ...]
) -> jt.Num[torch.Tensor, "*batch c-1 m"]:
    """The state before the first token."""
    c, m = kernel.shape
    return kernel.new_zeros((*batch, c - 1, m))


def convolve(
    seen: jt.Num[torch.Tensor, "*batch past m"],
    x: jt.Num[torch.Tensor, "*batch n m"],
    kernel: jt.Num[torch.Tensor, "c m"],
) -> tuple[jt.Num[torch.Tensor, "*batch past m"], jt.Num[torch.Tensor, "*batch n m"]]:
    """Reads n tokens (a whole sequence or one): the new state and the n outputs."""
    n = x.shape[-2]
    seen = torch.cat([seen, x], -2)  # (*batch, c - 1 + n, m)
    y = seen[..., :n, :] * kernel[0]
    for i, κ in enumerate(kernel[1:].unbind(0), 1):
        y = y + seen[..., i : i + n, :] * κ
    return seen[..., n:, :], y
