r"""One softmax layer that decides 3-Sum must pass on the set of all tokens but one.

    H(d+2)p ≥ log₂(1 + Σ_{s=1}^{n-1} C(⌊(M-1)/2⌋, s)·2^s)        about n·log₂(M/n)

Hypotheses.  As for `one_layer_cut`: one layer of softmax heads, keys and values functions of their own token
and position, p bits a sum, no chain of thought.  3-Sum asks for triples through the last token, q.

Proof.  Fix q = 0, so that the query is known; what is left is whether two of the n tokens sum to 0.  Alice
holds n - 1 of them, Bob one.  Let her set have no couple {v, -v}, and at least one residue that is not its
own negative, to be repeated until there are n - 1 tokens; 0 and M/2 may be in it, once.  Bob's token -v finds
a partner iff v is in the set.  So different sets are different rows, and a set with a couple (or, if n = 2,
the set {0}) is one more.  Her message, as in `one_layer_cut`, tells them apart.  ∎   (The sum counts the sets
without 0 and M/2; the bound also those with.)

Sharper than [sanford2023], who reduce from disjointness and get Ω(n) bits, Ω(n/log log n) in their precision:
with coins and errors disjointness is what remains, without them the whole set must pass.  For triples of any
three tokens, as in their Match3, nothing is said here.

With n steps of chain of thought one layer does it (`three_sum_by_chain_of_thought`).  Not constructive as it
stands: the messages are sums of real numbers; the protocol of a quantised model runs it.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.three_sum_one_layer.inequality import query_zero


@dataclass(frozen=True)
class ThreeSumOneLayer(Theorem):
    """Alice holds all tokens but one."""

    formal = (
        Formal(
            "one_layer_rows.v",
            "cannot_three_one_layer",
            "softmax heads alone, words instead of all sets: the verdict at its numbers",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("three_sum_one_layer", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        sets = query_zero(task)
        if isinstance(sets, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({sets.cases})", sets.bits),)
