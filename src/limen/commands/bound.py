"""Say what every architecture needs for a task.

>>> import limen
>>> limen.bound(lambda tokens: tokens[tokens[-1]], alphabet=3, length=4).rows
27
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import TaskLike
from limen.core.option import Argument, Option
from limen.errors import BadInput

if TYPE_CHECKING:
    from limen.bounds.bound import BoundReport
    from limen.bounds.function import Answering

    Target = TaskLike | Answering
else:
    Target = str


@command(
    example='limen bound "two_sum(n=1024,M=4096)"',
    answers=(
        Shown(
            "limen.bounds.bound:BoundReport",
            "limen.render.bound:lines_of",
            forms={"latex": "limen.render.latex:bound", "theorem": "limen.render.theorem:theorem"},
        ),
    ),
)
def bound(
    target: Annotated[
        Target,
        Argument(
            "A task, or a Python function of your own: FILE.py:NAME.",
            complete=_complete.entries("tasks"),
            reads=True,
        ),
    ],
    cut: Annotated[
        int | None,
        Option("How many tokens come before the cut. Default: the task's own, a function's widest."),
    ] = None,
    *,
    alphabet: Annotated[
        int | None, Option("For a function: the number of token ids, 0 to alphabet-1.")
    ] = None,
    length: Annotated[int | None, Option("For a function: the number of tokens of an input.")] = None,
    seconds: Annotated[float, Option("For a function: how many seconds it may run.", least=0.1)] = 60.0,
) -> BoundReport:
    """For a function of your own the answer comes from its communication matrix."""
    from limen.bounds.bound import bound, bound_here, bound_of
    from limen.core.task import Task

    if isinstance(target, str):
        return bound_of(target, cut, alphabet, length, seconds)
    if not isinstance(target, Task):
        return bound_here(target, cut, alphabet, length)
    if (alphabet, length) != (None, None):
        raise BadInput("alphabet and length are for functions; a task has its own")
    return bound(target, cut)
