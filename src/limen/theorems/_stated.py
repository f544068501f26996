"""The inequalities that theorems are searched with; the kernel has its own, and its word counts.

The inequalities stand in the files of this folder named after what they are about, one function a theorem,
under the theorem's id; what is proved of them stands in `theorems/`.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from limen.core.certificate import Bound
from limen.core.errors import unknown
from limen.core.theorem import NoStatement
from limen.theorems._case import Accuracy, Case, Sides
from limen.theorems._cuts import one_layer_cut, separate_tokens, sparse_average_width, three_sum_one_layer
from limen.theorems._states import log_linear_state, streaming_state, window_global
from limen.theorems.block_messages.inequality import block_messages, token_index
from limen.theorems.composition_depth.inequality import composition_depth

Inequality = Callable[[Case], Sides | Accuracy | NoStatement]

INEQUALITIES: dict[str, Inequality] = {
    f.__name__: f
    for f in (
        block_messages,
        composition_depth,
        log_linear_state,
        one_layer_cut,
        separate_tokens,
        sparse_average_width,
        streaming_state,
        three_sum_one_layer,
        token_index,
        window_global,
    )
}


def stated(theorem: str, case: Case) -> Bound | NoStatement:
    """The theorem's inequality at these sizes, as a certificate; it need not say cannot."""
    if theorem not in INEQUALITIES:
        raise unknown("theorem", theorem, INEQUALITIES)
    sides = INEQUALITIES[theorem](case)
    if isinstance(sides, NoStatement):
        return sides
    return Bound(
        task=case.task.spelled,
        architecture=case.architecture.spelled,
        theorem=theorem,
        steps=case.steps,
        route=case.route,
        sizes=dict(case.sizes),
        needs_bits=sides.needs if isinstance(sides, Sides) else None,
        has_bits=sides.has if isinstance(sides, Sides) else None,
        ceiling=str(Fraction(sides.ceiling)) if isinstance(sides, Accuracy) else None,
        distribution=sides.distribution if isinstance(sides, Accuracy) else None,
    )
