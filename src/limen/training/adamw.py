r"""AdamW [loshchilov2019], by torch's fused kernel.

    m ← β₁m + (1-β₁)g,   v ← β₂v + (1-β₂)g²,   w ← (1 - λη)w - η·m̂ / (√v̂ + ε)       m̂, v̂: bias corrected

`torch.optim` would import torch's compiler, three seconds of every process, and does no more here.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_BETA1, _BETA2, _EPSILON = 0.9, 0.98, 1e-8


class AdamW:
    """The optimiser with its moments; a weight without a gradient stays as it is."""

    def __init__(self, weights: list[torch.Tensor], decay: float) -> None:
        self.weights, self.decay = weights, decay
        self.first = [torch.zeros_like(w) for w in weights]
        self.second = [torch.zeros_like(w) for w in weights]
        self.steps = [torch.zeros(()) for _ in weights]

    def step(self, rate: float, longest: float) -> None:
        """One step in place, the gradient clipped to the norm `longest`; gradients are dropped afterwards."""
        moved = [i for i, w in enumerate(self.weights) if w.grad is not None]
        grads = [grad for i in moved if (grad := self.weights[i].grad) is not None]
        length = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
        torch._foreach_mul_(grads, float((longest / (length + 1e-6)).clamp(max=1.0)))
        steps = [self.steps[i] for i in moved]
        torch._foreach_add_(steps, 1.0)
        first, second = ([moments[i] for i in moved] for moments in (self.first, self.second))
        _fused([self.weights[i] for i in moved], grads, first, second, steps, rate, self.decay)
        for i in moved:
            self.weights[i].grad = None


class AdamWByRows:
    """The same for a matrix whose rows are the weights of one model each, with a rate and a clip of its own.

    Here a weight without a gradient has the gradient 0, so it decays.
    """

    def __init__(self, rows: torch.Tensor, decay: float) -> None:
        self.rows, self.decay = rows, decay
        self.first, self.second, self.steps = torch.zeros_like(rows), torch.zeros_like(rows), torch.zeros(())

    def step(self, rates: Sequence[float], longest: float) -> None:
        """One step in place; rows in a row that have the same rate are moved together."""
        grad = self.rows.grad
        assert grad is not None
        length = torch.linalg.vector_norm(grad, dim=1, keepdim=True)
        grad.mul_((longest / (length + 1e-6)).clamp(max=1.0))
        self.steps += 1
        end = 0
        for rate, alike in groupby(rates):
            start, end = end, end + len(list(alike))
            w, g, m, v = ([part[start:end]] for part in (self.rows, grad, self.first, self.second))
            _fused(w, g, m, v, [self.steps], rate, self.decay)
        self.rows.grad = None

    def keep(self, some: list[int]) -> None:
        """Drops all other rows."""
        self.rows = self.rows.detach()[some].requires_grad_()
        self.first, self.second = self.first[some], self.second[some]


def _fused(
    weights: list[torch.Tensor],
    grads: list[torch.Tensor],
    first: list[torch.Tensor],
    second: list[torch.Tensor],
    steps: list[torch.Tensor],
    rate: float,
    decay: float,
) -> None:
    with torch.no_grad():
        torch._fused_adamw_(
            weights,
            grads,
            first,
            second,
            [],
            steps,
            amsgrad=False,
            lr=rate,
            beta1=_BETA1,
            beta2=_BETA2,
            weight_decay=decay,
            eps=_EPSILON,
            maximize=False,
        )
