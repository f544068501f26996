"""Show the numbers behind the page's pictures.

Bits needed and held as n grows, for the rows of the table; hops of stacks; how little precision is enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.core.option import Option

if TYPE_CHECKING:
    from limen.tables.curves import Curves


@command(
    example="limen demo pictures --column eva",
    answers=(
        Shown(
            "limen.tables.curves:Curves",
            "limen.render.demo.pictures:lines_of",
            page="limen.render.demo.pictures:page_of",
        ),
    ),
)
def pictures(
    columns: Annotated[
        Iterable[str],
        Option("Only the column with this id; may be repeated.", flag="--column", complete=_complete.columns),
    ] = (),
) -> Curves:
    """Weights are run at few significant bits; everything else is computed from sizes."""
    from limen.tables.build import named_columns
    from limen.tables.curves import curves

    return curves(named_columns(columns))
