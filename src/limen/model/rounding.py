"""Arithmetic in a precision that the processor does not have: every operation's result is rounded."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from limen.core.arrays import np
from limen.core.numbers import Precision

# Operations whose results are numbers that were there before.
_MOVES = frozenset(
    {
        torch.ops.aten._to_copy,
        torch.ops.aten._unsafe_view,
        torch.ops.aten.cat,
        torch.ops.aten.clone,
        torch.ops.aten.gather,
        torch.ops.aten.index,
        torch.ops.aten.index_select,
        torch.ops.aten.stack,
    }
)


class Rounded(TorchDispatchMode):
    """Rounds what each float64 operation returns, in place, so that in-place operations obey too.

    A view shows numbers that were rounded when they were computed, and may show one of them twice; what is
    only moved was rounded before, too.
    """

    rounds_each_operation = True

    def __init__(self, precision: Precision) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.precision = precision

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Nothing is compiled here, and to keep torch's compiler out torch would load it: a second or two."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if not func.is_view and func.overloadpacket not in _MOVES:
            for x in result if isinstance(result, tuple | list) else (result,):
                self._round(x)
        return result

    def _round(self, x: Any) -> None:
        if isinstance(x, torch.Tensor) and x.dtype == torch.float64:
            numbers = np.atleast_1d(x.numpy())  # the same memory
            numbers[...] = self.precision.nearest(numbers)
