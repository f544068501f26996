"""After 2^r tokens log-linear attention keeps one matrix per head, which must distinguish all prefixes."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.mixers.log_linear import LogLinear
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._states import parts_of, power_of_two, told_apart, without_state
from limen_check.cannot.bound import streaming_state


class LogLinearState(Theorem):
    """Cut at the last power of two up to where the task says."""

    formal = (
        Formal(
            "rows.v",
            "cannot_three_log_linear",
            "three_sum by V^(t-1) of its sets: concrete verdicts",
        ),
        Formal(
            "log_linear_state.v",
            "one_level",
            "after 2^r tokens one level is left, in all heads and layers, whatever the rule",
        ),
        Formal(
            "log_linear_state.v",
            "cannot_evaluate_log_linear",
            "eva, index, retrieval without `absent`, composition: concrete verdicts",
        ),
        Formal("rows.v", "cannot_compare_log_linear", "equality and disjointness: concrete verdicts"),
        Formal("rows.v", "cannot_sum_log_linear", "two_sum by V^t of its sets: concrete verdicts"),
        Formal(
            "rows.v",
            "cannot_recall_log_linear",
            "recall of one key, nearest_neighbor: concrete verdicts",
        ),
        Formal(
            "rows.v",
            "cannot_average_log_linear",
            "sparse_average by 2^(n-q+1) rows: concrete verdicts",
        ),
        Formal(
            "rows.v",
            "cannot_count_log_linear",
            "counting by V^(S-1) of its counts: concrete verdicts",
        ),
        Formal(
            "trees.v",
            "cannot_tell_trees_log_linear",
            "is_tree by (n-1-t)^t rows: concrete verdicts",
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """S ≥ log₂ #rows at the last power of two up to the cut, where one matrix per head is left."""
        if not any(isinstance(part.mixer, LogLinear) for part in parts_of(case)):
            return NoStatement("there is no log_linear layer", elsewhere=True)
        return without_state(case) or stated("log_linear_state", streaming_state, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        t = power_of_two(task)
        rows = task.rows(t)
        if rows is None:
            return ()
        bound = f"bits of one matrix a head, after {t} tokens ≥ log₂({rows.formula})"
        return (Need("log_linear", bound, told_apart(task, t)),)

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        average = self.at(Case(task, architecture, steps, "average"))
        return Ceiling.of(average, "log_linear_state: after 2^r tokens one matrix a head is left of them")
