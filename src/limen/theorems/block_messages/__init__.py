"""Block-sparse attention misses what the message of a block does not tell:
2-Sum costs B·log₂M bits a block.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import lazy_loader

from limen.adversary.unseen import Alike, Unseen, classes, only_mixer
from limen.core.architecture import Architecture
from limen.core.arrays import np
from limen.core.certificate import Bound, Collision
from limen.core.proof import Formal
from limen.core.task import Task, Tokens
from limen.core.theorem import Ceiling, Need, NoStatement, Theorem
from limen.mixers.block_sparse import BlockSparse
from limen.model.model import Model
from limen.model.predictor import Predictor
from limen.model.target import Target
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
        return Unseen(mixer.h * mixer.k, blocks).search(Target(task, model)).witness


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


def _ambiguous(contents: Tokens, messages: torch.Tensor) -> Iterator[tuple[int, Alike]]:
    """Values that are in one content but not in another one with the same message."""
    for members in classes(messages):
        rows = contents[members[:_MEMBERS]]
        for v in np.unique(rows):
            there = (rows == v).any(-1)
            if not there.all():
                yield int(v), Alike(rows[~there][0], rows[there][0])
