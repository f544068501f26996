r"""Where keys and values stand in different tokens, one softmax layer must pass on all values at once.

    H(d+2)p ≥ n·log₂V                  recall:  n pairs, values of V                    [bhattamishra2024]
    H(d+2)p ≥ n                        nearest_neighbor:  n labels
    H(d+2)p ≥ ⌊n/c⌋·log₂V              cgram, c ≥ 3 and V ≥ 3;  ⌊n/c⌋·log₂(V-1) otherwise

Hypotheses.  As for `one_layer_cut`: one layer of softmax heads, keys and values functions of their own token
and position, p bits a sum, no chain of thought.  A convolution over two tokens, or a layer before, is enough
to escape.

Proof.  The last token, so the query, is fixed.  Alice holds the tokens of the values, Bob all others. Alice's
message is, for each head, the largest score, the sum of the weights and the weighted sum of values of her
tokens: H(d+2)p bits.  Bob decides where the key that is asked for stands, so which value is the answer; Alice
does not know, and her message must fit all his choices.  Two lists of values with the same message differ at
some i; Bob puts the key at i, and one of the answers is wrong.  So there are no more lists than messages.  ∎

That Bob can:
- recall: any n different keys, the one asked for at i; the values are free, V^n lists.  With several queries
  the last one alone is looked at.
- nearest_neighbor: the query's own point at i, the opposite point everywhere else; 2^n lists of labels.
- cgram: blocks of c symbols, the last of each Alice's.  For c ≥ 3 the gram is 0 1 … 1, Bob writes it into
  block i and 2 … 2 into all others: it occurs once, for only block i has a 0 before a 1, whatever the
  values.  With c = 2 the gram is 0 and no value may be 0; with two symbols Bob has 1 … 1 for the other
  blocks, and the gram is 0 … 0.

Ours: V instead of V - 1 for c ≥ 3.

Not constructive as it stands: the messages are sums of real numbers; the protocol of a quantised model runs
it.
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
from limen.theorems.separate_tokens.inequality import separate_values


@dataclass(frozen=True)
class SeparateTokens(Theorem):
    """Alice holds the values."""

    formal = (
        Formal(
            "one_layer_numbers.v",
            "cannot_recall_one_layer",
            "recall of one key, nearest_neighbor: the verdict at its numbers",
        ),
        Formal(
            "separate_tokens.v", "separate_tokens", "n values in tokens of their own, any of them asked for"
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        return stated("separate_tokens", Case(task, architecture, steps))

    def needs(self, task: Task) -> tuple[Need, ...]:
        values = separate_values(task)
        if isinstance(values, NoStatement):
            return ()
        return (Need("one layer of softmax", f"H(d+2)p ≥ log₂({values.cases})", values.bits),)
