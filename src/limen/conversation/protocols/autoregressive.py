r"""The players -1, 0, …, L of composition: an epoch per full layer, sums from all earlier players [chen2025].

    epoch t: player i sends its queries to all players before it (free);
             each player j > i answers every token of i with its sums: h(d+2)p bits a token and sender

Player l holds the table z_l, player 0 the token z_0, player -1 the token w; higher players stand earlier in
the text, so that messages flow from high to low only.  Player i's vectors after t epochs are a function of
z_i … z_L alone.  Other tasks: the task's own players.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.protocol import Protocol
from limen.core.task import Player, Task


@dataclass(frozen=True)
class Autoregressive(Protocol):
    """The protocol with the task's players, for stacks of full layers."""

    def speaks(self, architecture: Architecture) -> bool:
        return all(part.reply_bits is not None for layer in architecture.layers for part in layer.parts)

    def players(self, task: Task, architecture: Architecture) -> tuple[Player, ...]:
        return task.players()
