"""In a notebook an answer is the page's own drawing: the one file in a frame, which holds what it shows."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from limen.commands._found import find
from limen.commands._page import drawn, shown
from limen.page.assemble import key, one_file
from limen.page.start import alone

if TYPE_CHECKING:
    from limen.commands.where import WhereReport

_HIGH = 780  # pixels of the frame
_POWERS = {2**k for k in range(4, 27)}  # the sizes of the slider
_FIRST = 2**17  # where the slider stands, unless another size was asked for


def where(report: WhereReport) -> str:
    """The card of one stack: verdict, bits and sizes on one axis, hops and memory."""
    own = [point.size for point in report.points if point.size not in _POWERS]  # with --at
    n = own[0] if own else _nearest(report)
    begin = alone(report.task, report.size, report.over, report.architecture, n)
    body: dict[str, Any] = {"task": report.task, "architecture": report.architecture}
    body |= {"over": report.over} if report.over else {}
    there = shown(find("where"), body | ({"at": n} if own else {}), report)
    depth = {"architecture": report.architecture}
    answers = {key("where", body | more): there for more in ({}, {"at": n})}  # wherever the slider stands
    answers[key("depth", depth)] = json.loads(drawn("depth", json.dumps(depth).encode()))
    page = escape(one_file(begin, answers).decode(), quote=True)
    frame = f'sandbox="allow-scripts" style="width:100%;height:{_HIGH}px;border:0"'
    return f'<iframe title="{escape(report.headline, quote=True)}" {frame} srcdoc="{page}"></iframe>'


def _nearest(report: WhereReport) -> int:
    """The size of the slider at which it is looked at first."""
    return min((point.size for point in report.points), key=lambda size: abs(size - _FIRST))
