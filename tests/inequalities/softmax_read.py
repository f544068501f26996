"""The inequality of `softmax_read`."""

from __future__ import annotations

from fractions import Fraction
from math import comb

from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.mixers.linear import Linear
from limen.mixers.mla import Mla
from limen.mixers.softmax import Softmax
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.facts import chain
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.tasks.sparse_average import SparseAverage
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """v ≤ 2^{H+1} - 3, and v with 2^v ≤ H(2H-1)^{2H-1}·Σ C(v,i)."""
    H, v = heads(case), questions(case.task)
    if H is None or H > 256 or not v:
        return NoStatement("it is about one layer of positive heads, and questions that end with one token")
    bound, signs = 2 ** (H + 1) - 3, H * (2 * H - 1) ** (2 * H - 1)
    last = 1
    while last < bound and Fraction(2**last, signs) <= sum(comb(last, i) for i in range(2 * H + 1)):
        last += 1  # the first one that fails, or the first bound
    return Sides(min(bound, last if last == bound else last - 1), v, "questions")


def heads(case: Case) -> int | None:
    """The heads of one layer that average with positive weights; None if it is another layer."""
    layers = case.architecture.layers
    end = case.architecture.end
    if end is None or not end.plain or len(layers) > 1 or layers[0].times > 1:
        return None
    total = 0
    for part in layers[0].parts:
        match part.mixer:
            case Softmax(h=h) | Mla(h=h):
                total += h
            case Linear(h=h, normalise=True, phi=phi) if phi.name in ("elu1", "exp", "taylor"):
                total += h
            case _:
                return None
        if part.bits is not None or part.kv is not None:
            return None
    return total


def questions(task: Task) -> int:
    """The free questions that end with one token; 0 where none are known."""
    tables = chain(task)
    if tables is not None:
        return len(tables.table(max(tables.L - 1, 1))) if tables.answers > 1 else 0
    match task:
        case Recall() | NearestNeighbor():
            return task.cut // 2
        case Disjointness():
            return task.length // 2 - 1
        case Counting(n=n, S=S):
            return min(n, S - 1)
        case TwoSumAny(M=M) | ThreeSum(M=M):
            return max(0, min(task.length - 2, -(-M // 2) - 2))
        case SparseAverage(n=n, q=q):
            return n + 1 - q if q > 1 else 0
    return 0
