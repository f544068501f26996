r"""The depth rule: a stack chains κ + Tφ hops with T steps of chain of thought, and in long texts no more.

    a stack with κ + Tφ ≥ L solves composition of L hops, with replies and states of O(log n) bits;
    one with κ + Tφ < L does not, whatever its width, MLPs and key sizes, as long as its replies and states
    have few bits for the length n of the text (below: how few)                        [ye2026] [chen2025]

    for a stack of layers  κ = F - 1 + [a layer without softmax heads stands before the second one with],
    φ = F, the number of layers with softmax heads; for any graph of components see core/graph.py

L softmax layers are not enough [chen2025], nor are L-1 with recurrent layers between them [ye2026]: these
are the cases F = L without, and F = L-1 with, a recurrent layer early on.  The rule also settles what both
leave open: heads side by side bring nothing (L head-wise layers are not enough, L+1 are), one early
recurrent layer saves exactly one softmax layer, a step of thought brings F hops, latent thoughts as wide as
one likes no more.

The dichotomy is asymptotic and in the worst case: with w bits a reply and s bits of all states together it
holds at n ≈ (w + s)^(2.62^L), so for L ≪ log log n, and says nothing about an average input.  If the steps
do not depend on the query (all n_l = 1), tokens can look ahead: by pointer doubling F softmax layers follow
2^F - 2 plain hops.  What excludes a concrete task is only an inequality at its sizes, checked in whole
numbers: `bound` picks the best of theorems/composition_depth/inequality.py and of the sharp ones of theorems/composition_depth/sharp.py, `smallest`
the fewest tokens that have one.

Model.  Tokens come in the order z_L … z_1, z_0, w, and then T tokens of thought, each any function of all
that the one before holds.  Player l has the tokens of z_l, 0 that of z_0, -1 w and the thoughts.  A full
component replies from each player to each later token, a function of the token's query and of the player's
keys and values there: of each head the running maximum, the normaliser and d sums, h(d+2)p bits.  A linear
component hands a state from player to player.  A component's query reads components q, its keys, values or
updates kv, and both the raw token.  λ(c), its level, is at least the W of core/graph.py, increasingly
relabelled; a thought's levels start from the highest of the one before.  E_l: what has level < l.

Invariant, l ≥ 1.  There are small sets Z_0 … Z_{l-1} and a set R of many (z_l, …, z_L) such that for all w
and all z_i ∈ Z_i (i < l) every member of R makes players ≥ l give the same replies to players < l at all
full c ∈ E_l (l = 1: to player -1 only), and the same states at the boundary to player l-1 at all linear c ∈
E_l; R has at least 2^-D_l of all; the i_{l-1} that Z_{<l} reaches are at least Θ_{l-1}.

(1) Under it, what player i < l holds at c ∈ E_l depends on z_i … z_{l-1} (and on w, for i = -1) alone: for
l = 1 this is said of player -1, and of player 0 at linear c with T_0 = 0.  By induction along the graph and
the text: what c reads is in E_l, replies from above are constant, states at the boundary too, the rest is
local.  For l = 1: a full c of level 0 has a raw query, and reads keys and values of linear components
without a full ancestor (T_0 = 0); so w's query is a function of w, and what token 0 offers there one of
z_0.
(2) So at a full c of level l the query of player i < l depends on z_i … z_{l-1} (l = 1: w's on w and z_0,
player 0's on z_0 and z_1): what q reads has a level < l.

Start.  Fix, for each w, the replies of players ≥ 1 to w at full c of level 0, whose queries depend on w
alone, and the states of level 0 at the boundary from 1 to 0.  Player 0 may learn i_1 there: that is not
fixed, and reaches w only at level 1.
Step.  By Jensen's inequality a random x_l-tuple of z_l lies in R for a share 2^(-x_lD_l) of the (z_{l+1},
…) on average.  Less than half that share of all tuples reach fewer than Θ_l values on the q_l entries that
can be asked for (the cover test: some k = Θ_l - 1 values contain them all).  So some tuple Z_l reaches Θ_l,
with a share of at least 2^(-x_lD_l-1).  Then fix, in the order of the graph, what players > l say: their
states at the boundary to l, once; replies to the tokens of player l, for each of x_l functions; at level l
the replies to w, to player 0 and to players 0 < i < l, for each query that (2) allows; for l = 1 replies to
player 0 at level 0, too.  Each of these is a function of (z_{l+1}, …) alone once the earlier ones are
fixed: D_{l+1} counts their bits.
End.  E_L is everything: on R ⊂ {z_L} the answer is a function of w, z_0, …, z_{L-1}.  If D_L <
q_L·log₂N_{L-1}, two members of R differ at one of the q_L entries that are asked for, and one of the
answers is wrong.  ∎

Sharper than the plain scheme.
- Sinks.  What nobody reads matters at the last token only: no replies to other players are fixed there (β).
- First step.  Once the level-0 states from 2 to 1 are fixed, what player 1 says at level 0 is a function of
  z_1 alone: R is a product, and choosing Z_1 costs the players above nothing: no factor x_1, no 1.
- Few entries.  Only the last v entries of z_1, and only the last w_l of the n_l parts of z_{l+1}, need to
  vary.  What is constant of z_l belongs to player l+1, whose tokens stand before: its bits are counted
  there.
- Z_0 afterwards.  Nothing fixed in the start depends on Z_0.  By Han's inequality some x_0 of the v entries
  have lost at most x_0/v of the D_1 bits that z_1 has lost: the first cover test asks for x_1D_1·x_0/v
  bits.
- Alone.  If nobody reads a full component, only player -1 receives replies: R is a product to the end, each
  z_j pays for its own replies and states, and no factor x_l arises.  So one softmax layer, thinking aloud.
- Each w by itself (route W, two hops).  Let the entries of z_1 in group γ of h take b values of their own,
  the others be constant.  For each w let G_w be the largest class of z_1 with the same replies to w at
  level 0 and the same states: d bits.  The entries together have lost at most d bits, so one of each group
  keeps b·2^-δ_γ values, with mean δ_γ ≤ d/(yh): J values in all, as 2^-δ is convex.  Taking these as z_0,
  w's query at level 1 depends on w and γ alone; fix on z_2 the replies to it, those at level 0 to w, to
  token z_0 and to the y·h·b pairs of entry and value (a raw query is local), and the states.  If there is
  no full component of level 1, w asks nothing more, no class is needed, and d = 0.  It contains A1, A2 and
  B1 of theorems/composition_depth/sharp.py, for any graph.  Where the plain scheme needs 2^62 tokens for two head-wise layers of
  8 heads of size 64 in 16 bits, and 2^433 for three, these need 2^38.7 and 2^126.3.

By stages (route H, any L; proofs/many_hops.v, checked by Coq for every L and T).  The same invariant, with
all states fixed at every boundary and a reply of the widest level's bits everywhere; the x_l functions Z_l
are chosen one at a time.  Given those that are chosen, at least 2^-(D+1) of all z_l go with at least
2^-(D+1) of the rests, and those that bring fewer than g new values on the q entries that are asked for are
at most N^(g-1)·(xg/N)^q of all: fewer than half of them if D + 2 + (g-1)log₂N ≤ ρq and 2^ρ·xg ≤ N.  So one
that brings g goes with 2^-(D+2) of the rests that are left: x of them cost (D+2)x + D + 1 bits.  It loses to
route C what sinks, the product of the first step and few entries gain, and wins from four hops on: nothing
is paid for a random tuple to be good all at once.

Beyond the papers: the rule for graphs, head-wise layers, shared keys, chain of thought, and all finite
sizes; in [ye2026] and [chen2025] stand the task, the idea of the invariant and the two cases named above.

Corrected: L softmax layers with recurrent ones between them do fail, as an account of [ye2026] has it, only
if none of these stands before the second softmax layer; with one there, L are enough.  Where queries and
keys read different components, T_0 of a linear component's W comes from keys and values alone, and φ
follows the queries.

Not constructive at these sizes: a count of bits finds no input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.bits import power_bits
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.tasks.composition import Composition
from limen.tasks.facts import chain
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems.composition_depth import search_sharp as _sharp
from limen.theorems.composition_depth import search_stages as _hops
from limen.theorems.composition_depth.inequality import WRITTEN, Levels, levels_of
from limen.theorems.composition_depth.search import free_sizes, labels, placements, rounded
from limen.theorems.composition_depth.search_smallest import guesses

_ID = "composition_depth"
_SEARCHED = 3  # hops up to which the smallest certified size is sought by routes C and W, beyond by H
_LONG = 2**4000  # tokens: at such lengths a state that is bounded at all has reached its bound
_FIRST, _LAST = 0.5, 0.005  # shares of their logarithms by which sizes are made smaller
_ROUNDS = 6  # a state may grow with the length that is found


@dataclass(frozen=True)
class CompositionDepth(Theorem):
    """The best inequality for these sizes."""

    formal = (
        Formal(
            "each_w.v", "each_w", "route W: two hops, each w by itself, as a conversation, all free sizes"
        ),
        Formal(
            "each_w_stack.v",
            "cannot_two_layers",
            "route W: linear layers and a full one, or two full or head-wise: the verdict at its numbers",
        ),
        Formal(
            "each_w_stack.v",
            "cannot_think_once",
            "route W: one full or head-wise layer and a step of thought: the verdict at its numbers",
        ),
        Formal(
            "composition_depth.v",
            "chk_sound",
            "two hops by linear layers, one full layer, linear layers: the verdict at its numbers",
        ),
        Formal(
            "two_hops_cover.v",
            "cannot_sandwich",
            "route A4, two hops by linear layers around one full layer: the verdict at its numbers",
        ),
        Formal(
            "accumulators.v", "concrete_hybrid_errs", "the same with states of s bits and D sums of p bits"
        ),
        Formal("many_hops.v", "many_hops", "route H: L hops, any L, as levels of what tokens hold"),
        Formal(
            "many_hops_check.v",
            "cannot_hop_hybrid",
            "route H: fewer full layers than hops, linear layers anywhere: the verdict at its numbers",
        ),
        Formal(
            "many_hops_check.v", "cannot_hop", "route H: any stack with κ < L: the verdict at its numbers"
        ),
        Formal(
            "many_hops_check.v",
            "cannot_hop_thinking_hybrid",
            "route H: thinking aloud, fewer full layers in all passes than hops: the verdict at its numbers",
        ),
        Formal(
            "many_hops_check.v",
            "cannot_hop_thinking",
            "route H: any stack with κ + Tφ < L, thinking aloud: the verdict at its numbers",
        ),
        Formal(
            "many_hops_explicit.v", "cannot_hop_explicit", "the same for every L, at sizes in closed form"
        ),
        Formal(
            "many_hops_sizes.v",
            "hybrid_depth_layers",
            "every fixed L: L-1 full layers, linear layers of so many bits in all, fail at n^(1/e) bits",
        ),
        Formal("many_hops_sizes.v", "full_depth", "every fixed L: L full layers fail at n^(1/e) bits"),
        Formal(
            "many_hops_can.v",
            "depth_rule_dichotomy",
            "every shape, T and fixed L: κ + Tφ < L fails with few bits, κ + Tφ ≥ L does it with O(log n)",
        ),
        Formal("composition_depth_satisfiable.v", "big_correct", "with sizes unbounded such a stack does it"),
        Formal(
            "each_w_satisfiable.v",
            "two_layers_can",
            "with sums unbounded two layers do it; so does a thinker",
        ),
        Formal(
            "depth_rule.v",
            "depth_rule",
            "κ + Tφ ≥ L suffices, any stack, any L: what tokens can know; that weights do it is run",
        ),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        tables = chain(task)
        if tables is None:
            return NoStatement("it is about composition, and facts, which is the same")
        if tables.answers == 1 or tables.length.bit_length() > WRITTEN:
            return NoStatement("there is only one answer, or more than can be written down")
        bits = levels_of(architecture, tables.length, tables.L, steps)
        found = []
        for case in _cases(Case(task, architecture, steps), tables, bits):
            said = stated(_ID, case)
            if isinstance(said, NoStatement):
                continue
            if said.excludes and said.ceiling is None:
                return said
            found.append(said)
        if isinstance(bits, NoStatement):
            return next((said for said in found if said.excludes), bits)
        return min(found, key=_remoteness, default=_too_deep(tables.L, len(bits.σ) - 1))

    def needs(self, task: Task) -> tuple[Need, ...]:
        tables = chain(task)
        if tables is None:
            return ()
        L = tables.L
        row, values = tables.N(max(L - 2, 0)), tables.N(L - 1)
        entries = "m·log₂m" if L == 1 else f"N_{L - 2}·log₂N_{L - 1}"
        bits = power_bits((values, row)) if values.bit_length() < WRITTEN else None
        return (
            Need("one softmax layer", f"reply bits ≥ {entries}", bits),
            Need("any stack", f"κ + Tφ ≥ {L} hops, or more bits than a certificate allows", None),
        )

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        case = _sharp.average(Case(task, architecture, steps))
        return None if case is None else Ceiling.of(stated(_ID, case), f"{_ID}, {case.route}: any weights")


def _cases(case: Case, tables: Composition, bits: Levels | NoStatement) -> Iterator[Case]:
    if case.steps == 0:
        yield from _sharp.candidates(case)
    if isinstance(
        bits, NoStatement
    ):  # so many hops may be limited by states of 0 bits, which the rule counts
        return
    for route, sizes in free_sizes(tables, bits):
        yield Case(case.task, case.architecture, case.steps, route, sizes)
    for route, sizes in _hops.candidates(tables, bits):
        yield Case(case.task, case.architecture, case.steps, route, sizes)


def _remoteness(said: Bound) -> tuple[bool, float]:
    """How far from saying cannot; bits before averages."""
    if said.ceiling is not None:
        return not said.excludes, said.accuracy or 1.0
    has, needs = said.has_bits or 0, said.needs_bits or 0
    return True, math.log2(has + 1) - math.log2(needs + 1)


def _too_deep(L: int, reached: int) -> NoStatement:
    return NoStatement(
        f"κ + Tφ = {reached} < L = {L}: not possible at sizes beyond all measure, but none is certified"
    )


@dataclass(frozen=True)
class Smallest:
    """A length from which on some composition of so many hops is ruled out; n only where it is certified.

    Beyond eight hops the sizes are those in closed form, log₂n alone.
    """

    hops: int
    log2_n: float
    n: int | None = None
    bound: Bound | None = None


def smallest(architecture: Architecture, hops: int, steps: int = 0) -> Smallest | None:
    """The fewest tokens found, over all sizes of the task; None where nothing is said."""
    if hops > _SEARCHED:
        bits = levels_of(architecture, _LONG, hops, steps)
        if isinstance(bits, NoStatement):
            return None
        best = _by_stages(architecture, hops, steps, bits)
        if best is None:
            return Smallest(hops, explicit(bits, hops))
        return _smallest(hops, _shrunk(best, architecture, steps))
    found = [_sought(architecture, hops, steps)]
    if steps == 0 and (sharp := _sharp.smallest(architecture, hops)) is not None:
        said = stated(_ID, sharp[1])
        found.append(said if isinstance(said, Bound) and said.excludes else None)
    best = min((b for b in found if b is not None), key=lambda b: Task.parse(b.task).length, default=None)
    return None if best is None else _smallest(hops, best)


def _smallest(hops: int, bound: Bound) -> Smallest:
    n = Task.parse(bound.task).length
    return Smallest(hops, math.log2(n), n, bound)


def _by_stages(architecture: Architecture, hops: int, steps: int, bits: Levels) -> Bound | None:
    """Route H, with the bits of texts that are longer than those found."""
    μ = next(μ for μ in reversed(placements(bits)) if μ[-1] < hops)  # the highest: no raw replies
    found = _hops.smallest(bits.placed(μ, hops).wires, hops)
    if found is None or found[0].length > _LONG:
        return None
    said = stated(_ID, Case(found[0], architecture, steps, "H", labels(μ) | found[1]))
    return said if isinstance(said, Bound) and said.excludes else None


def _shrunk(said: Bound, architecture: Architecture, steps: int) -> Bound:
    """By route C, where it holds at sizes that are smaller, all of them together."""
    task = Task.parse(said.task)
    assert isinstance(task, Composition)
    logs, step = [math.log2(size) for size in (task.m, *task.n)], _FIRST
    while step > _LAST:
        m, *n = (rounded(log * (1 - step)) for log in logs)
        found = _excluding(Composition(max(2, m), tuple(n)), architecture, steps)
        if found is None:
            step /= 2
        else:
            said, logs = found, [log * (1 - step) for log in logs]
    return said


def _sought(architecture: Architecture, hops: int, steps: int) -> Bound | None:
    n = 2**16
    for _ in range(_ROUNDS):
        bits = levels_of(architecture, n, hops, steps)
        if isinstance(bits, NoStatement):
            return None
        below = 1
        for task in guesses(
            bits.placed(range(len(bits.σ)), hops), hops
        ):  # of more hops than levels, the lowest
            if (said := _excluding(task, architecture, steps)) is not None:
                return _less(said, task, below, architecture, steps)
            below, n = task.m, task.length
    return None


def _less(said: Bound, task: Composition, below: int, architecture: Architecture, steps: int) -> Bound:
    """With a smaller m, as far as halving the distance to `below` a few times leads."""
    high = task.m
    while high - below > 1 + (high >> 10):
        middle = (below + high) // 2
        found = _excluding(Composition(middle, task.n), architecture, steps)
        said, below, high = (said, middle, high) if found is None else (found, below, middle)
    return said


def _excluding(task: Composition, architecture: Architecture, steps: int) -> Bound | None:
    bits = levels_of(architecture, task.length, task.L, steps)
    if isinstance(bits, NoStatement):
        return None
    said = (stated(_ID, Case(task, architecture, steps, *free)) for free in free_sizes(task, bits))
    return next((b for b in said if isinstance(b, Bound) and b.excludes), None)


def explicit(bits: Levels, L: int) -> float:
    r"""log₂n of sizes in closed form at which route H holds, for all L: those of proofs/many_hops_explicit.v.

        32(w + s + 1)(L + 1)(4·2^⌈log₂(τW)⌉)^L ≤ 2^τ,    n ≤ (L + 2)·2^(τW)

    for the least such τ; W = 1, 6, 19, 53, 142, … is the exponent of the last table.
    """
    _, w, s = bits.wires
    n = x = 0  # exponents of n_l⋯n_{L-1} and of x_l⋯x_{L-1}
    for _ in range(L - 1):
        x += 1 + n
        n += 1 + x
    W, τ = 1 + x + 2 * n, 1
    while 32 * (w + s + 1) * (L + 1) << L * (2 + (τ * W - 1).bit_length()) > 1 << τ:
        τ += 1
    return math.log2(L + 2) + τ * W if W.bit_length() < 1000 else math.inf
