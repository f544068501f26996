"""The inequality of `hidden_tokens`."""

from __future__ import annotations

from inequalities.two_sum import alone
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.top_k import TopK
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.facts import chain
from limen.tasks.is_tree import IsTree
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """k ≥ m, for m groups of tokens that hide each other."""
    layers = case.architecture.layers
    part = alone(layers[0], TopK) if len(layers) == 1 else None
    if part is None or not isinstance(part.mixer, TopK) or case.steps or case.sizes or case.route:
        return NoStatement("it is about one layer of top_k alone, in one pass")
    m = _groups(case.task)
    if m is None:
        return NoStatement("no groups of tokens are known that hide each other")
    return Sides(part.mixer.k, m, "tokens")


def _groups(task: Task) -> int | None:
    tables = chain(task)
    if tables is not None:
        return len(tables.table(max(tables.L - 1, 1))) if tables.answers > 1 else None
    match task:
        case Equality() | Disjointness():
            return (task.length - 2) // 2
        case Dyck(k=k):
            return (task.length - 2) // 2 if k > 1 else None
        case SparseAverage(q=q):
            return task.cut if q > 1 else None
        case Recall() | NearestNeighbor():
            return task.cut // 2
        case ThreeSum(M=M) | TwoSumAny(M=M):
            return min((task.length - 1) // 2, (M - 1) // 2)
        case IsTree():
            return task.length // 3
        case Counting(n=n, S=S):
            near = n * S // (S + 1)
            return next(k for k in range(near, near + 3) if k + k // S >= n)
    return None
