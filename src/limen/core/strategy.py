"""A strategy: one way to search for an input that fools a given model; `adversary/` has one file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from limen.core.certificate import Collision, Counterexample
from limen.core.task import Task

if TYPE_CHECKING:
    from limen.model.predictor import Predictor


class Access(IntEnum):
    """What of a model is open to a search; more includes less."""

    ANSWERS = 0
    LOGITS = 1
    WEIGHTS = 2  # its layers, their weights, and all that they tell each other


Witnessing = TypeVar("Witnessing", bound=Collision | Counterexample, covariant=True)


@dataclass(frozen=True)
class Searched(Generic[Witnessing]):
    """What came of a search.  Without a witness nothing is said about the model."""

    witness: Witnessing | None


@dataclass(frozen=True)
class Strategy(ABC):
    """What it needs of a model, whether it can be tried on one, and the search."""

    needs: ClassVar[Access]

    def refuses(self, task: Task, model: Predictor) -> str | None:
        """Why it has nothing to say of this task and model; None if it can be tried."""
        return None

    @abstractmethod
    def search(self, task: Task, model: Predictor) -> Searched[Collision | Counterexample]:
        """Looks for a witness that the checker accepts."""
