"""One softmax layer that averages over q positions given by q tokens must pass on all n numbers."""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.sparse_average import SparseAverage
from limen.theorems._case import Case
from limen.theorems._one_layer import Family, family, silent_of_one_layer
from limen.theorems._stated import stated
from limen_check.cannot.bound import one_layer


class SparseAverageWidth(Theorem):
    """Alice holds the numbers."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_average_one_layer",
            "q ≥ 2 by softmax heads alone, n + 1 - q of the numbers: concrete verdicts",
        ),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """H(d+2)p ≥ n for 2 ≤ q < n, log₂(n+1) for q = n, and ⌈n/2^{H·d_k·p}⌉ for q = 1."""
        numbers = averages(case.task, case.architecture)
        if isinstance(numbers, NoStatement):
            return numbers
        return silent_of_one_layer(case, numbers) or stated("sparse_average_width", one_layer, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return self.at(Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if isinstance(task, SparseAverage) and task.q == 1:  # a trade of two sizes
            return (Need("one layer of softmax", "H(d+2)p ≥ ⌈n/2^(H·d_k·p)⌉", None),)
        numbers = averages(task)
        if isinstance(numbers, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({numbers.cases})", numbers.bits),)


def averages(task: Task, architecture: Architecture | None = None) -> Family | NoStatement:
    """The z of the positions that one query asks for; with q = 1, positions that share one of its queries."""
    match task:
        case SparseAverage(q=1):
            heads = [] if architecture is None else architecture.layers[0].parts
            sizes = [part.bits is None for part in heads if part.mixer.is_softmax]
            if architecture is None or not all(sizes):
                return NoStatement("with q = 1 the size of the queries counts, and only the reply's is given")
            return family("sparse_average_width/", task, "2^⌈n/2^(H·d_k·p)⌉", architecture=architecture)
        case SparseAverage(n=n, q=q):
            cases = "n + 1" if q == n else "2^n" if q > 2 else "2^n - 1"
            return family("sparse_average_width/", task, cases)
    return NoStatement(f"it is about sparse_average, not of {identifier(task)}")
