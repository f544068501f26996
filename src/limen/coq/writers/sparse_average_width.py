"""What proofs/one_layer_rows.v says of averages."""

from __future__ import annotations

from limen.coq.statement import Form, Stated, Unstated, nat, nothing_free
from limen.coq.writers._layer import ROWS, heads
from limen.core.catalogue import identifier
from limen.tasks.sparse_average import SparseAverage
from limen.theorems import Case


def _average(case: Case) -> Stated:
    task = case.task
    if not isinstance(task, SparseAverage) or task.q < 2:
        raise Unstated(f"{identifier(task)} is not stated in Coq for one layer as an average")
    w = heads("sparse_average_width", case)
    n, q, k = task.n, task.q, task.n + 1 - task.q
    return Stated(
        f"forall M : one_layer nat,\n  sum_bits M {nat(k)} {nat(w)} -> ~ layer_averages M {nat(n)} {nat(q)}",
        f"apply (cannot_average_one_layer {w} {n} {q} {k})",
        f"no layer whose sums over {k} tokens have {w} bits can say how many of any {q}\n"
        f"    of {n} bits, the last one among them, are 1",
        w < k,
    )


FORMS = {"cannot_average_one_layer": Form("sparse_average_width", ROWS, (), _average, nothing_free)}
