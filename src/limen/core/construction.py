"""A construction: weights written down that solve a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from limen.core.architecture import Architecture
from limen.core.model import Model
from limen.core.task import Task


@dataclass(frozen=True)
class Construction(ABC):
    """Its sizes follow from the task's; its claim is that the model answers every input rightly."""

    @abstractmethod
    def task(self) -> Task:
        """What it solves."""

    @abstractmethod
    def architecture(self) -> Architecture:
        """What it solves it with; readable without torch."""

    @abstractmethod
    def model(self) -> Model:
        """The weights."""
