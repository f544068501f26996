"""Find the cheapest layer stacks for some tasks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import CONTEXT, TaskLike
from limen.core import quantities
from limen.core.option import Option

if TYPE_CHECKING:
    from limen.designs import Design


@command(
    example='limen design --task eva --task "composition(m=2048,n1=32)" --context 131072',
    answers=(
        Shown(
            "limen.designs.report:DesignReport",
            "limen.render.design:lines_of",
            html="limen.render.notebook:stacks",
            picture="limen.render.front:front_picture",
        ),
    ),
)
def design(
    tasks: Annotated[
        Iterable[TaskLike],
        Option(
            "A task; may be repeated. A bare id means the largest instance that fits.",
            flag="--task",
            complete=_complete.entries("tasks"),
            own=True,
        ),
    ],
    context: Annotated[int, CONTEXT._replace(line=None)],
    layers: Annotated[int, Option("Number of layers.", least=1, most=512)] = 24,
    width: Annotated[int, Option("Width of the residual stream, a multiple of 64.")] = 2048,
    budget: Annotated[
        int | None,
        Option("Memory that one sequence may take: 512MiB, 2GB, 100000.", parse=quantities.memory),
    ] = None,
    kv_heads: Annotated[int, Option("KV heads that the query heads of a layer share.", least=1)] = 8,
    *,
    tell: Tell | None = None,
) -> Design:
    """Stacks with weights for every task come first, then those that no theorem rules out.
    Also says what becomes of nearby stacks. Exit 1 if nothing is left.
    """
    from limen.designs import Wish, design
    from limen.render.progress import steps_line

    wish = Wish.parse([str(task) for task in tasks], context, layers, width, budget, kv_heads)
    return design(wish, steps_line(tell is not None))
