"""Say CAN, CANNOT or OPEN for a task and an architecture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from limen.commands._command import Shown, command
from limen.commands._words import (
    PathLike,
    Stack,
    StackLike,
    Steps,
    Task,
    TaskLike,
    any_stack_of,
    is_text,
    task_of,
)
from limen.core.option import Option
from limen.errors import BadInput

if TYPE_CHECKING:
    from limen.core.verdict import Verdict


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
    task: Task,
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
) -> Verdict:
    """Names the theorem or the construction, both sides of the inequality, and where the verdict flips."""
    from dataclasses import replace

    from limen.core.text import left_out
    from limen.decisions.decide import decide, keep
    from limen.files.folder import ready_file

    _in_order(task, architecture)
    sized, stack = task_of(task), any_stack_of(architecture)
    for path in (save, proof):
        if path is not None:
            ready_file(Path(path))
    verdict = decide(sized, stack, steps, over)
    if save is not None and verdict.evidence is not None:
        keep(verdict.evidence, Path(save))
    written = [(one, meant) for one, meant in ((task, sized), (architecture, stack)) if isinstance(one, str)]
    texts = [(text, meant) for text, meant in written if is_text(text)]
    verdict = replace(verdict, defaults=left_out(*texts), expected=expect)
    if proof is None:
        return verdict
    from limen.coq.forms import proved

    return proved(verdict, Path(proof))


def _in_order(task: TaskLike, architecture: StackLike) -> None:
    """The two arguments are easily swapped."""
    from limen.core.catalogue import ids

    if not isinstance(task, str) or not isinstance(architecture, str):
        return
    names = [text.split("(")[0].strip() for text in (task, architecture)]
    if names[1] in ids("tasks") or names[0] in ids("mixers"):
        raise BadInput(
            f"the task comes first, then the architecture: try limen decide {architecture!r} {task!r}"
        )
