"""The inequality of `three_sum_one_layer`."""

from __future__ import annotations

from inequalities.cuts import Family, one_layer, supports_bits
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.three_sum import ThreeSum
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ log₂ #rows of the 2-Sum that is left once q = 0."""
    family = query_zero(case.task)
    return family if isinstance(family, NoStatement) else one_layer(case, family)


def query_zero(task: Task) -> Family | NoStatement:
    """3-Sum with q = 0: Alice holds all tokens but one."""
    match task:
        case ThreeSum(n=n, M=M):
            bits = supports_bits(M, selves=2 - M % 2, t=n - 1)
            return Family("1 + Σ_s C(⌊(M-1)/2⌋,s)·2^s, s ≤ n-1", bits, n - 1)
    return NoStatement(f"it is about three_sum, not of {identifier(task)}")
