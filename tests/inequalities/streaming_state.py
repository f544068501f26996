"""The inequality of `streaming_state`: the states of all layers against the rows at a cut."""

from __future__ import annotations

from inequalities.states import sides, states_of
from limen.core.theorem import NoStatement
from limen.theorems import Accuracy, Case, Sides


def inequality(case: Case) -> Sides | Accuracy | NoStatement:
    """S ≥ log₂ #rows at the task's cut, or after the t tokens that are named; S the states of all layers."""
    t = case.sizes.get("t", case.task.cut)
    if not 0 < t < case.task.length:
        return NoStatement(f"the cut must come after 1..{case.task.length - 1} tokens, not after {t}")
    state = states_of(case, lambda part: t)
    return state if isinstance(state, NoStatement) else sides(case, state, t)
