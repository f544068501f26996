"""One training run, as data: everything that decides its result, and the name it gets from that."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from limen.core.architecture import Architecture, Layer, Part
from limen.core.catalogue import identifier
from limen.core.mixer import Mixer
from limen.core.task import Task
from limen.errors import BadInput, unknown
from limen.mixers.softmax import Softmax
from limen.mixers.unit_softmax import UnitSoftmax

Start = Literal["random", "lookup"]
STARTS = ("random", "lookup")
DECAY = 0.01


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
    words: bool = False  # a language model of English words, for facts
    model_type: str | None = None  # of transformers, whose class is trained; None: our own layers
    begins: str | None = None  # the folder of a model of transformers whose weights it begins with
    mixed: bool = False  # smaller sizes of the task are taught as well, where the lesson has them
    first: str | None = None  # the stack that is trained first and then grows by layers that do nothing
    first_steps: int = 0
    curriculum: tuple[
        str, ...
    ] = ()  # smaller sizes of the task, in order: each has an equal part of the steps
    against: str | None = None  # who proposes inputs to train on
    width: int = 64
    hidden: int = 128  # of the per-position function; 0: none
    locals: int | None = None  # so many layers, from the first one on, have such a function; default: all
    batch: int = 16
    steps: int = 1000
    rate: float = 3e-3
    warmup: int = 40
    decay: float = DECAY
    dropout: float = 0.0  # the share of numbers that mixers write which is dropped in training
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
        if not 0 <= self.dropout < 1:
            raise BadInput(f"dropout must be at least 0 and below 1, got {self.dropout:g}")
        if not 0 <= self.decay < math.inf:
            raise BadInput(f"decay must be at least 0, got {self.decay:g}")
        if self.width % 2:
            raise BadInput(f"width must be even, half for keys and half for values, got {self.width}")
        if self.curriculum and (self.first is not None or self.against is not None):
            raise BadInput("curriculum goes with neither first nor against")
        if (self.first is None) != (self.first_steps == 0):
            raise BadInput("first and first_steps go together: which stack is trained first, and how long")

    def read(self) -> tuple[Task, Architecture]:
        """The task and the stack behind their text forms."""
        return Task.parse(self.task), Architecture.parse(self.architecture)

    def checked(self) -> None:
        """Raises if a setting is invalid; called before torch is loaded."""
        from limen.training.against import proposer

        task, stack = self.read()
        for text in self.curriculum:
            if identifier(Task.parse(text)) != identifier(task):
                raise BadInput(f"curriculum: {text} is no smaller size of {self.task}, but another task")
        if self.first is not None:
            extends(Architecture.parse(self.first), stack)
        if self.against is not None:
            proposer(self.against)
        if self.begins is not None and self.model_type is None:
            raise BadInput(f"begins: {self.begins} is of transformers, so give a model_type as well")
        if self.begins is not None and not (Path(self.begins) / "config.json").is_file():
            raise BadInput(f"begins: there is no model in {self.begins}; `make lm` fetches two of them")
        if self.model_type is not None:
            from limen.training.lesson import lesson_of
            from limen.training.shaped import config

            if not self.words:
                raise BadInput(f"{self.model_type} of transformers is taught words alone")
            config(self, lesson_of(self).answers)

    @property
    def easier(self) -> int:
        """The steps on the smaller tasks of its curriculum, of which each has as many as the task itself."""
        return self.steps // (len(self.curriculum) + 1) * len(self.curriculum)

    @property
    def digest(self) -> str:
        """The name of its result: 16 digits of the SHA-256 of `written`."""
        return hashlib.sha256(written(self)).hexdigest()[:16]


def extends(before: Architecture, after: Architecture) -> None:
    """Raises unless the later stack is the earlier one with layers added at its end."""
    if after.layers[: len(before.layers)] != before.layers:
        raise BadInput(f"{after} does not begin with the stack {before}")


def qk_normed(architecture: str) -> str:
    """The stack with `unit_softmax` in the place of `softmax`: queries and keys of length 1.

    >>> qk_normed("linear(h=1,d=4),softmax(h=1,d=8,p=4)")
    'linear(h=1,d=4),unit_softmax(h=1,d=8,p=4)'
    """
    stack = Architecture.parse(architecture)
    if not any(type(part.mixer) is Softmax for layer in stack.layers for part in layer.parts):
        raise BadInput(f"{architecture}: --qk-norm is for softmax layers, and there is none")
    return str(_changed(stack, lambda part: replace(part, mixer=_unit(part.mixer))))


def _unit(mixer: Mixer) -> Mixer:
    if type(mixer) is not Softmax:
        return mixer
    if mixer.bidirectional or mixer.kv_heads is not None:
        raise BadInput(f"{mixer}: --qk-norm is for causal heads with keys of their own")
    return UnitSoftmax(mixer.h, mixer.d, d_k=mixer.d_k)


def at_precision(architecture: str, p: int) -> str:
    """The stack with p bits a number wherever the text does not say so itself.

    >>> at_precision("linear(h=1,d=4),softmax(h=1,d=8,p=4)", 2)
    'linear(h=1,d=4,p=2),softmax(h=1,d=8,p=4)'
    """
    stack = Architecture.parse(architecture)
    return str(_changed(stack, lambda part: part if part.p is not None else replace(part, p=p)))


def _changed(stack: Architecture, change: Callable[[Part], Part]) -> Architecture:
    return Architecture(tuple(Layer(tuple(map(change, layer.parts))) for layer in stack.layers))


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
