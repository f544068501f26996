"""What proofs/softmax_read.v says of softmax heads that an affine map reads."""

from __future__ import annotations

from limen.coq.statement import WRITTEN, Form, Stated, Unstated, nat, nothing_free
from limen.core.catalogue import identifier
from limen.core.theorem import NoStatement
from limen.tasks.recall import Recall
from limen.theorems import Case
from limen.theorems.softmax_read import SoftmaxRead


def _recalled(case: Case) -> Stated:
    bound, task = SoftmaxRead().exact(case.task, case.architecture), case.task
    if isinstance(bound, NoStatement):
        raise Unstated(bound.reason)
    if not isinstance(task, Recall) or task.q > 1:
        raise Unstated(f"{identifier(task)} does not ask for one key")
    H = sum(getattr(part.mixer, "h", 0) for part in case.architecture.layers[0].parts)
    if H > WRITTEN:
        raise Unstated(f"2^{H} is not written out")
    return Stated(
        f"forall (F : numbers) (M : softmax_layer F), ~ recalls F M {nat(H)} {nat(task.n)} {nat(task.V)}",
        f"apply (cannot_recall_by_heads {H} {task.n} {task.V})",
        f"over any ordered ring, no {H} softmax heads and an affine readout\n"
        f"    can recall one of {task.n} values below {task.V} by its key",
        task.n > 2 ** (H + 1) - 3 and 2 * task.n <= task.V,
    )


FORMS = {
    "cannot_recall_by_heads": Form(
        "softmax_read", "linear_read one_sum softmax_read", (), _recalled, nothing_free
    )
}
