r"""One cut: the player before it sends the states of the recurrences, once, to the player after it.

    bits = Σ_layers state_bits        for stacks without full attention

Alice holds the tokens before the task's cut, Bob the rest.  Full layers may be there too: then Alice also
answers each query of Bob's tokens with her sums, h(d+2)p bits a token and layer.  This is the conversation of
the streaming bound: Bob's answer depends on Alice's prefix through these bits alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.protocol import Protocol
from limen.core.task import Player, Task


@dataclass(frozen=True)
class TwoParty(Protocol):
    """The protocol with two players, Alice before the cut and Bob after it."""

    def speaks(self, architecture: Architecture) -> bool:
        return not any(part.full for layer in architecture.layers for part in layer.parts)

    def players(self, task: Task, architecture: Architecture) -> tuple[Player, ...]:
        return Player("alice", range(task.cut)), Player("bob", range(task.cut, task.length))
