"""Every operation of a run in a precision, whether the processor has it or not."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from limen.core.numbers import Precision


def computing_in(precision: Precision) -> AbstractContextManager[object]:
    """A context in which the result of every float64 operation is rounded to this precision.

    Sums inside one operation (a matrix product, a softmax) are accumulated in float64.
    """
    if precision.native:
        return nullcontext()
    from limen.model.rounding import Rounded

    return Rounded(precision)


def rounds_each_operation() -> bool:
    """Whether some `computing_in` is active whose precision the processor does not have."""
    from torch.utils._python_dispatch import _get_current_dispatch_mode

    mode = _get_current_dispatch_mode()
    return mode is not None and getattr(mode, "rounds_each_operation", False)
