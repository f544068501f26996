"""Parameters that several commands share, each declared once: its type, help, parser and completion.

At run time an alias is what a text or JSON holds; for mypy and editors also what Python may hand in.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands import _complete
from limen.core import quantities
from limen.core.option import Argument, Option
from limen.errors import BadInput, shortened
from limen.files import own
from limen.files.printable import printable

if TYPE_CHECKING:
    from limen.core.architecture import Architecture
    from limen.core.task import Task as SizedTask

    TaskLike = str | SizedTask
    StackLike = str | Architecture
    PathLike = str | Path
else:
    TaskLike = StackLike = str
    PathLike = Path

STEPS, THOUGHT = 2**20, 2**10  # steps of chain of thought; as many as hops are counted for

TASK = Argument('A task, such as "eva(n=512)".', complete=_complete.entries("tasks"), own=True)
STACK = Argument(
    'An architecture, such as "2*linear(h=8,d=64),softmax(h=8,d=64)", or a config.json.',
    complete=_complete.stacks,
    own=True,
    reads=True,
)
Task = Annotated[TaskLike, TASK]
TaskText = Annotated[str, TASK]
Stack = Annotated[StackLike, STACK]
Steps = Annotated[int, Option("Steps of chain of thought.", least=0, most=STEPS)]
Seed = Annotated[int, Option("Seed of the random numbers.", least=0)]
LARGEST_SEED = 2**62  # torch takes no more
TorchSeed = Annotated[int, Option("Seed of the random numbers.", least=0, most=LARGEST_SEED)]
Precision = Annotated[str, Option("float64, float32, bf16, …", complete=_complete.precisions)]
Size = Literal["quick", "standard", "full"]  # of an experiment
Experiments = Annotated[str, Argument("Ids of experiments, or all.", complete=_complete.experiments)]
CONTEXT = Option(
    "Number of tokens in a sequence: 4096, 128k, 1M.",
    parse=quantities.tokens,
    line="128k",
    most=quantities.LONGEST,
)
Context = Annotated[int, CONTEXT]
Cores = Annotated[int | None, Option("Number of processes. Default: one per core.", least=1, local=True)]


def task_of(task: TaskLike) -> SizedTask:
    """The task that is written down, or the one that Python handed in."""
    from limen.core.task import Task

    if isinstance(task, str):
        return Task.parse(task)
    if not isinstance(task, Task):
        raise BadInput(f'a task is expected, such as "eva(n=512)" or a Task, got {shortened(task)}')
    return task


def is_text(text: str) -> bool:
    """Whether a stack is written down, not a file."""
    return not text.endswith((".json", ".gguf")) and not os.path.isdir(text)  # noqa: PTH112 (any length)


def stack_of(architecture: StackLike) -> Architecture:
    """The stack that is written down, that a model's config describes, or that Python handed in.

    Only `decide` takes one that ends with `affine`.
    """
    stack = any_stack_of(architecture)
    if stack.end is not None:
        raise BadInput(f"{stack}: {stack.end} is a hypothesis that only limen decide takes; leave it out")
    return stack


def any_stack_of(architecture: StackLike) -> Architecture:
    """The same, whatever is supposed of its readout."""
    from limen.core.architecture import Architecture

    if isinstance(architecture, Architecture):
        return architecture
    if not isinstance(architecture, str):
        raise BadInput(
            'an architecture is expected, such as "softmax(h=8,d=128)" or an Architecture, '
            f"got {shortened(architecture)}"
        )
    if not architecture.strip():
        raise BadInput(
            "an architecture is expected, such as softmax(h=8,d=128), or a config.json; got nothing"
        )
    if is_text(architecture):
        return Architecture.parse(architecture)
    from limen.audits import architecture_of

    return architecture_of(architecture)


def processes(cores: int | None) -> int:
    """As many as are wished for, or one per core that may be used; not every system tells which those are."""
    usable = getattr(os, "sched_getaffinity", None)
    return cores or (len(usable(0)) if usable else os.cpu_count() or 1)


def note_own(folder: Path, text: str, then: str) -> None:
    """Says on standard error that what was saved names a person's own file, which no other command runs."""
    if names := own.named(text):
        sys.stderr.write(printable(f"note: {folder} uses {names[0]}, your own code, so {then}") + "\n")
