"""A construction: weights written down that solve a task."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from inspect import isabstract
from typing import TYPE_CHECKING, Any, get_type_hints

from limen.core.architecture import Architecture
from limen.core.catalogue import identifier, ids, lookup
from limen.core.numbers import Precision
from limen.core.task import Task
from limen.core.text import Call, build, parse_call, word
from limen.core.weights import Weights
from limen.errors import BadInput, unknown
from limen.files.own import beside

if TYPE_CHECKING:
    from limen.core.columns import Columns
    from limen.model.model import Frame

_FIRST = ("_by_softmax", "_by_stack", "_by_code")  # where a task has one of these, it is the plainest


@dataclass(frozen=True)
class Construction(ABC):
    """Weights for a task; frame (torch-free), weights and margin all follow from the task's sizes.

    A concrete one narrows the field `task` to its own task, with a small default.
    """

    task: Task

    @property
    def steps(self) -> int:
        """The number of tokens of chain of thought before the answer."""
        return 0

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The named columns of the residual stream."""

    @abstractmethod
    def frame(self) -> Frame:
        """The model without its weights."""

    @abstractmethod
    def weights(self) -> Weights:
        """The weights, in float64."""

    @abstractmethod
    def margin(self, precision: Precision) -> float | None:
        """A lower bound on (right logit - best wrong logit) for EVERY input and rounding of this precision.

        Computed in exact integers and balls, without running anything; None: none can be certified.
        """

    def hints(self) -> dict[str, Any] | None:
        """Hints for the kernel: where each class of tokens looks; None where it has no rule (argued)."""
        return None

    @classmethod
    def within(cls, task: Task, architecture: Architecture) -> Construction:
        """The construction as it would be in this architecture; whether it fits is for `placement.py`."""
        return cls(task=task)

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[Construction, ...]:
        """Small instances on which the laws of the catalogue are tested, each with all its inputs."""

    def __str__(self) -> str:
        """The id, and the options that differ from their default."""
        options = [
            f"{f.name}={word(getattr(self, f.name))}"
            for f in fields(self)
            if f.kw_only and getattr(self, f.name) != f.default
        ]
        return identifier(self) + (f"({','.join(options)})" if options else "")


def constructions_for(task: Task) -> list[str]:
    """The ids of the constructions of a task, the one to take if none is named first.

    For a task of your own: the constructions in its file.
    """
    if ":" in identifier(task):
        near = [cls for cls in beside(type(task)) if issubclass(cls, Construction)]
        return [identifier(cls) for cls in near if not isabstract(cls) and _of(cls, task)]
    names = [name for name in ids("constructions") if name.split("_by_")[0] == identifier(task)]
    return sorted(names, key=lambda name: (not name.endswith(_FIRST), name))


def _of(construction: type[Construction], task: Task) -> bool:
    """Whether a construction is for such tasks, by the type of its field `task`."""
    return isinstance(task, get_type_hints(construction)["task"])


def construct(task: Task, by: str | None = None) -> Construction:
    """The construction named by its id, or by the part after `_by_`, with options; else the first."""
    known = constructions_for(task)
    call = parse_call(by) if by else Call(known[0] if known else "", {})
    if ":" in call.name:
        return _own(task, call)
    if not known and task.retells:
        raise BadInput(
            f"{task} has the tokens and answers of {task.retells}, whose weights answer it: name that task"
        )
    if not known:
        solvable = sorted({name.split("_by_")[0] for name in ids("constructions")})
        raise BadInput(
            f"no construction for {identifier(task)} yet; there are some for {', '.join(solvable)}"
        )
    name = call.name if call.name in known else f"{identifier(task)}_by_{call.name}"
    if name not in known:
        raise unknown(f"construction for {identifier(task)}", call.name, known)
    return build(lookup("constructions", name, Construction), Call(name, call.arguments), task=task)


def _own(task: Task, call: Call) -> Construction:
    cls = lookup("constructions", call.name, Construction)
    if not _of(cls, task):
        wanted = get_type_hints(cls)["task"].__name__
        raise BadInput(f"{call.name} is a construction for {wanted}, not for {identifier(task)}")
    return build(cls, call, task=task)
