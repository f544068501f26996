"""A theorem: what an architecture cannot do, its bound in exact integers, its proof as a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.certificate import Collision
from limen.core.predictor import Predictor
from limen.core.task import Task


@dataclass(frozen=True)
class Bound:
    """The task needs so many bits and the architecture has so many."""

    needs_bits: int
    has_bits: int

    @property
    def excludes(self) -> bool:
        return self.has_bits < self.needs_bits


@dataclass(frozen=True)
class NoStatement:
    """A hypothesis fails: the theorem says nothing here."""

    reason: str


@dataclass(frozen=True)
class Theorem(ABC):
    """Statement and proof stand in the file's docstring."""

    @abstractmethod
    def bound(self, task: Task, architecture: Architecture) -> Bound | NoStatement:
        """The inequality of the theorem at these sizes."""

    def refute(self, task: Task, model: Predictor) -> Collision | None:
        """The proof, run on one model; None where the proof is not constructive or finds nothing."""
        return None
