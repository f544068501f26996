r"""The players of composition for a hybrid: sums in each full layer, one state in each recurrence [ye2026].

    full layer:    h(d+2)p bits a token and sender, as in `autoregressive`
    recurrence:    state_bits at each boundary, once: player j+1 hands its state to player j

The state at a boundary is a function of the tokens before it alone; it does not depend on what the receiver
asks.  That is why even many recurrent layers are cheap to fix in the lower bound, while a full layer costs
as many bits as there are queries.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.protocol import Protocol
from limen.core.task import Player, Task


@dataclass(frozen=True)
class HandOver(Protocol):
    """The protocol with the task's players, for stacks of full layers and recurrences."""

    def speaks(self, architecture: Architecture) -> bool:
        parts = [part for layer in architecture.layers for part in layer.parts]
        replies = all(part.reply_bits is not None for part in parts if part.full)
        return {part.full for part in parts} == {True, False} and replies

    def players(self, task: Task, architecture: Architecture) -> tuple[Player, ...]:
        return task.players()
