"""Count the hops that a stack can chain in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from limen.commands._command import Shown, command
from limen.commands._words import THOUGHT, Stack, stack_of
from limen.core.option import Option

if TYPE_CHECKING:
    from limen.decisions.depths import DepthReport


@command(
    example='limen depth "12*(3*linear(h=16,d=128),softmax(h=16,d=128))"',
    answers=(
        Shown(
            "limen.decisions.depths:DepthReport",
            "limen.render.depth:lines_of",
            page="limen.render.depth:page_of",
        ),
    ),
)
def depth(
    architecture: Stack,
    steps: Annotated[int, Option("Steps of chain of thought.", least=0, most=THOUGHT)] = 0,
) -> DepthReport:
    """Hops are weights that exist, not a promise about a trained model. Also says which layers they need,
    and from which length on one more hop is proved impossible.
    """
    from limen.decisions.depths import depth

    return depth(stack_of(architecture), steps)
