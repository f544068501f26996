"""One softmax layer passes only a few sums to its last token, and many tasks need more."""

from __future__ import annotations

from fractions import Fraction
from math import log

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
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
from limen.theorems._case import Case
from limen.theorems._one_layer import Family, family, silent_of_heads, silent_of_one_layer
from limen.theorems._stated import stated
from limen_check.cannot.bound import one_layer


class OneLayerCut(Theorem):
    """Fixed query where there is one layer, else behind recurrences."""

    formal = (
        Formal(
            "one_layer_numbers.v",
            "cannot_compare_one_layer",
            "equality and disjointness by softmax heads alone: concrete verdicts",
        ),
        Formal(
            "one_layer_rows.v",
            "cannot_close_one_layer",
            "dyck by softmax heads alone: concrete verdicts",
        ),
        Formal(
            "one_layer_rows.v",
            "cannot_count_one_layer",
            "counting by softmax heads alone, words instead of all sets: concrete verdicts",
        ),
        Formal(
            "triples.v",
            "cannot_match_one_layer",
            "match3 by softmax heads alone, words instead of all sets: concrete verdicts",
        ),
        Formal(
            "trees.v",
            "cannot_tell_trees_one_layer",
            "is_tree by softmax heads alone: concrete verdicts",
        ),
        Formal("one_layer_cut.v", "one_way", "a message about one half of the input, any task"),
        Formal(
            "one_layer_cut.v",
            "attention_equality",
            "equality, the sums of one layer added exactly, a fixed token behind the strings that asks",
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """H(d+2)p ≥ log₂ #rows; after recurrences of S bits, S + H(d_k+d+2)p ≥ log₂ #fooling set."""
        after = case.route == "after_recurrence"
        inputs = fooling_set(case.task) if after else fixed_query(case.task, case.sizes.get("k"))
        if isinstance(inputs, NoStatement):
            return inputs
        silent = _silent_after_recurrence if after else silent_of_one_layer
        return silent(case, inputs) or stated("one_layer_cut", one_layer, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        if len(architecture.layers) > 1:
            return self.at(Case(task, architecture, steps, "after_recurrence"))
        return self.at(Case(task, architecture, steps, "fixed_query", _sizes(task)))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows, pairs = fixed_query(task, **_sizes(task)), fooling_set(task)
        needs = []
        if isinstance(rows, Family):
            needs.append(Need("one layer of softmax", f"H(d+2)p ≥ log₂({rows.cases})", rows.bits))
        if isinstance(pairs, Family):
            inequality = f"S + H(d_k+d+2)p ≥ log₂({pairs.cases})"
            needs.append(Need("one layer of softmax after recurrences", inequality, pairs.bits))
        return tuple(needs)


def fixed_query(task: Task, k: int | None = None) -> Family | NoStatement:
    """Inputs with the same last token; of a graph, k of the vertices are roots."""
    if isinstance(task, IsTree):  # the last edge joins vertices 0 and n-1
        if k is None or not 2 <= k <= task.n - 2:
            return NoStatement(f"is_tree: the number k of roots must be in 2..{task.n - 2}, got {k}")
        return family("one_layer_cut/fixed_query", task, "k^(n-1-k) for any k", {"k": k})
    cases = _ROWS.get(type(task))
    if cases is None or (isinstance(task, Turing) and task.program != "palindrome"):
        return NoStatement(f"no hard inputs of {identifier(task)} with one last token for all are known")
    return family("one_layer_cut/fixed_query", task, cases)


def fooling_set(task: Task) -> Family | NoStatement:
    """Pairs of halves with the same answer, any two of which cross to an input with another answer."""
    cases = _PAIRS.get(type(task))
    if cases is None or (isinstance(task, Turing) and task.program != "palindrome"):
        return NoStatement(f"no large fooling set of {identifier(task)} is known")
    return family("one_layer_cut/after_recurrence", task, cases)


_ROWS: dict[type[Task], str] = {
    Equality: "2^(n-1) + 1",  # b_n = 1
    Disjointness: "2^(n-1) + 1",
    InnerProduct: "2^n",  # b_n = 1
    Turing: "2^(⌊n/2⌋-1) + 1",  # the last digit is 1
    Dyck: "k^(n/2-1) + 1",  # the last token closes kind 0
    TwoSumAny: "1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-2",  # the last token is 0
    Match3: "Σ_s C(⌊(M-1)/4⌋,s), 1 ≤ s ≤ n-2, + [n ≥ 5]",  # the last token is 2⌊(M-1)/4⌋
    Counting: "Σ_s C(S,s), 1 ≤ s ≤ n",  # the threshold is 1
}
_PAIRS: dict[type[Task], str] = {
    Equality: "2^n",
    Disjointness: "2^n",
    Turing: "2^⌊n/2⌋",
    TwoSumAny: "2^min(⌊n/2⌋,⌊(M-1)/2⌋)",
    ThreeSum: "2^min(⌊n/2⌋,⌊(M-1)/2⌋)",
    IsTree: "2^⌊(n-1)/3⌋",
}


def _silent_after_recurrence(case: Case, halves: Family) -> NoStatement | None:
    """Why nothing is said of recurrences, then one layer with softmax heads, whose query Bob tells Alice."""
    if case.steps:
        return NoStatement("a chain of thought asks again and again")
    *before, last = case.architecture.layers
    if any(part.full for layer in before for part in layer.parts):
        return NoStatement(
            "only the last layer may have softmax heads: recurrences after them can do the task"
        )
    if any(part.bits is not None for part in last.parts if part.full):
        return NoStatement("after a recurrence the query must be sent, too, and its size is not given")
    return silent_of_heads(case, halves)


def _sizes(task: Task) -> dict[str, int]:
    """The best number of roots of a graph: (N-k)·log₂k, N = n-1, is largest near k(ln k + 1) = N."""
    if not isinstance(task, IsTree):
        return {}
    low, high = 2, task.n - 2
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if k * Fraction(log(k) + 1) <= task.n - 1 else (low, k)
    return {"k": max((low, high), key=lambda k: _bits(fixed_query(task, k)))}


def _bits(family: Family | NoStatement) -> int:
    return family.bits if isinstance(family, Family) else 0
