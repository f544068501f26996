"""Of 2^r tokens log-linear attention keeps one matrix a head, and that must tell their prefixes apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from limen.adversary.collisions import Collisions, states
from limen.checks.collision import streams
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.mixers.log_linear import Stretches
from limen.model.model import Model, State
from limen.model.predictor import Predictor
from limen.model.target import Target
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._states import power_of_two


@dataclass(frozen=True)
class LogLinearState(Theorem):
    """Cut at the last power of two up to where the task says."""

    formal = (
        Formal(
            "rows.v",
            "cannot_three_log_linear",
            "three_sum by V^(t-1) of its sets: the verdict at its numbers",
        ),
        Formal(
            "log_linear_state.v",
            "one_level",
            "after 2^r tokens one level is left, in all heads and layers, whatever the rule",
        ),
        Formal(
            "log_linear_state.v",
            "cannot_evaluate_log_linear",
            "eva, index, retrieval without `absent`, composition: the verdict at its numbers",
        ),
        Formal(
            "rows.v", "cannot_compare_log_linear", "equality and disjointness: the verdict at its numbers"
        ),
        Formal("rows.v", "cannot_sum_log_linear", "two_sum by V^t of its sets: the verdict at its numbers"),
        Formal(
            "rows.v",
            "cannot_recall_log_linear",
            "recall of one key, nearest_neighbor: the verdict at its numbers",
        ),
        Formal(
            "rows.v",
            "cannot_average_log_linear",
            "sparse_average by 2^(n-q+1) rows: the verdict at its numbers",
        ),
        Formal(
            "rows.v",
            "cannot_count_log_linear",
            "counting by V^(S-1) of its counts: the verdict at its numbers",
        ),
        Formal(
            "trees.v",
            "cannot_tell_trees_log_linear",
            "is_tree by (n-1-t)^t rows: the verdict at its numbers",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("log_linear_state", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        t = power_of_two(task)
        rows = task.rows(t)
        if rows is None:
            return ()
        bound = f"bits of one matrix a head, after {t} tokens ≥ log₂({rows.formula})"
        return (Need("log_linear", bound, rows.bits),)

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        average = stated("log_linear_state", Case(task, architecture, steps, "average"))
        return Ceiling.of(average, "log_linear_state: after 2^r tokens one matrix a head is left of them")

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        if not (isinstance(model, Model) and streams(model)):
            return None
        seen = Collisions(power_of_two(task), lambda prefixes: states(model, prefixes, known=_merged))
        return seen.search(Target(task, model)).witness


def _merged(state: State) -> tuple[tuple[Any, ...], ...]:
    """What the token after 2^r others reads: the levels added up."""
    return tuple(
        tuple(s.S.sum(-2) if isinstance(s, Stretches) else s for s in layer) for layer in state.layers
    )
