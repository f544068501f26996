"""The inequality of `sparse_average_width`."""

from __future__ import annotations

from inequalities.bits import power_bits
from inequalities.cuts import Family, SoftmaxHeads, one_layer, query_bits
from limen.core.catalogue import identifier
from limen.core.task import Task
from limen.core.theorem import NoStatement
from limen.tasks.sparse_average import SparseAverage
from limen.theorems import Case, Sides


def inequality(case: Case) -> Sides | NoStatement:
    """H(d+2)p ≥ n for 2 ≤ q < n, log₂(n+1) for q = n, and ⌈n/2^{H·d_k·p}⌉ for q = 1."""
    heads = [part for part in case.architecture.layers[0].parts if isinstance(part.mixer, SoftmaxHeads)]
    known = all(part.bits is None for part in heads)
    family = averages(case.task, sum(map(query_bits, heads)) if known else None)
    return family if isinstance(family, NoStatement) else one_layer(case, family)


def averages(task: Task, query_bits: int | None) -> Family | NoStatement:
    """The z of the positions that one query asks for; with q = 1, one of at most 2^query_bits queries."""
    match task:
        case SparseAverage(n=n, q=1):
            if query_bits is None:
                return NoStatement("with q = 1 the size of the queries counts, and only the reply's is given")
            shared = -(-n >> min(query_bits, n.bit_length()))
            return Family("2^⌈n/2^(H·d_k·p)⌉", shared, n)
        case SparseAverage(n=n, q=q) if q < n:
            return Family("2^n" if q > 2 else "2^n - 1", n, n)
        case SparseAverage(n=n):
            return Family("n + 1", power_bits((n + 1, 1)), n)
    return NoStatement(f"it is about sparse_average, not of {identifier(task)}")
