"""Binary addition by ReLUs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")


def carry(
    W1: torch.Tensor, b1: torch.Tensor, W2: torch.Tensor, digits: range, units: range, to: range
) -> None:
    """Writes two ReLUs a digit, whose difference relu(p - 2^{b+1} + 1) - relu(p - 2^{b+1}) is the carry.

    p is the sum up to digit b, an integer below 2·2^{b+1}; `digits` are the rows of W1 that are summed, each
    0, 1 or 2.  A carry takes 2 from its digit in `to` and gives 1 to the next; one beyond `to` is dropped.
    """
    for b in range(len(digits)):
        pair = list(units[2 * b : 2 * b + 2])
        W1[digits.start : digits.start + b + 1, pair] = 2.0 ** torch.arange(b + 1).double()[:, None]
        b1[pair] = torch.tensor([1.0 - (2 << b), -(2 << b)], dtype=torch.float64)
        W2[pair, to[b]] = torch.tensor([-2, 2], dtype=torch.float64)
        if b + 1 < len(to):
            W2[pair, to[b + 1]] = torch.tensor([1, -1], dtype=torch.float64)
