"""One training run, as data: everything that decides its result, and the name it gets from that."""

from __future__ import annotations

import hashlib
import math
from functools import cache
from typing import Literal

import msgspec

from limen.core.architecture import Architecture
from limen.core.task import Task
from limen.errors import BadInput, unknown

Start = Literal["random", "lookup"]
STARTS = ("random", "lookup")


class Spec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is trained on what, from where, for how long.

    `p` in the architecture's text means that its state is rounded to p bits a number where it crosses the
    cut.  What is as by default does not count for its name, so that a new field leaves old names as they are.
    """

    task: str
    architecture: str
    seed: int = 0
    start: Start = "random"
    hard: bool = False  # near-misses, in training and when it is judged
    queries: int = 16  # questions a sequence, where the task takes several
    dense: bool = True  # answers "so far" are asked for as well, where they are defined
    hops: bool = False  # every hop is asked for, after the layer that could know it
    thought: bool = False  # chain of thought: taught step by step, judged on what it writes by itself
    distribution: str | None = None  # one that the lesson names, in the place of the task's plain one
    mixed: bool = False  # smaller sizes of the task are taught as well, where the lesson has them
    first: str | None = None  # the stack that is trained first and then grows by layers that do nothing
    first_steps: int = 0
    against: str | None = None  # who proposes inputs to train on
    width: int = 64
    hidden: int = 128  # of the per-position function; 0: none
    locals: int | None = None  # so many layers, from the first one on, have such a function; default: all
    batch: int = 16
    steps: int = 1000
    rate: float = 3e-3
    warmup: int = 40
    decay: float = 0.01
    every: int = 50  # steps between two looks at the accuracy
    target: float = 0.998  # where it stops, seen twice in a row
    judged: int = 2048  # fresh inputs at the end
    shifts: bool = False  # judged on other distributions as well
    precisions: bool = False  # and with weights and operations in fewer bits

    def __post_init__(self) -> None:
        if self.start not in STARTS:
            raise unknown("start", self.start, STARTS)
        least = {"seed": 0, "first_steps": 0, "hidden": 0, "warmup": 0}
        least |= dict.fromkeys(("queries", "width", "batch", "steps", "every", "judged"), 1)
        for name, low in least.items():
            if getattr(self, name) < low:
                raise BadInput(f"{name} must be at least {low}, got {getattr(self, name)}")
        if not 0 < self.rate < math.inf:
            raise BadInput(f"rate must be a number above 0, got {self.rate:g}")
        if self.width % 2:
            raise BadInput(f"width must be even, half for keys and half for values, got {self.width}")
        if (self.first is None) != (self.first_steps == 0):
            raise BadInput("first and first_steps go together: which stack is trained first, and how long")

    def read(self) -> tuple[Task, Architecture]:
        """The task and the stack behind their text forms."""
        return Task.parse(self.task), Architecture.parse(self.architecture)

    def checked(self) -> None:
        """Raises if a setting is invalid; called before torch is loaded."""
        from limen.training.against import proposer

        _, stack = self.read()
        if self.first is not None:
            extends(Architecture.parse(self.first), stack)
        if self.against is not None:
            proposer(self.against)

    @property
    def digest(self) -> str:
        """The name of its result: 16 digits of the SHA-256 of `written`."""
        return hashlib.sha256(written(self)).hexdigest()[:16]


def extends(before: Architecture, after: Architecture) -> None:
    """Raises unless the later stack is the earlier one with layers added at its end."""
    if after.layers[: len(before.layers)] != before.layers:
        raise BadInput(f"{after} does not begin with the stack {before}")


def written(spec: Spec) -> bytes:
    """The settings that differ from the defaults, as JSON with sorted keys: equal specs give equal bytes."""
    chosen = {
        name: value for name, value in msgspec.structs.asdict(spec).items() if value != _defaults()[name]
    }
    return msgspec.json.encode(chosen, order="sorted")


@cache
def _defaults() -> dict[str, object]:
    """The defaults by field, cached: msgspec reads the annotations anew each time."""
    return {field.name: field.default for field in msgspec.structs.fields(Spec)}
