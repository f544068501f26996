"""The inequality of `one_layer_cut`: families of inputs with one last token, and large fooling sets."""

from __future__ import annotations

from inequalities.bits import power_bits
from inequalities.cuts import (
    Family,
    message_bits,
    one_layer,
    query_bits,
    sets_bits,
    sides,
    supports_bits,
    with_one_more,
)
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.counting import Counting
from limen.tasks.disjointness import Disjointness
from limen.tasks.dyck import Dyck
from limen.tasks.equality import Equality
from limen.tasks.inner_product import InnerProduct
from limen.tasks.is_tree import IsTree
from limen.tasks.match3 import Match3
from limen.tasks.three_sum import ThreeSum
from limen.tasks.turing import Turing
from limen.tasks.two_sum_any import TwoSumAny
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ #rows; after recurrences of S bits, S + H(d_k+d+2)p ≥ log₂ #fooling set."""
    match case.route:
        case "fixed_query":
            family = fixed_query(case.task, case.sizes.get("k"))
            return family if isinstance(family, NoStatement) else one_layer(case, family)
        case "after_recurrence":
            family = fooling_set(case.task)
            return family if isinstance(family, NoStatement) else _after_recurrence(case, family)
    return NoStatement(f"there is no route {case.route!r}: fixed_query, after_recurrence")


def fixed_query(task: Task, k: int | None = None) -> Family | NoStatement:
    """Inputs with the same last token; of a graph, k of the vertices are roots."""
    match task:
        case Equality(n=n) | Disjointness(n=n):  # b_n = 1
            return Family("2^(n-1) + 1", n, n)
        case InnerProduct(n=n):  # b_n = 1
            return Family("2^n", n, n)
        case Turing(n=n, program="palindrome"):  # the last digit is 1
            return Family("2^(⌊n/2⌋-1) + 1", n // 2, task.cut)
        case Dyck(n=n, k=kinds):  # the last token closes kind 0
            return Family("k^(n/2-1) + 1", with_one_more(kinds, n // 2 - 1), None)
        case TwoSumAny(n=n, M=M):  # the last token is 0
            bits = supports_bits(M, selves=1 - M % 2, t=n - 2)
            return Family("1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-2", bits, n - 2)
        case Match3(n=n, M=M):  # the last token is 2K
            K = (M - 1) // 4
            bits = sets_bits(K, min(n - 2, K), 1, lambda s: int(s > 0 or n >= 5))
            return Family("Σ_s C(⌊(M-1)/4⌋,s), 1 ≤ s ≤ n-2, + [n ≥ 5]", bits, n - 2)
        case Counting(n=n, S=S):  # the threshold is 1
            return Family("Σ_s C(S,s), 1 ≤ s ≤ n", sets_bits(S, min(n, S), 1, lambda s: int(s > 0)), n)
        case IsTree(n=n):  # the last edge joins vertices 0 and n-1
            if k is None or not 2 <= k <= n - 2:
                return NoStatement(f"is_tree: the number k of roots must be in 2..{n - 2}, got {k}")
            e = n - 1 - k  # Alice's edges; three may be a cycle
            bits = with_one_more(k, e) if e >= 3 else power_bits((k, e))
            return Family("k^(n-1-k) for any k", bits, e)
    return NoStatement(f"no hard inputs of {identifier(task)} with one last token for all are known")


def fooling_set(task: Task) -> Family | NoStatement:
    """Pairs of halves with the same answer, any two of which cross to an input with another answer."""
    match task:
        case Equality(n=n) | Disjointness(n=n):
            return Family("2^n", n, n)
        case Turing(n=n, program="palindrome"):
            return Family("2^⌊n/2⌋", n // 2, task.cut)
        case TwoSumAny(n=n, M=M) | ThreeSum(n=n, M=M):
            return Family("2^min(⌊n/2⌋,⌊(M-1)/2⌋)", min(n // 2, (M - 1) // 2), n // 2)
        case IsTree(n=n):
            return Family("2^⌊(n-1)/3⌋", (n - 1) // 3, task.cut)
    return NoStatement(f"no large fooling set of {identifier(task)} is known")


def _after_recurrence(case: Case, family: Family) -> Sides | NoStatement:
    """Recurrences, then one layer with softmax heads, whose query Bob tells Alice."""
    if case.steps:
        return NoStatement("a chain of thought asks again and again")
    *before, last = case.architecture.layers
    if any(part.full for layer in before for part in layer.parts):
        return NoStatement(
            "only the last layer may have softmax heads: recurrences after them can do the task"
        )
    if any(part.bits is not None for part in last.parts if part.full):
        return NoStatement("after a recurrence the query must be sent, too, and its size is not given")
    return sides(case, family, lambda part: query_bits(part) + message_bits(part))
