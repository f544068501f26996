"""Every input of a task, where there are few enough."""

from __future__ import annotations

from collections.abc import Iterator

from limen.core.arrays import np
from limen.core.task import Task, Tokens
from limen.errors import BadInput

MOST = 2**22  # inputs that anybody would want to run through


def count(task: Task) -> int:
    """The number of token sequences that the alphabets allow (the promise may forbid some), or MOST + 1.

    No large number is written down.
    """
    if task.length > MOST:  # so many alphabets are not looked at either
        return MOST + 1
    total = 1
    for ids, times in task.alphabets():
        size = ids.stop - ids.start
        if size > 1 and times * (size.bit_length() - 1) > MOST.bit_length():
            return MOST + 1
        total *= size**times if size != 1 else 1
    return min(total, MOST + 1)


def batches(task: Task, size: int) -> Iterator[Tokens]:
    """All promised inputs, at most `size` at a time."""
    total = count(task)
    if total > MOST:
        raise BadInput(f"{task} has more than {MOST} inputs, too many to run all: sample instead")
    sizes, firsts = _digits(task)
    for start in range(0, total, size):
        digits = np.unravel_index(np.arange(start, min(start + size, total)), sizes)
        tokens = np.stack(digits, axis=-1).astype(np.int64) + firsts
        promised = tokens[np.asarray(task.promised(tokens))]
        if len(promised):
            yield promised


def numbers(task: Task, tokens: Tokens) -> Tokens:
    """(*batch, length) -> (*batch,): the number of each, below `count`, in the order of `batches`."""
    sizes, firsts = _digits(task)
    return np.asarray(np.ravel_multi_index(tuple(np.moveaxis(tokens - firsts, -1, 0)), sizes))


def _digits(task: Task) -> tuple[list[int], Tokens]:
    """The number of ids allowed at each position, and the first of them."""
    alphabets = [ids for ids, times in task.alphabets() for _ in range(times)]
    return [len(ids) for ids in alphabets], np.array([ids.start for ids in alphabets])
