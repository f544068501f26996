r"""Block-sparse attention misses what the message of a block does not tell: 2-Sum costs B·log₂M bits a block.

Every block of B tokens sends w = h(d_k+d)p bits (its compressed key and value); a token reads all messages,
opens at most κ = hk blocks besides its own (k for each head), and may do with this what it likes.  n data
tokens in 0..M-1 make b = ⌊n/B⌋ whole blocks, then the last token asks whether v = -q is among them.  An
l-layer stack that is always right has

    positions, l = 1:   2^w ≥ Σ_{i≤B} C(D,i),   D = ⌈M(1 - κ/b)⌉         (i ≥ 1 if D = M)
    depth, any l:       W ≥ B·log₂(1/ρ),        ρ = Γ/b + B(b+1)/M,   W = w_1 + Σ_{r<l} w_{r+1}·Π_{s≤r}(1+f_s)
    average, any l:     d((1-ε)·TPR ‖ ε + (1-ε)·FPR + (ΓB+t)/n) ≤ bW/n,   ε = n/M

where TPR and FPR are the shares of "yes" that are said among the task's inputs with a partner and without
(`average` is about inputs half of which have one: on uniform ones "no" is nearly always right), f_r = κ_rB
blocks that the tokens of one block open in layer r, t = n mod B data tokens beside the query
in its own block, and Γ the blocks in its reach: Γ = κ_l at the top, and for r = l-1 … 1

    Γ ← Γ(1 + f_r) + κ_r(1 + t)                 for equal layers and t = 0:  ΓB = (1 + κB)^l - 1.

The single layer with one map for all blocks is the limit of [ye2026]; their map sees no positions and then

    shared, l = 1:      2^w ≥ Σ_{1≤i≤B} C(M,i),   if b > κ.

A model may embed positions whatever its architecture's text says, so `shared` is no verdict about a text: it
stands under `needs`.  The other routes allow any embedding, any map, any width between the layers.  All of
them need: layers of this mixer alone with one B, no window beside, no chain of thought, tokens that may
repeat.

Proof of `positions`.  Call a block v-ambiguous if two of its contents, one with v and one without, send the
same message.  At most κ blocks are: otherwise give each of κ+1 such blocks its content without v, fill the
rest with other values (the query's own block too), and ask for v.  One of the κ+1 is not opened; switch it to
its content with v: no message changes, so neither does what is opened nor what is read, but the answer does.
So Σ_blocks |{v : ambiguous}| ≤ κM, and some block has at least D values that are not: of these, its message
tells which are there.  Every set of at most B of them is there in some content (fill up by repeating; the
empty set needs another value, M > D), so there are as many messages; with more than D values no fewer.  For
`shared`: two contents with different sets of values and the same message make all b blocks v-ambiguous.

Proof of `depth`.  Run on Z.  A_0(j) = {j}; A_r(j) adds to A_{r-1}(j) every block with a token that opens one
of them in layer r.  Sig_j is all messages of layer r = 1 … l from blocks in A_{r-1}(j), the query's own block
left out.  (Cone lemma.)  If Z' differs from Z in block j alone and Sig_j is the same, then no token outside
A_r(j) has changed after layer r: by induction messages outside A_{r-1} come from unchanged tokens, those
inside are the same by hypothesis (only its own tokens see the message of the query's block), so a token
outside A_r sees the same messages, opens the same blocks, none of them in A_{r-1}.  By the same induction
A_r(j) is a function of Z outside j and of Sig_j up to layer r: Sig_j is a string that tells itself where it
ends, and its entropy given Z outside j is at most its expected length.  One block is in A_r(j) for at most
Π_{s≤r}(1+f_s) blocks j, so the mean length over j is at most W; the query's block is in A_l(j) for at most Γ.

Now Z uniform.  K_j: contents of block j with the same Sig_j, given the rest; U_j: values in some but not all
of K_j.  A content in K_j consists of values in U_j and of at most B that all have: |K_j| ≤ (|U_j|+B)^B, hence
B·log₂M - E|Sig_j| ≤ E log₂|K_j| ≤ B·log₂(E|U_j| + B).  Take v not in Z, the tokens beside the query other
than v, and j out of the query's reach.  If v were in U_j, block j could get a content in K_j with v, and the
query would notice nothing.  So v is in at most Γ of the U_j; the at most bB values in Z are in at most b
each: mean E|U_j| ≤ ΓM/b + bB.  With the mean over j and Jensen, M·2^(-W/B) ≤ ΓM/b + bB + B.

Proof of `average`.  Null: X and v uniform, independent.  Planted: moreover x_J = v at a uniform place J, say
in block j.  Planted, (v, X outside j, Sig_j) has the law of (x_J, X outside j, Sig_j); null, v is independent
of the rest; so the divergence is I(x_J; Sig_j | X outside j).  Summed over the B places of a block it is at
most H(Sig_j | X outside j) ≤ E|Sig_j|, so its mean over J is at most bW/n (0 for a place beside the query).
The event "J is beside the query, or j is in reach, or the answer is yes" is a function of the triple; its
probability is at least TPR planted, at most FPR + (ΓB+t)/n null.  Data processing and joint convexity.  The
task draws from null given that v is not in X, and from planted given that v is nowhere else; both conditions
fail with probability at most ε, so TPR ≥ (1-ε)·TPR of the task, FPR ≤ ε + (1-ε)·FPR of the task.  The
accuracy on balanced inputs is (TPR + 1 - FPR)/2, maximised over FPR.  An accuracy below 1 is a wrong answer,
so this is a "cannot", too.

Ours.  [ye2026] has the single layer with one map.  `positions` allows maps that differ, for nearly the same
price: n = 65536, B = 64, κ = 16, M = 2^32: 1751 bits instead of 1753 (and 384 by `depth`).  `depth` answers
in part their question about more layers; it is weak for l ≥ 2 (W grows by f a layer), as it should be where
(κB)^l reaches n: there messages without any content suffice.  `positions` is constructive: `refute` collects
contents with equal messages until some v has κ+1 ambiguous blocks.  The others are counting arguments.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader
import numpy as np

from limen.adversary.unseen import Pair, classes, only_mixer, refuted
from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision
from limen.core.proof import Formal
from limen.core.task import Task, Tokens
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case
from limen.theorems._stated import stated

if TYPE_CHECKING:
    import torch
else:
    torch = lazy_loader.load("torch")

_CONTENTS = 2**12  # of a block, among which two with the same message are looked for
_MEMBERS = 64  # of a class of equal messages that are compared


@dataclass(frozen=True)
class BlockMessages(Theorem):
    """One layer: `positions`, which is the stronger there; more layers: `depth`; else `average`."""

    formal = (
        Formal(
            "block_messages.v",
            "block_messages",
            "route positions: one layer, maps that differ from block to block",
        ),
        Formal("block_messages.v", "block_messages_shared", "one layer, one map for all blocks"),
        Formal("block_messages.v", "cannot_two_sum", "route positions: the verdict at its numbers"),
    )

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        route = "positions" if len(architecture.layers) == 1 else "depth"
        said = stated("block_messages", Case(task, architecture, steps, route))
        if (
            isinstance(said, Bound)
            and not said.excludes
            and (most := self.ceiling(task, architecture, steps))
        ):
            return most.bound
        return said

    def needs(self, task: Task) -> tuple[Need, ...]:
        if not isinstance(task, TwoSum):
            return ()
        return tuple(Need("block_sparse", inequality, None) for inequality in _INEQUALITIES)

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        average = stated("block_messages", Case(task, architecture, steps, "average"))
        return Ceiling.of(
            average, "block_messages: messages tell too little of the blocks that are not opened"
        )

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        """Runs the proof of `positions`, block by block from the last, on a sample of contents."""
        if not isinstance(task, TwoSum) or not isinstance(model, Model):
            return None
        mixer = only_mixer(task, model, BlockSparse)
        if mixer is None:
            return None
        contents = np.random.default_rng(0).integers(task.M, size=(_CONTENTS, mixer.B))
        starts = reversed(range(0, task.n - mixer.B + 1, mixer.B))
        blocks = ((start, _ambiguous(contents, _messages(model, contents, start))) for start in starts)
        return refuted(task, model, mixer.h * mixer.k, blocks)


_INEQUALITIES = (
    "w ≥ log₂ Σ_{i≤B} C(D,i), D = ⌈M(1-hk/⌊n/B⌋)⌉, w = h(d_k+d)p: one layer",
    "w ≥ log₂ Σ_{1≤i≤B} C(M,i): one layer that embeds no positions, ⌊n/B⌋ > hk",
    "w₁ + Σ_r Π_{s≤r}(1+f_s)·w_{r+1} ≥ B·log₂(1/ρ), ρ = Γ/⌊n/B⌋ + (n+B)/M, f = hkB: any number of layers",
)


def _messages(model: Model, contents: Tokens, start: int) -> torch.Tensor:
    """What a block that starts there sends, for each of its contents: (count, numbers)."""
    state = model.start((len(contents),))._replace(position=start)
    with torch.no_grad():
        for tokens in torch.as_tensor(contents).unbind(-1):
            state, _ = model.step(state, tokens)
    return torch.cat([numbers.flatten(1) for numbers in state.layers[0][0].messages], -1)


def _ambiguous(contents: Tokens, messages: torch.Tensor) -> Iterator[tuple[int, Pair]]:
    """Values that are in one content but not in another one with the same message."""
    for members in classes(messages):
        rows = contents[members[:_MEMBERS]]
        for v in np.unique(rows):
            there = (rows == v).any(-1)
            if not there.all():
                yield int(v), Pair(rows[~there][0], rows[there][0])
