"""What `one_sum` speaks of."""

from __future__ import annotations

from inequalities.softmax_read import heads, questions
from limen.core.theorem import NoStatement
from limen.mixers.linear import Linear
from limen.tasks.counting import Counting
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.three_sum import ThreeSum
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """One sum, where texts cross."""
    match case.task:
        case Equality() | Counting():
            crosses = case.task.length > 2
        case Dyck(k=k):
            crosses = k > 1 and case.task.length > 2
        case TwoSumAny(M=M) | ThreeSum(M=M):
            crosses = M > 4 and case.task.length > 2
        case task:
            crosses = questions(task) > 1
    return (
        Sides(1, 2, "sums") if crosses and (heads(case) == 1 or _plain(case)) else NoStatement("no crossing")
    )


def _plain(case: Case) -> bool:
    """Whether the only layer is linear attention without normaliser."""
    (layer, *more), end = case.architecture.layers, case.architecture.end
    given = all(part.bits is None and part.kv is None and part.times == 1 for part in layer.parts)
    mixers = [part.mixer for part in layer.parts]
    plain = end is not None and end.plain
    return plain and not more and given and all(isinstance(m, Linear) and not m.normalise for m in mixers)
