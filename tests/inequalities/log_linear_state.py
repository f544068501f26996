"""The inequality of `log_linear_state`."""

from __future__ import annotations

from inequalities.states import parts_of, power_of_two, sides, states_of
from limen.core.theorem import NoStatement
from limen.mixers.log_linear import LogLinear
from limen.theorems import Accuracy, Case, Sides


def inequality(case: Case) -> Sides | Accuracy | NoStatement:
    """S ≥ log₂ #rows at the last power of two up to the cut, where the levels are merged into one matrix."""
    if not any(isinstance(part.mixer, LogLinear) for part, _ in parts_of(case)):
        return NoStatement("there is no log_linear layer", elsewhere=True)
    t = power_of_two(case.task)
    # after one token a log_linear mixer holds one matrix, as many as after 2^r tokens, once they are merged
    state = states_of(case, lambda part: 1 if isinstance(part.mixer, LogLinear) else t)
    return state if isinstance(state, NoStatement) else sides(case, state, t)
