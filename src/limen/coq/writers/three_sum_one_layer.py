"""What proofs/one_layer_rows.v says of 3-Sum."""

from __future__ import annotations

from limen.coq.statement import Unstated
from limen.coq.writers._layer import ROWS, Held, Kind, form
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.tasks.three_sum import ThreeSum


def tripled(task: Task, t: int) -> Held:
    """Numbers below M/2, t of them from V of their own; the number that asks is 0."""
    if not isinstance(task, ThreeSum) or not 0 < t < task.n:
        raise Unstated(f"{identifier(task)} is not stated in Coq for one layer as 3-Sum")
    n, M = task.n, task.M
    question = f"whether two of {n} numbers\n    below {M} make a sum of 0"
    return Held(t, ((M - 1) // 2 - 1) // t, "layer_three_sums", (n, M), question)


FORMS = {
    "cannot_three_one_layer": form(
        "cannot_three_one_layer", Kind("three_sum_one_layer", "", tripled, free=True), ROWS
    )
}
