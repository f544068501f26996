"""The inequality of `separate_tokens`."""

from __future__ import annotations

from inequalities.bits import power_bits
from inequalities.cuts import Family, one_layer
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.cgram import Cgram
from limen.tasks.nearest_neighbor import NearestNeighbor
from limen.tasks.recall import Recall
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ of the number of cases of the values, which stand in other tokens than their keys."""
    family = separate_values(case.task)
    return family if isinstance(family, NoStatement) else one_layer(case, family)


def separate_values(task: Task) -> Family | NoStatement:
    """The values, for one query that may ask for each of them: Alice holds these, Bob the keys."""
    match task:
        case Recall(n=n, V=V):
            return Family("V^n", power_bits((V, n)), None)
        case NearestNeighbor(n=n):
            return Family("2^n", n, None)
        case Cgram(n=n, c=c, V=V) if c >= 3 and V >= 3:
            return Family("V^⌊n/c⌋", power_bits((V, n // c)), None)
        case Cgram(n=n, c=c, V=V):
            return Family("(V-1)^⌊n/c⌋", power_bits((V - 1, n // c)), None)
    return NoStatement(f"{identifier(task)} does not ask for a value that is in another token than its key")
