"""`limen look` for people: the input, the answer, and where the token that answers looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.core.renderers import as_it_stands
from limen.render.picture import attention_picture

if TYPE_CHECKING:
    from limen.model.attention import HeadMap
    from limen.solutions.look import LookReport

_SHOWN = 8  # heads that are told of
_FAINT = 0.005  # weights below it round to 0.00


def lines_of(report: LookReport) -> list[str]:
    """All of it but the weights of the earlier tokens, which only the picture has."""
    answered = "which is right" if report.correct else f"but {report.right} is right"
    lines = [
        f"{report.task} by {report.construction}",
        f"  input    {report.read}",
        f"  answers  {report.given}, {answered}",
    ]
    if len(report.maps) == 0:
        return [*lines, "  no layer of it is softmax attention, so there are no weights to show"]
    lines += ["", "the last token looks at, by position from 0:"]
    lines += [
        f"  {one.title}: {_looks(one, report.tokens + report.thoughts)}" for one in report.maps[:_SHOWN]
    ]
    more = len(report.maps) - _SHOWN
    return [*lines, *([f"  and {more} more heads"] if more > 0 else [])]


def _looks(head: HeadMap, tokens: tuple[int, ...]) -> str:
    """The places that the last token looks at, the heaviest first."""
    seen = sorted(enumerate(head.weights[-1]), key=lambda place: (-place[1], place[0]))
    told = [f"{at} ({tokens[at]}) {weight:.2f}" for at, weight in seen[:4] if weight >= _FAINT]
    return ", ".join(told) or "nothing in particular"


def in_notebook(report: LookReport) -> str:
    return attention_picture(report) + as_it_stands(lines_of(report))
