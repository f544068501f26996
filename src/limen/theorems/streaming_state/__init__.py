r"""A recurrence with fewer states than prefixes to tell apart cannot do the task, not even thinking aloud.

    S ≥ log₂ #rows(t)                 S: bits of all states after t tokens
    eva:  L·H·d(d+1)·p ≥ n·log₂n      for L layers of linear attention                               [ye2026]

#rows(t) is the number of prefixes of t tokens of which each two differ in an answer that is still to come.

Hypotheses.  Every layer carries a fixed number of bits from token to token: any recurrence, windows and the
caches of short convolutions included, states of all layers added up.  The text is read once, from left to
right, and what is asked comes last.  Embeddings, norms and per-position functions may be anything.

Proof.  Cut after t tokens.  Everything that comes later, all tokens of a chain of thought included, is a
function of the state at the cut and of the tokens after it: each step maps the state and a token to a new
state and an output, and a written token is read off an output.  So two prefixes with the same state get the
same answer after every continuation.  If there are more rows than states, two prefixes of different rows
share one, and on the continuation that tells them apart one of the answers is wrong.  ∎

Chain of thought does not help, however long: it adds time and room to compute, never information about what
was read.  It does help whoever can look back: an attention layer, a second copy of the text, a tool.  Coins
do not help either, if thrown after the cut (fix them; for an error below 1/2 on each input the same bound
holds); before the cut they may: equality then takes O(log n) bits.

Average.  X_1 … X_n independent and uniform over A symbols, one of them asked for, each as likely.  Given the
keys (if any), Σ_j I(X_j; state) ≤ I(X; state) ≤ S, for the X_j are independent.  By data processing a guess
of X_j from the state is right with a probability p_j with d(p_j ‖ 1/A) ≤ I(X_j; state), and d is convex: the
accuracy p has d(p ‖ 1/A) ≤ S/n.  For recall the values are those that the task draws, from the upper half of
the alphabet.  This is Fano's inequality in its sharp form, with the state of every layer.

Composition of L hops is such a lookup, too: cut after z_L.  The entry asked for, (w_{L-1}, i_{L-1}), is
uniform, for w_{L-1} is, and i_{L-1}, an entry of z_{L-1}, is uniform and independent of it; and z_{L-1} …
z_0, w, which choose it, are independent of z_L.  Given these, the guess is one of X_j from the state after
z_L, and j runs over all N_{L-1} entries alike:  d(p ‖ 1/N_{L-1}) ≤ S/N_{L-1}.

Constructive: `refute` collects the states that a model reaches after many prefixes (all, where they are few),
and looks for two that are equal bit by bit.

At its cut the bound is exact for tasks defined on all inputs: the row itself is a state.  Corrected: the
2-Sum of [ye2026] needs order n·log n bits if M = n^{1+Ω(1)}, but only order n if M = O(n).
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.adversary.collisions import collision, states
from limen.checks.collision import streams
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._states import answered


@dataclass(frozen=True)
class StreamingState(Theorem):
    """Cut where the task says, or beside it: after an odd number of brackets Dyck may have more rows."""

    formal = (
        Formal(
            "streaming_state.v",
            "cut_bound",
            "any task at any cut: no fewer memories than prefixes told apart, thinking aloud or not",
        ),
        Formal(
            "streaming_state.v",
            "cannot_evaluate",
            "eva, index, retrieval without `absent`, composition of any length: the verdict at its numbers",
        ),
        Formal(
            "streaming_state.v", "cannot_compare", "equality and disjointness: the verdict at its numbers"
        ),
        Formal("rows.v", "cannot_sum", "two_sum by V^n of its sets: the verdict at its numbers"),
        Formal("rows.v", "cannot_recall", "recall of one key, nearest_neighbor: the verdict at its numbers"),
        Formal("rows.v", "cannot_three", "three_sum by V^(n-1) of its sets: the verdict at its numbers"),
        Formal("rows.v", "cannot_average", "sparse_average by 2^(n-q+1) rows: the verdict at its numbers"),
        Formal("rows.v", "cannot_count", "counting by V^(S-1) of its counts: the verdict at its numbers"),
        Formal("trees.v", "cannot_tell_trees", "is_tree by (n-1-t)^t rows: the verdict at its numbers"),
        Formal("streaming_state_attained.v", "eva_tight", "the bound of eva is attained"),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        at_the_cut = stated("streaming_state", Case(task, architecture, steps))
        if isinstance(at_the_cut, NoStatement) or at_the_cut.excludes:
            return at_the_cut
        cases = (Case(task, architecture, steps, sizes={"t": task.cut + beside}) for beside in (-1, 1))
        beside = (stated("streaming_state", case) for case in cases)
        return next((b for b in beside if isinstance(b, Bound) and b.excludes), at_the_cut)

    def needs(self, task: Task) -> tuple[Need, ...]:
        rows = task.rows(task.cut)
        if rows is None:
            return ()
        return (Need("any recurrence", f"state bits ≥ log₂({rows.formula})", rows.bits),)

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        t = answered(task)
        sizes = {} if t == task.cut else {"t": t}
        average = stated("streaming_state", Case(task, architecture, steps, "average", sizes))
        return Ceiling.of(average, "streaming_state: the state has too few bits for all that may be asked")

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        if not (isinstance(model, Model) and streams(model)):
            return None
        return collision(task, model, task.cut, lambda prefixes: states(model, prefixes))
