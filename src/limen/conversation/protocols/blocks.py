r"""One player per block: each sends its message, and a token opens the k blocks that it selects [ye2026].

    message of a block:  h(d_k+d)p bits, a function of its own tokens
    opened block:        B·h(d_k+d)p bits: its keys and values

The tokens of the last, unfinished block ask; where the text ends with a whole block, that block asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.protocol import Protocol
from limen.core.task import Player, Task
from limen.errors import BadInput


@dataclass(frozen=True)
class Blocks(Protocol):
    """The protocol with n/B players and one that asks."""

    def speaks(self, architecture: Architecture) -> bool:
        return bool(self._sizes(architecture))

    def players(self, task: Task, architecture: Architecture) -> tuple[Player, ...]:
        sizes = self._sizes(architecture)
        if len(sizes) != 1:
            raise BadInput(f"{architecture}: blocks need layers of one block size, got {sorted(sizes)}")
        B = sizes.pop()
        starts = range(0, task.length, B)
        return tuple(Player(f"block {i}", range(s, min(s + B, task.length))) for i, s in enumerate(starts))

    def _sizes(self, architecture: Architecture) -> set[int]:
        mixers = [part.mixer for layer in architecture.layers for part in layer.parts]
        return {mixer.B for mixer in mixers if hasattr(mixer, "B")}
