"""The inequality of `token_index`."""

from __future__ import annotations

from inequalities.two_sum import OTHER, alone
from limen.core.architecture import P
from limen.core.theorem import NoStatement
from limen.mixers.top_k import TopK
from limen.tasks.two_sum import TwoSum
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """2^κ ≥ min(M, (1 - k/n)M + 1) for index keys of κ bits."""
    if not isinstance(case.task, TwoSum) or case.steps or case.sizes or case.route:
        return OTHER
    layers = case.architecture.layers
    part = alone(layers[0], TopK) if len(layers) == 1 else None
    if part is None or not isinstance(part.mixer, TopK):
        return NoStatement("it is about one layer of top_k alone, with its sizes given")
    n, M, k = case.task.n, case.task.M, part.mixer.k
    if n <= k:
        return NoStatement(f"the query reads all {n} tokens")
    keys = min(M, -(-(n - k) * M // n) + 1)
    return Sides(needs=(keys - 1).bit_length(), has=part.mixer.d_i * (P if part.p is None else part.p))
