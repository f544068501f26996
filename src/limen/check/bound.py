"""Checks a bound: takes task and architecture from their text and does the arithmetic of the theorem again.

The inequalities stand in the files of this folder named after what they are about, one function a theorem,
under the theorem's id; what is proved of them stands in `theorems/`.
"""

from __future__ import annotations

from collections.abc import Callable

from limen.check.case import Accuracy, Case, Sides
from limen.check.composition import composition_depth
from limen.check.one_layer import one_layer_cut, separate_tokens, sparse_average_width, three_sum_one_layer
from limen.check.recurrent import log_linear_state, streaming_state, window_global
from limen.check.sparse import block_messages, token_index
from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.errors import unknown
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.core.verdict import Accepted

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
        task=str(case.task),
        architecture=str(case.architecture),
        theorem=theorem,
        steps=case.steps,
        route=case.route,
        sizes=dict(case.sizes),
        needs_bits=sides.needs if isinstance(sides, Sides) else None,
        has_bits=sides.has if isinstance(sides, Sides) else None,
        ceiling=sides.ceiling if isinstance(sides, Accuracy) else None,
        distribution=sides.distribution if isinstance(sides, Accuracy) else None,
    )


def check_bound(certificate: Bound) -> str | None:
    """None if the certificate holds and says cannot, otherwise the reason why not."""
    task, architecture = Task.parse(certificate.task), Architecture.parse(certificate.architecture)
    case = Case(task, architecture, certificate.steps, certificate.route, certificate.sizes)
    again = stated(certificate.theorem, case)
    if isinstance(again, NoStatement):
        return f"{certificate.theorem} makes no statement here: {again.reason}"
    for field in ("needs_bits", "has_bits", "ceiling", "distribution"):
        said, found = getattr(certificate, field), getattr(again, field)
        if said != found:
            return f"{field} is {found}, the certificate says {said}"
    return None if again.excludes else "the inequality does not hold: it says nothing"


def accepted(certificate: Bound) -> Accepted | None:
    """The certificate as evidence, if it holds."""
    return Accepted(certificate) if check_bound(certificate) is None else None
