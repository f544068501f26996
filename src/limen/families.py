"""Tasks at every length: where one has other sizes, they grow with n, so that it stays as hard."""

from __future__ import annotations

from collections.abc import Callable

from limen.core.task import Task
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.eva import Eva
from limen.tasks.index import Index
from limen.tasks.is_tree import IsTree
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum import TwoSum
from limen.tasks.two_sum_any import TwoSumAny

LEAST = 4  # the smallest n of all

FAMILIES: dict[str, Callable[[int], Task]] = {
    "index": lambda n: Index(n, 2),
    "eva": Eva,
    "recall": lambda n: Recall(n, 2 * n),
    "two_sum": lambda n: TwoSum(n, n * n),
    "two_sum_any": lambda n: TwoSumAny(n, n * n),
    "three_sum": lambda n: ThreeSum(n, n * n),
    "equality": Equality,
    "disjointness": Disjointness,
    "sparse_average": lambda n: SparseAverage(n, 2),
    "counting": lambda n: Counting(n, n),
    "dyck": lambda n: Dyck(2 * n, 2, n),
    "is_tree": IsTree,
}
