r"""AdamW [loshchilov2019], by torch's fused kernel.

    m ← β₁m + (1-β₁)g,   v ← β₂v + (1-β₂)g²,   w ← (1 - λη)w - η·m̂ / (√v̂ + ε)       m̂, v̂: bias corrected

`torch.optim` would import torch's compiler, three seconds of every process, and does no more here.
"""

from __future__ import annotations

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
        with torch.no_grad():
            torch._fused_adamw_(
                [self.weights[i] for i in moved],
                grads,
                [self.first[i] for i in moved],
                [self.second[i] for i in moved],
                [],
                steps,
                amsgrad=False,
                lr=rate,
                beta1=_BETA1,
                beta2=_BETA2,
                weight_decay=self.decay,
                eps=_EPSILON,
                maximize=False,
            )
        for i in moved:
            self.weights[i].grad = None
