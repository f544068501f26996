"""Rates of true and false positives on the inputs of the average case, and what one map must tell apart."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case, question
from limen.theorems._lowest import detected as detected
from limen_check import Refused
from limen_check.cannot.bound import HALF_YES as HALF_YES
from limen_check.cannot.bound import block_messages
from limen_check.cannot.depth import Balanced as Balanced
from limen_check.cannot.depth import Sides
from limen_check.cannot.logs import sets


def balanced(task: TwoSum, architecture: Architecture) -> Balanced | None:
    """What the average case bounds for such a stack; None where it says nothing."""
    try:
        ceiling = block_messages(question("block_messages", Case(task, architecture, 0, "average")))
    except Refused:
        return None
    assert not isinstance(ceiling, Sides) and isinstance(ceiling.average, Balanced)
    return ceiling.average


def subset_bits(values: int, most: int) -> int:
    """⌈log₂ Σ_{1≤i≤most} C(values, i)⌉: what one map for all blocks must tell apart."""
    return sets(values, most, 1, lambda i: int(i > 0)).bits()
