"""Say CAN, CANNOT or OPEN for a task and an architecture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import (
    PathLike,
    Stack,
    StackLike,
    Steps,
    TaskLike,
    any_stack_of,
    is_text,
    task_of,
)
from limen.core.option import Argument, Option
from limen.errors import BadInput, shortened
from limen.files import own

if TYPE_CHECKING:
    from limen.bounds.function import Answering
    from limen.core.architecture import Architecture
    from limen.core.task import Task as SizedTask
    from limen.core.verdict import Verdict

    Target = TaskLike | Answering
else:
    Target = str


@command(
    example='limen decide "eva(n=488)" "linear(h=1,d=16,p=16)"',
    answers=(
        Shown(
            "limen.core.verdict:DecideReport",
            "limen.render.decide:lines_of",
            html="limen.render.notebook:verdict",
            forms={"latex": "limen.render.latex:verdict"},
        ),
    ),
)
def decide(
    task: Annotated[
        Target,
        Argument(
            'A task, such as "eva(n=512)", or a Python function of your own: FILE.py:NAME.',
            complete=_complete.entries("tasks"),
            reads=True,
        ),
    ],
    architecture: Stack,
    steps: Steps = 0,
    over: Annotated[
        str | None, Option("Which size of the task to vary to find the flip. Default: the task's own choice.")
    ] = None,
    *,
    save: Annotated[PathLike | None, Option("Save the certificate in this file.", local=True)] = None,
    proof: Annotated[
        PathLike | None,
        Option("Write a Coq proof of this CANNOT to a .v file; exit 1 if there is none.", local=True),
    ] = None,
    expect: Annotated[
        Literal[
            "can",
            "cannot",
            "cannot_in_exact_arithmetic",
            "cannot_with_an_exact_last_layer",
            "open",
            "incomplete",
        ]
        | None,
        Option("can, cannot or open: exit 1 if the verdict is a different one.", noun="verdict"),
    ] = None,
    alphabet: Annotated[
        int | None, Option("For a function: the number of token ids, 0 to alphabet-1.")
    ] = None,
    length: Annotated[int | None, Option("For a function: the number of tokens of an input.")] = None,
    seconds: Annotated[float, Option("For a function: how many seconds it may run.", least=0.1)] = 60.0,
) -> Verdict:
    """Names the theorem or the construction, both sides of the inequality, and where the verdict flips."""
    from dataclasses import replace

    from limen.core.task import Task
    from limen.decisions.decide import decide, keep
    from limen.files.folder import ready_file

    _in_order(task, architecture)
    if not isinstance(task, str | Task) and not callable(task):
        raise BadInput(f'a task is expected, such as "eva(n=512)", or a function, got {shortened(task)}')
    stack = any_stack_of(architecture)
    for path in (save, proof):
        if path is not None:
            ready_file(Path(path))
    sizes = (alphabet, length) != (None, None)
    if isinstance(task, Task) or (isinstance(task, str) and not own.is_function(task, sizes)):
        if sizes:
            raise BadInput(f"{task}: alphabet and length are for functions; a task has its own")
        if isinstance(task, str):
            own.admit(task)
        sized = task_of(task)
        verdict = decide(sized, stack, steps, over)
        verdict = replace(verdict, defaults=_left_out((task, sized), (architecture, stack)))
    else:
        verdict = _of_function(task, stack, steps, over, alphabet, length, seconds)
    verdict = replace(verdict, expected=expect)
    if save is not None and verdict.evidence is not None:
        keep(verdict.evidence, Path(save))
    if proof is None:
        return verdict
    from limen.coq.forms import proved

    return proved(verdict, Path(proof))


def _left_out(*given: tuple[object, SizedTask | Architecture]) -> tuple[str, ...]:
    """The sizes that the texts leave out, and what they then are."""
    from limen.core.text import left_out

    return left_out(*((one, meant) for one, meant in given if isinstance(one, str) and is_text(one)))


def _of_function(
    function: str | Answering,
    stack: Architecture,
    steps: int,
    over: str | None,
    alphabet: int | None,
    length: int | None,
    seconds: float,
) -> Verdict:
    """The verdict on a function of a person's own."""
    from limen.bounds.decided import decided_here, decided_of

    if over is not None:
        raise BadInput("a function has no size to vary: leave out --over")
    if isinstance(function, str):
        return decided_of(function, stack, steps, alphabet, length, seconds)
    return decided_here(function, stack, steps, alphabet, length)


def _in_order(task: object, architecture: StackLike) -> None:
    """The two arguments are easily swapped."""
    from limen.core.catalogue import ids

    if not isinstance(task, str) or not isinstance(architecture, str):
        return
    names = [text.split("(")[0].strip() for text in (task, architecture)]
    if names[1] in ids("tasks") or names[0] in ids("mixers"):
        raise BadInput(
            f"the task comes first, then the architecture: try limen decide {architecture!r} {task!r}"
        )
