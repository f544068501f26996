"""A theorem: what an architecture cannot do, its bound in exact integers, its proof as a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

from limen.core.architecture import Architecture
from limen.core.certificate import Bound, Collision, ExactBound, ExactCeiling, WrongAnswer
from limen.core.proof import Formal
from limen.core.task import Task
from limen.errors import counted

if TYPE_CHECKING:
    from limen.model.predictor import Predictor


@dataclass(frozen=True)
class NoStatement:
    """Why a theorem says nothing here: a hypothesis fails, or it is about other architectures altogether."""

    reason: str
    elsewhere: bool = False


@dataclass(frozen=True)
class Need:
    """What every architecture of some kind needs for a task: an inequality, and its side in bits."""

    mixer: str
    inequality: str
    bits: int | None
    order: str = ""  # where both its sides grow with the text: what it comes to in long ones
    of: str = ""  # what that is the order of


@dataclass(frozen=True)
class Ceiling:
    """The highest accuracy that any weights reach on inputs drawn so, rounded up; its bound says cannot."""

    bound: Bound
    reason: str

    @classmethod
    def of(cls, average: Bound | NoStatement, reason: str) -> Ceiling | None:
        """The ceiling of an average case whose bound is below 1; else None."""
        return cls(average, reason) if isinstance(average, Bound) and average.excludes else None

    @property
    def accuracy(self) -> float:
        assert self.bound.accuracy is not None  # a bound in bits is no ceiling
        return self.bound.accuracy

    @property
    def distribution(self) -> str:
        assert self.bound.distribution is not None
        return self.bound.distribution


@dataclass(frozen=True)
class Theorem(ABC):
    """A theorem; statement and proof are in `proof.md` of its folder, the inequality beside it.

    `formal` names what of it Coq has checked.
    """

    formal: ClassVar[tuple[Formal, ...]] = ()
    supposes: ClassVar[str] = ""  # a hypothesis that not every layer of these sizes has: verdicts say it

    @abstractmethod
    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        """The inequality at these sizes, with the free sizes of the proof chosen well."""

    def excluding(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | None:
        """The inequality, where it says cannot: what a search over sizes asks for, many times."""
        bound = self.bound(task, architecture, steps)
        return bound if isinstance(bound, Bound) and bound.excludes else None

    def needs(self, task: Task) -> tuple[Need, ...]:
        """The theorem's requirements on any architecture for this task."""
        return ()

    def ceiling(self, task: Task, architecture: Architecture, steps: int = 0) -> Ceiling | None:
        """An upper bound on accuracy, where the theorem has an average case and it is below 1."""
        return None

    def refute(self, task: Task, model: Predictor) -> Collision | WrongAnswer | None:
        """The proof, run on one model; None where it finds nothing, or is not constructive.

        It is the function `refute` of `refute.py` in the theorem's folder, loaded when it is run: what is
        decided needs no model.
        """
        folder = import_module(type(self).__module__)
        name = f"{folder.__name__}.refute"
        if not hasattr(folder, "__path__") or find_spec(name) is None:
            return None
        witness: Collision | WrongAnswer | None = import_module(name).refute(task, model)
        return witness


class ExactTheorem(Theorem):
    """A theorem about exact arithmetic and an affine readout: its bounds are kept apart from all others."""

    supposed: ClassVar[str] = "in exact arithmetic"  # how its verdict goes on

    def bound(self, task: Task, architecture: Architecture, steps: int = 0) -> Bound | NoStatement:
        counted(steps)
        return NoStatement("it is about exact arithmetic and an affine readout", elsewhere=True)

    @abstractmethod
    def exact(self, task: Task, architecture: Architecture) -> ExactBound | NoStatement:
        """The inequality at these sizes, for a stack that ends with `affine`."""

    def exact_ceiling(self, task: Task, architecture: Architecture) -> ExactCeiling | None:
        """The highest accuracy on drawn inputs, where the theorem has an average case and it is below 1."""
        return None

    @abstractmethod
    def says(self, bound: ExactBound) -> str:
        """Both sides of its inequality in words."""
