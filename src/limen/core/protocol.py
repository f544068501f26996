"""A protocol: who holds which tokens when a model is run as a conversation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import accumulate

import msgspec

from limen.core.architecture import Architecture
from limen.core.task import Player, Task
from limen.errors import BadInput


class Holder(msgspec.Struct, frozen=True):
    """A player by its name, and how many tokens it holds."""

    name: str
    tokens: int


@dataclass(frozen=True)
class Protocol(ABC):
    """One way to share the text out; the file's docstring names the messages and their bits at most."""

    @abstractmethod
    def speaks(self, architecture: Architecture) -> bool:
        """Whether this is the protocol that the theorems use for such a stack."""

    @abstractmethod
    def players(self, task: Task, architecture: Architecture) -> tuple[Player, ...]:
        """The parties in the order of the text."""


def shares(task: Task, lengths: tuple[int, ...]) -> tuple[Player, ...]:
    """Parties that hold so many tokens each, in the order of the text."""
    if sum(lengths) != task.length or min(lengths, default=0) < 1:
        raise BadInput(
            f"the players of {task} must hold {task.length} tokens in all, got {', '.join(map(str, lengths))}"
        )
    starts = accumulate(lengths[:-1], initial=0)
    shared = enumerate(zip(starts, lengths, strict=True))
    return tuple(Player(f"p{i}", range(start, start + n)) for i, (start, n) in shared)
