r"""One softmax layer that averages over q positions given by q tokens must pass on all n numbers.

    H(d+2)p ≥ n                        2 ≤ q < n
    H(d+2)p ≥ log₂(n+1)                q = n
    H(d+2)p ≥ ⌈n/2^{H·d_k·p}⌉          q = 1

Hypotheses.  As for `one_layer_cut`: one layer of softmax heads, keys and values functions of their own token
and position, p bits a number, no chain of thought.  The positions stand in q tokens, the largest in the last
one.

Proof.  Alice holds z_0 … z_{n-1}, Bob the positions; her message, for a query that she knows, is H(d+2)p
bits.
q ≥ 2: the last position is n-1, fixed, and Bob chooses the q-1 others.  If z and z' have the same sums, their
difference δ in {-1,0,1}^n sums to -δ_{n-1} over every q-1 of the first n-1 entries.  For q < n exchanging one
entry shows that these are all the same number δ, with (q-1)δ = -δ_{n-1}: for q ≥ 3 all are 0; for q = 2 also
δ = ±1 is possible, which is one pair, 1…10 and 0…01.  So there are 2^n rows, or 2^n - 1.  For q = n only the
sum of all is asked for: n + 1 rows.
q = 1: the last token holds the position, and has one of at most 2^{H·d_k·p} queries.  Some ⌈n/2^{H·d_k·p}⌉
positions share one, for which Alice's message is the same; Bob knows which of them is asked for.  So the
message must tell all their z.  ∎

[sanford2023] put all of y into one token: then H(d_k+d_v+1)p ≥ log₂C(n,q), for two sets y with the same query
and the same own key and value get the same output; if own key and value do not depend on y and nothing
bypasses the layer, H·d_k·p ≥ log₂C(n,q).  That is for averages up to an error below 1/q, and not this task's
form: its ids would be too many.  What is proved here for q ≥ 2 is ours.

Two layers of size O(log n) do it (`sparse_average_by_softmax`).  Not constructive as it stands: the messages
are sums of real numbers; the protocol of a quantised model runs it.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.sparse_average import SparseAverage
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.sparse_average_width.inequality import averages


@dataclass(frozen=True)
class SparseAverageWidth(Theorem):
    """Alice holds the numbers."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_average_one_layer",
            "q ≥ 2 by softmax heads alone, n + 1 - q of the numbers: the verdict at its numbers",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("sparse_average_width", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        if isinstance(task, SparseAverage) and task.q == 1:  # a trade of two sizes
            return (Need("one layer of softmax", "H(d+2)p ≥ ⌈n/2^(H·d_k·p)⌉", None),)
        numbers = averages(task, None)
        if isinstance(numbers, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({numbers.cases})", numbers.bits),)
