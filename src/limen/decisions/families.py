"""Tasks at every length: the sizes left out grow with n, so that the task stays as hard."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from limen.core.task import Task

LEAST = 4  # the smallest n of all


def _at(name: str, n: int) -> Task:
    return Task.parse(f"{name}(n={n})")


FAMILIES: dict[str, Callable[[int], Task]] = {
    name: partial(_at, name)
    for name in (
        "index",
        "eva",
        "recall",
        "two_sum",
        "two_sum_any",
        "three_sum",
        "equality",
        "disjointness",
        "sparse_average",
        "counting",
        "dyck",
        "is_tree",
    )
} | {"dyck": lambda n: _at("dyck", 2 * n)}
