"""Several models at once: what `torch.func.vmap` has no rule for reads their axis as part of the batch.

Under `vmap` over the weights of a model every operation gets one more axis by itself.  Torch's attention and
autograd functions do not: they are run on tensors whose first two axes, models and batch, are one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._C._functorch import is_batchedtensor as is_stacked


def folded(of: Callable[..., torch.Tensor], *parts: torch.Tensor | None) -> torch.Tensor:
    """of(*parts) under `vmap`; parts of the models themselves have the batch as their first axis."""
    y: torch.Tensor = _Folded.apply(of, *parts)  # type: ignore[no-untyped-call]
    return y


class _Folded(torch.autograd.Function):
    """A function only in name: below `vmap` its operations are recorded as any others."""

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Torch wants it beside `vmap`, but calls it only where there is no `vmap`."""
        raise AssertionError("folded is called under vmap alone")

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], of: Callable[..., torch.Tensor], *parts: torch.Tensor | None
    ) -> tuple[torch.Tensor, int]:
        given = [
            part if part is None or dim is None else part.movedim(dim, 0).flatten(0, 1)
            for part, dim in zip(parts, dims[1:], strict=True)
        ]
        return of(*given).unflatten(0, (info.batch_size, -1)), 0


__all__ = ["folded", "is_stacked"]
