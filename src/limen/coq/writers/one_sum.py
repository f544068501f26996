"""What proofs/one_sum.v says of one sum over the tokens."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.core.catalogue import identifier
from limen.core.theorem import NoStatement
from limen.tasks.equality import Equality
from limen.theorems import Case
from limen.theorems.one_sum import OneSum


def _equal(case: Case) -> Stated:
    bound, task = OneSum().exact(case.task, case.architecture), case.task
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    if not isinstance(task, Equality):
        raise Unstated(f"{identifier(task)} is no comparison of two strings")
    return Stated(
        f"forall (F : numbers) (M : summing F), ~ tells_equal F M {nat(task.n)}",
        f"apply (cannot_be_equal_summed {task.n})",
        "over any ordered ring, no sum over the tokens, up to a positive factor, tells by its sign\n"
        f"    whether two strings of {task.n} bits are equal",
        task.n >= 2,
    )


FORMS = {"cannot_be_equal_summed": Form("one_sum", "linear_read one_sum", (), _equal, nothing_free)}
