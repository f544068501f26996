"""The wish of a design: tasks at sizes that fit a context, and the size of the stack."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from limen.core.smallest import smallest
from limen.core.task import Task
from limen.decisions.families import FAMILIES, LEAST
from limen.errors import BadInput

STEP = 64  # widths are multiples of the smaller head
KV_HEADS = 8  # what most models have


@dataclass(frozen=True)
class Wish:
    """All tasks are to be done by one stack in one pass; `budget` bounds the bytes kept for a sequence."""

    tasks: tuple[Task, ...]
    context: int
    layers: int = 24
    width: int = 2048
    budget: int | None = None
    kv_heads: int = KV_HEADS

    def __post_init__(self) -> None:
        if not self.tasks:
            raise BadInput("a design needs at least one task")
        if self.width < STEP or self.width % STEP:
            raise BadInput(f"the width must be a multiple of {STEP}, got {self.width}")
        for name, value in (
            ("context", self.context),
            ("number of layers", self.layers),
            ("number of KV heads", self.kv_heads),
        ):
            if value < 1:
                raise BadInput(f"the {name} must be at least 1, got {value}")
        if self.budget is not None and self.budget < 1:
            raise BadInput(f"the budget must be at least 1 byte, got {self.budget}")
        for task in self.tasks:
            if task.length > self.context:
                raise BadInput(
                    f"{task} has {task.length:,} tokens, more than the context of {self.context:,}"
                )

    @classmethod
    def parse(
        cls,
        tasks: list[str],
        context: int,
        layers: int,
        width: int,
        budget: int | None,
        kv_heads: int = KV_HEADS,
    ) -> Wish:
        """The wish of some texts; a task's id alone stands for its largest instance that fits the context."""
        if context < 1:
            raise BadInput(f"the context must be at least 1 token, got {context}")
        wanted = [sized(text, context) if "(" not in text else Task.parse(text) for text in tasks]
        return cls(tuple(dict.fromkeys(wanted)), context, layers, width, budget, kv_heads)


def sized(name: str, context: int) -> Task:
    """The longest task of this name within the context; without a family one size grows alone."""
    if name in FAMILIES:
        return _longest(name, FAMILIES[name], context)
    task = Task.parse(name)
    sizes = smallest(task, task.grows, lambda t: t.length > context, known=task.length > context)
    if sizes is None:
        raise BadInput(
            f"{task} does not grow to {context:,} tokens through {task.grows} alone: give its sizes"
        )
    _, below = sizes
    if below is None:
        raise BadInput(f"no instance of {name} is as short as {context:,} tokens")
    return task.resized(task.grows, below)


def _longest(name: str, family: Callable[[int], Task], context: int) -> Task:
    """The longest task of a family within the context; lengths grow with n by at least a token each."""
    low, high = LEAST, context + 2  # is_tree(n) has n-1 tokens
    if family(low).length > context:
        raise BadInput(f"no instance of {name} is as short as {context:,} tokens")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if family(middle).length <= context else (low, middle)
    return family(low)
