"""What proofs/one_layer_numbers.v says of values that stand apart from their keys."""

from __future__ import annotations

from limen.coq.statement import Unstated
from limen.coq.writers._layer import OWN, Held, Kind, form
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall


def recalled(task: Task, _: int) -> Held:
    """The values behind their keys, of which one is asked for; a point is the key of its label."""
    match task:
        case Recall(n=n, V=V, q=1):
            pass
        case NearestNeighbor(n=n) if task.directions >= n:
            V = 2
        case _:
            raise Unstated(f"{identifier(task)} is not stated in Coq for one layer as recall")
    question = f"which of {V} values stood\n    behind one key among {n}"
    return Held(n, V, "layer_recalls", (n, V), question)


FORMS = {
    "cannot_recall_one_layer": form(
        "cannot_recall_one_layer", Kind("separate_tokens", "", recalled, "nat"), OWN
    )
}
