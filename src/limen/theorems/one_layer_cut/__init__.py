"""One softmax layer passes only a few sums to its last token, and many tasks need more."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.is_tree import IsTree
from limen.theorems._case import Case
from limen.theorems._cuts import Family
from limen.theorems._stated import stated
from limen.theorems.one_layer_cut.inequality import fixed_query, fooling_set


@dataclass(frozen=True)
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

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        if len(architecture.layers) > 1:
            return stated("one_layer_cut", Case(task, architecture, steps, "after_recurrence"))
        return stated("one_layer_cut", Case(task, architecture, steps, "fixed_query", _sizes(task)))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows, pairs = fixed_query(task, **_sizes(task)), fooling_set(task)
        found = []
        if isinstance(rows, Family):
            found.append(Need("one layer of softmax", f"H(d+2)p ≥ log₂({rows.cases})", rows.bits))
        if isinstance(pairs, Family):
            inequality = f"S + H(d_k+d+2)p ≥ log₂({pairs.cases})"
            found.append(Need("one layer of softmax after recurrences", inequality, pairs.bits))
        return tuple(found)


def _sizes(task: Task) -> dict[str, int]:
    """Of a graph the best number of roots: (N-k)·log₂k, N = n-1, is largest near k(ln k + 1) = N."""
    if not isinstance(task, IsTree):
        return {}
    low, high = 2, task.n - 2
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if k * Fraction(log(k) + 1) <= task.n - 1 else (low, k)
    return {"k": max((low, high), key=lambda k: _bits(fixed_query(task, k)))}


def _bits(family: Family | NoStatement) -> int:
    return family.bits if isinstance(family, Family) else 0
