"""Block-sparse attention misses what a block's message leaves out:
2-Sum costs one layer B·log₂M bits per block.
"""

from __future__ import annotations

from limen.core.architecture import Architecture
from limen.core.certificate import Bound
from limen.core.proof import Formal
from limen.core.task import Task
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.mixers.nsa import Nsa
from limen.tasks.two_sum import TwoSum
from limen.theorems._case import Case
from limen.theorems._stated import stated
from limen.theorems._two_sum import OTHER, alone
from limen_check.cannot.bound import block_messages


class BlockMessages(Theorem):
    """One layer: `positions`, which is the stronger there; more layers: `depth`; else `average`."""

    formal = (
        Formal(
            "block_messages.v",
            "block_messages",
            "route positions: one layer, maps that differ from block to block",
        ),
        Formal("block_messages.v", "block_messages_shared", "one layer, one map for all blocks"),
        Formal("block_messages.v", "cannot_two_sum", "route positions: concrete verdicts"),
    )

    @staticmethod
    def at(case: Case) -> Bound | NoStatement:
        """In layer r a token opens κ_r of b = ⌊n/B⌋ blocks, each of which sends w_r bits.

        block_sparse: κ = hk, w = h(d_k+d)p.  nsa, with g sets of heads: κ = g·k + 1 + max(1, ⌈(W-1)/B⌉), of
        which the first block and those before its own are always read; w = g(d_k+d)p.

        positions   2^w ≥ Σ_{i≤B} C(D,i),  D = ⌈M(1 - κ/b)⌉,  one layer
        depth       W ≥ B·log₂(1/ρ),  ρ = Γ/b + (bB + B)/M,  W = w_1 + Σ_r w_{r+1}·Π_{s≤r}(1 + κ_sB)
        average     d((1 - ε)·TPR ‖ ε + (1 - ε)·FPR + (ΓB + rest)/n) ≤ bW/n,  ε = n/M, half yes, half no

        Γ blocks are in reach of the answer.
        """
        if not isinstance(case.task, TwoSum) or case.steps or case.sizes:
            return OTHER
        parts = [alone(layer, BlockSparse, Nsa) for layer in case.architecture.layers]
        sizes = {part.mixer.B for part in parts if part and isinstance(part.mixer, BlockSparse | Nsa)}
        if None in parts or len(sizes) > 1:
            return NoStatement(
                "it is about layers of block_sparse or nsa alone, of one block size, with their sizes given"
            )
        return stated("block_messages", block_messages, case)

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        route = "positions" if len(architecture.layers) == 1 else "depth"
        worst = self.at(Case(task, architecture, steps, route))
        if isinstance(worst, NoStatement) or worst.excludes:
            return worst
        most = self.ceiling(task, architecture, steps)
        return worst if most is None else most.bound

    def needs(self, task: Task) -> tuple[Need, ...]:
        if not isinstance(task, TwoSum):
            return ()
        return *(Need("block_sparse", inequality, None) for inequality in _INEQUALITIES), _NSA

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        average = self.at(Case(task, architecture, steps, "average"))
        return Ceiling.of(
            average, "block_messages: the messages say too little about the blocks that are not read"
        )


_NSA = Need(
    "nsa, g sets of heads",
    "w ≥ log₂ Σ_{i≤B} C(D,i), D = ⌈M(1-κ/⌊n/B⌋)⌉, κ = g·k + 1 + max(1,⌈(W-1)/B⌉), w = g(d_k+d)p: one layer",
    None,
)
_INEQUALITIES = (
    "w ≥ log₂ Σ_{i≤B} C(D,i), D = ⌈M(1-hk/⌊n/B⌋)⌉, w = h(d_k+d)p: one layer",
    "w ≥ log₂ Σ_{1≤i≤B} C(M,i): one layer that embeds no positions, ⌊n/B⌋ > hk",
    "w₁ + Σ_r Π_{s≤r}(1+f_s)·w_{r+1} ≥ B·log₂(1/ρ), ρ = Γ/⌊n/B⌋ + (n+B)/M, f = hkB: any number of layers",
)
