"""Show where a construction looks on one input, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import Seed, Task, task_of
from limen.core.option import Option

if TYPE_CHECKING:
    from limen.solutions.look import LookReport


@command(
    example='limen look "eva(n=4)" --input "1 0 3 2 2"',
    answers=(
        Shown(
            "limen.solutions.look:LookReport",
            "limen.render.look:lines_of",
            html="limen.render.look:in_notebook",
            picture="limen.render.picture:attention_picture",
        ),
    ),
)
def look(
    task: Task,
    tokens: Annotated[
        str | None, Option("Its token ids, such as 1 0 3 2 2. Default: a hard input.", flag="--input")
    ] = None,
    by: Annotated[
        str | None,
        Option("Its id, or the part after _by_.", complete=_complete.constructions, own=True),
    ] = None,
    seed: Seed = 0,
) -> LookReport:
    """The weights of every softmax head, position by position; the picture draws them."""
    from limen.core.construction import construct
    from limen.solutions.look import look

    return look(construct(task_of(task), by), seed, tokens)
