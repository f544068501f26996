r"""One softmax layer tells its last token a few sums about the others, and many tasks need more.

    H(d+2)p ≥ log₂ #rows                    the last token is fixed, all others are split in any way
    S + H(d_k+d+2)p ≥ log₂ #fooling set     the layer stands behind recurrences of S bits

Hypotheses.  One layer of softmax heads (causal or not, for the last token sees all), whose keys and values
are functions of their own token and position: no convolution, no layer before.  p is the precision of the
sums, which have a bounded exponent and are added exactly.  One pass, no chain of thought.  In the second form
all layers before are recurrences.  Where Alice's tokens are the first ones, recurrences may stand beside the
heads, and their state after these is added.

Proof.  Alice holds some tokens, Bob the others, the last one among them; its value is fixed, so both know its
query.  For each head Alice sends max_j s_j, Σ_j e^{s_j - max} and Σ_j e^{s_j - max} v_j over her tokens: d +
2 numbers.  Bob has the same of his, merges them exactly, and has the vector of the last token, so the
answer.  If two cases of Alice got the same message, Bob would answer the same on all that he may hold; so
there are no more cases than messages.  ∎   So such a layer is a recurrence of H(d+2)p bits, in whatever
order.

After recurrences.  Alice holds the first tokens and sends the states (S bits); Bob computes the last query
and tells it (H·d_k·p bits), Alice replies as above.  In a fooling set all pairs have one answer, and of any
two pairs one crossing has another.  Two pairs with the same conversation have it on both crossings, and there
Bob, who has the same input as in one of the pairs, gives the same answer.  So there are no more pairs than
conversations.  ∎

Cases with the last token fixed (tests count the rows by brute force):
- equality, disjointness: b_n = 1 leaves 2^(n-1) strings a that differ from each other, and all the others, on
  which the answer is always no.  The same for a palindrome.
- dyck: open_{a_1} close_{b_1} open_{a_2} … asks whether a = b, at any depth; b_{n/2} is fixed.
- two_sum_any: the last token is 0, Bob holds one more.  Alice holds a set without a couple {v, -v} (repeat
  one to fill up; it may hold M/2, too); Bob's -v tells whether v is in it.  Or she holds 0: always yes.
- counting: threshold 1, and Bob's s asks whether s occurs.
- is_tree: the last edge hangs vertex N = n-1 on root 0.  Alice hangs vertices k … n-2 on roots 0 … k-1.
  Where two such forests differ, vertex i hangs on x ≠ 0 in one and on y ≠ x in the other: Bob draws i-N and a
  tree on the roots except x.  That is a tree with the first, and has a cycle with the second.  Or Alice has a
  cycle.
Fooling sets: the pairs (a,a) of equality and (a, complement of a) of disjointness; in 2-Sum, and in 3-Sum
with q = 0, Alice and Bob both hold i or -i for each i ≤ u, and no two sum to 0 iff they chose alike; is_tree
is disjointness by m gadgets u, v, w with the edge v-w, Alice's r-u or u-v, Bob's r-v or u-w, and all else on
r.

[bhattamishra2024] have equality and Dyck.  Sharper and ours: two_sum_any and is_tree by rows, of order n·log
n, where disjointness gives n/2 and (n-1)/3; counting, whose last token is not the symbol.  The order of a
hybrid matters: a recurrence after the heads makes equality easy (`equality_by_hybrid`).

Not constructive as it stands: the messages are sums of real numbers; the protocol of a quantised model runs
it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Need, NoStatement, Theorem
from limen.tasks.is_tree import IsTree
from limen.theorems._case import Case
from limen.theorems._cuts import Family
from limen.theorems._stated import stated
from limen.theorems.one_layer_cut.inequality import fixed_query, fooling_set


@dataclass(frozen=True)
class OneLayerCut(Theorem):
    """Fixed query where there is one layer, else behind recurrences."""

    formal = (
        Formal(
            "one_layer_numbers.v",
            "cannot_compare_one_layer",
            "equality and disjointness by softmax heads alone: the verdict at its numbers",
        ),
        Formal(
            "one_layer_rows.v",
            "cannot_close_one_layer",
            "dyck by softmax heads alone: the verdict at its numbers",
        ),
        Formal(
            "one_layer_rows.v",
            "cannot_count_one_layer",
            "counting by softmax heads alone, words instead of all sets: the verdict at its numbers",
        ),
        Formal(
            "trees.v",
            "cannot_tell_trees_one_layer",
            "is_tree by softmax heads alone: the verdict at its numbers",
        ),
        Formal("one_layer_cut.v", "one_way", "a message about one half of the input, any task"),
        Formal(
            "one_layer_cut.v",
            "attention_equality",
            "equality, the sums of one layer added exactly, a fixed token behind the strings that asks",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        if len(architecture.layers) > 1:
            return stated("one_layer_cut", Case(task, architecture, steps, "after_recurrence"))
        return stated("one_layer_cut", Case(task, architecture, steps, "fixed_query", _sizes(task)))

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows, pairs = fixed_query(task, **_sizes(task)), fooling_set(task)
        found = []
        if isinstance(rows, Family):
            found.append(Need("one layer of softmax", f"H(d+2)p ≥ log₂({rows.cases})", rows.bits))
        if isinstance(pairs, Family):
            inequality = f"S + H(d_k+d+2)p ≥ log₂({pairs.cases})"
            found.append(Need("one layer of softmax after recurrences", inequality, pairs.bits))
        return tuple(found)


def _sizes(task: Task) -> dict[str, int]:
    """Of a graph the best number of roots: (N-k)·log₂k, N = n-1, is largest near k(ln k + 1) = N."""
    if not isinstance(task, IsTree):
        return {}
    low, high = 2, task.n - 2
    while high - low > 1:
        k = (low + high) // 2
        low, high = (k, high) if k * Fraction(log(k) + 1) <= task.n - 1 else (low, k)
    return {"k": max((low, high), key=lambda k: _bits(fixed_query(task, k)))}


def _bits(family: Family | NoStatement) -> int:
    return family.bits if isinstance(family, Family) else 0
