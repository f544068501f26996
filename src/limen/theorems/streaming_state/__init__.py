"""A recurrence with fewer states than prefixes to distinguish cannot do the task, even if it thinks."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._states import answered, told_apart, without_state
from limen_check.cannot.bound import streaming_state


class StreamingState(Theorem):
    """Cut where the task says, or beside it: after an odd number of brackets Dyck may have more rows."""

    formal = (
        Formal(
            "streaming_state.v",
            "cut_bound",
            "any task at any cut: no fewer memories than prefixes told apart, thinking aloud or not",
        ),
        Formal(
            "streaming_state.v",
            "cannot_evaluate",
            "eva, index, retrieval without `absent`, composition of any length: concrete verdicts",
        ),
        Formal("streaming_state.v", "cannot_compare", "equality and disjointness: concrete verdicts"),
        Formal("rows.v", "cannot_sum", "two_sum by V^n of its sets: concrete verdicts"),
        Formal("rows.v", "cannot_recall", "recall of one key, nearest_neighbor: concrete verdicts"),
        Formal("rows.v", "cannot_three", "three_sum by V^(n-1) of its sets: concrete verdicts"),
        Formal("rows.v", "cannot_average", "sparse_average by 2^(n-q+1) rows: concrete verdicts"),
        Formal("rows.v", "cannot_count", "counting by V^(S-1) of its counts: concrete verdicts"),
        Formal("trees.v", "cannot_tell_trees", "is_tree by (n-1-t)^t rows: concrete verdicts"),
        Formal("streaming_state_attained.v", "eva_tight", "the bound of eva is attained"),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """S ≥ log₂ #rows(t), S the bits of all states after t tokens.

        On average d(p‖1/A) ≤ S/m: one of n symbols of A is asked for, each as likely, m of them before t.
        """
        t = case.sizes.get("t", case.task.cut)
        if not 0 < t < case.task.length:
            return NoStatement(f"the cut must come after 1..{case.task.length - 1} tokens, not after {t}")
        return without_state(case) or stated("streaming_state", streaming_state, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        at_the_cut = self.at(Case(task, architecture, steps))
        if isinstance(at_the_cut, NoStatement) or at_the_cut.excludes:
            return at_the_cut
        cases = (Case(task, architecture, steps, sizes={"t": task.cut + beside}) for beside in (-1, 1))
        beside = map(self.at, cases)
        return next((b for b in beside if isinstance(b, Bound) and b.excludes), at_the_cut)

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(task.cut)
        if rows is None:
            return ()
        return (Need("any recurrence", f"state bits ≥ log₂({rows.formula})", told_apart(task, task.cut)),)

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        t = answered(task)
        sizes = {} if t == task.cut else {"t": t}
        average = self.at(Case(task, architecture, steps, "average", sizes))
        return Ceiling.of(
            average, "streaming_state: the state has too few bits to answer every possible question"
        )
