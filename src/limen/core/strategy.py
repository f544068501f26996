"""A strategy: one way to search for an input that fools a given model; `adversary/` has one file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from limen.core.certificate import Collision, SameAnswer, WrongAnswer

if TYPE_CHECKING:
    from limen.model.target import Target


class Access(IntEnum):
    """What a model exposes to a search; each level includes those below."""

    ANSWERS = 0
    LOGITS = 1
    GRADIENTS = 2  # by the vectors of its tokens
    WEIGHTS = 3  # its layers, their weights and states, and all that they tell each other


Found = Collision | WrongAnswer | SameAnswer
Witnessing = TypeVar("Witnessing", bound=Found, covariant=True)


@dataclass(frozen=True)
class Searched(Generic[Witnessing]):
    """The result of a search; without a witness it says nothing about the model."""

    witness: Witnessing | None


@dataclass(frozen=True)
class Strategy(ABC):
    """A search: the access it needs, whether it can be tried on a model, and the search itself."""

    needs: ClassVar[Access]

    def refuses(self, target: Target) -> str | None:
        """Why it cannot be tried on this task and model; None if it can."""
        return None

    @abstractmethod
    def search(self, target: Target) -> Searched[Found]:
        """Looks for a witness that the checker accepts, until the target's time is over."""
