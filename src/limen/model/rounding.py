"""Arithmetic in a precision the machine does not have: the result of every operation is rounded."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map_only

from limen.core.numbers import Precision


class Rounded(TorchDispatchMode):
    """Rounds what each float64 operation returns, in place, so that in-place operations obey too.

    A view shows numbers that were rounded when they were computed, and may show one of them twice.
    """

    rounds_each_operation = True

    def __init__(self, precision: Precision) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.precision = precision

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        return result if func.is_view else tree_map_only(torch.Tensor, self._rounded, result)

    def _rounded(self, x: torch.Tensor) -> torch.Tensor:
        return x.copy_(self.precision.round(x)) if x.dtype == torch.float64 else x
