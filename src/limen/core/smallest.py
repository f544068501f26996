"""The smallest value of one of a task's sizes for which something holds, by doubling and halving.

Right if it holds from some value on; otherwise a value for which it does, the one below being one for which
it does not.  Values that the task does not allow are passed over.
"""

from __future__ import annotations

from collections.abc import Callable

from limen.core.task import Task
from limen.errors import BadInput

_LARGEST = 2**40  # nothing is looked at beyond this, unless the task itself is larger
_NEAR = 4  # values that are tried beside one that a task does not allow


def smallest(
    task: Task, size: str, holds: Callable[[Task], bool], *, known: bool
) -> tuple[int, int | None] | None:
    """The value, and the one below it (None: there is none).

    `known` says whether it holds for the task itself.
    """
    own = task.sizes[size]
    low, high = 0, own
    if known:
        powers = (1 << i for i in range((own - 1).bit_length()))
        for value in (value for value in powers if _allowed(task, size, value)):
            if holds(task.resized(size, value)):
                high = value
                break
            low = value
    while not known:
        low, high = high, _grown(task, size, high)
        if high == low or high > _LARGEST:
            return None
        known = holds(task.resized(size, high))
    while (middle := _between(task, size, low, high)) is not None:
        low, high = (low, middle) if holds(task.resized(size, middle)) else (middle, high)
    return high, low or None


def _grown(task: Task, size: str, value: int) -> int:
    """Twice the size, or the largest value below that the task allows."""
    high = 2 * value
    if _allowed(task, size, high):
        return high
    low = value
    while (middle := (low + high) // 2) > low:
        low, high = (middle, high) if _allowed(task, size, middle) else (low, middle)
    return low


def _between(task: Task, size: str, low: int, high: int) -> int | None:
    """An allowed value about half way, if there is one near."""
    middle = (low + high) // 2
    near = (value for step in range(_NEAR) for value in (middle - step, middle + step))
    return next((value for value in near if low < value < high and _allowed(task, size, value)), None)


def _allowed(task: Task, size: str, value: int) -> bool:
    try:
        task.resized(size, value)
    except BadInput:
        return False
    return True
