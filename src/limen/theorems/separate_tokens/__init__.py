"""If keys and values are in different tokens, one softmax layer must pass on all values at once."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.cgram import Cgram
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.theorems._case import Case
from limen.theorems._one_layer import Family, family, silent_of_one_layer
from limen.theorems._stated import stated
from limen_check.cannot.bound import one_layer


class SeparateTokens(Theorem):
    """Alice holds the values."""

    formal = (
        Formal(
            "one_layer_numbers.v",
            "cannot_recall_one_layer",
            "recall of one key, nearest_neighbor: concrete verdicts",
        ),
        Formal(
            "separate_tokens.v", "separate_tokens", "n values in tokens of their own, any of them asked for"
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """H(d+2)p ≥ log₂ of the number of cases of the values, which are in other tokens than their keys."""
        values = separate_values(case.task)
        if isinstance(values, NoStatement):
            return values
        return silent_of_one_layer(case, values) or stated("separate_tokens", one_layer, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        values = separate_values(task)
        if isinstance(values, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({values.cases})", values.bits),)


def separate_values(task: Task) -> Family | NoStatement:
    """The values, for one query that may ask for each of them: Alice holds these, Bob the keys."""
    match task:
        case Recall():
            return family("separate_tokens/", task, "V^n")
        case NearestNeighbor():
            return family("separate_tokens/", task, "2^n")
        case Cgram(c=c, V=V):
            return family("separate_tokens/", task, "V^⌊n/c⌋" if c >= 3 and V >= 3 else "(V-1)^⌊n/c⌋")
    return NoStatement(f"{identifier(task)} does not ask for a value that is in another token than its key")
