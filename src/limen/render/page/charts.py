"""The charts of the report, as Vega-Lite; colours of axes and text come from the page when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import msgspec

from limen.render.exchange import COLOURS

if TYPE_CHECKING:
    from limen.conversation.play import CountedMessage
    from limen.tables.curves import BitsPoint, PrecisionPoint

_PHONE = "containerSize()[0] < 500"  # not `width`, which shrinks while axes are laid out
_COLUMNS = alt.ExprRef(f"{_PHONE} ? 1 : 3")  # of a legend: on a phone one below the other
_LINES = f"{_PHONE} ? split(datum.label, ', ') : datum.label"  # of a legend: on a phone a line a name
_GAPS = alt.Scale(paddingInner=0.12, paddingOuter=0.06)
_ALIKE = 1.15  # lines that are nearer than this share one
_PALETTE = ["#4269d0", "#d4572b", "#2f9e77", "#b8860b", "#a463c9", "#c2438a", "#5b8ea8", "#7a6a53"]


def bits(points: Sequence[BitsPoint]) -> dict[str, Any]:
    """What a task needs against what each architecture holds; a menu chooses the task."""
    tasks = list(dict.fromkeys(p.task for p in points))
    chosen = alt.param(name="task", value=tasks[0], bind=alt.binding_select(options=tasks, name="Task "))
    base = alt.Chart(_data(_together(points))).transform_filter("datum.task == task")
    n = alt.X(
        "n:Q",
        scale=alt.Scale(type="log", base=2),
        title="n, the size of the task (logarithmic)",
        axis=alt.Axis(
            values=[2**k for k in range(4, 26, 3)],
            labelExpr="'2^' + round(log(datum.value) / log(2))",
            labelSeparation=6,
        ),
    )
    bits_ = alt.Scale(type="log")
    held = base.mark_line(strokeWidth=2.5).encode(
        n,
        alt.Y("has:Q", scale=bits_, title="bits (logarithmic)", axis=alt.Axis(format="~s", tickCount=8)),
        alt.Color(
            "row:N",
            title="bits held by",
            scale=alt.Scale(range=_PALETTE),
            legend=alt.Legend(orient="bottom", columns=_COLUMNS, labelLimit=0, labelExpr=_LINES),
        ),
        tooltip=[
            alt.Tooltip("row:N", title="architecture"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("has:Q", title="bits held", format=","),
            "theorem:N",
        ],
    )
    needed = base.mark_line(strokeWidth=3, strokeDash=[6, 4], color="#888").encode(
        n,
        alt.Y("needs:Q", scale=bits_),
        alt.Detail("theorem:N"),
        tooltip=[
            alt.Tooltip("theorem:N"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("needs:Q", title="bits needed", format=","),
        ],
    )
    return _spec((needed + held).add_params(chosen), 340)


def _together(points: Sequence[BitsPoint]) -> list[dict[str, Any]]:
    """Rows whose lines nobody could tell apart share one, at the largest of them."""
    lines: dict[tuple[str, str], dict[int, BitsPoint]] = {}
    for p in points:
        lines.setdefault((p.task, p.row), {})[p.n] = p
    groups: list[list[tuple[str, dict[int, BitsPoint]]]] = []
    for (_, row), line in lines.items():
        near = next((group for group in groups if _near(group[0][1], line)), None)
        if near is None:
            groups.append([(row, line)])
        else:
            near.append((row, line))
    return [
        msgspec.to_builtins(p)
        | {"row": ", ".join(row for row, _ in group), "has": max(line[n].has for _, line in group)}
        for group in groups
        for n, p in group[0][1].items()
    ]


def _near(one: dict[int, BitsPoint], other: dict[int, BitsPoint]) -> bool:
    """Whether both are about one task, and what is held and needed differs by a few per cent at every n."""
    pairs = [(one[n], other[n]) for n in one if n in other]
    return (
        len(pairs) == len(one) == len(other)
        and all(a.task == b.task for a, b in pairs)
        and all(_alike(a.has, b.has) and _alike(a.needs, b.needs) for a, b in pairs)
    )


def _alike(one: int, other: int) -> bool:
    return max(one, other) <= _ALIKE * min(one, other)


def precision(points: Sequence[PrecisionPoint]) -> dict[str, Any]:
    """How many significant bits weights need before they are right: one row for each construction."""
    rows = [msgspec.to_builtins(p) | {"right": round(100 * p.accuracy)} for p in points]
    base = alt.Chart(_data(rows)).encode(
        alt.X(
            "bits:O",
            title="significant bits",
            axis=alt.Axis(labelAngle=0, ticks=False, labelOverlap="parity", labelSeparation=4),
        ),
        alt.Y(
            "construction:N", sort=None, title=None, scale=_GAPS, axis=alt.Axis(labelLimit=190, ticks=False)
        ),
        tooltip=[
            "task:N",
            "construction:N",
            "bits:Q",
            alt.Tooltip("accuracy:Q", title="right", format=".0%"),
            alt.Tooltip("argued:N", title="argued for every input"),
        ],
    )
    colour = alt.Color("right:Q", scale=alt.Scale(domain=[0, 100], range=["#e9edf7", "#4269d0"]), legend=None)
    framed = alt.condition("datum.argued", alt.value("#b8860b"), alt.value("transparent"))
    fields = base.mark_rect(strokeWidth=2, cornerRadius=3).encode(colour, stroke=framed)
    white = alt.condition("datum.right > 60", alt.value("#fff"), alt.value("#1d2127"))
    figures = base.mark_text(fontSize=11, opacity=alt.ExprRef("width < 300 ? 0 : 1")).encode(
        alt.Text("right:Q"), color=white
    )
    return _spec(fields + figures, 300)


def messages(sent: Sequence[CountedMessage]) -> dict[str, Any]:
    """Bits of each message, and how many the theorem counts."""
    rows = [
        {
            "message": f"layer {m.layer}: {m.sender} → {m.receiver}",
            "what": m.what,
            "bits": m.bits,
            "most": m.bits_formula,
        }
        for m in sent
    ]
    kinds = [kind for kind in COLOURS if any(m.what == kind for m in sent)]
    base = alt.Chart(_data(rows)).encode(
        alt.Y("message:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
    )
    bars = base.mark_bar(cornerRadiusEnd=3).encode(
        alt.X("bits:Q", title="bits (linear)"),
        alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values())),
            legend=alt.Legend(orient="bottom", columns=_COLUMNS, values=kinds),
        ),
        tooltip=[
            "message:N",
            "what:N",
            alt.Tooltip("bits:Q", title="sent"),
            alt.Tooltip("most:Q", title="allowed"),
        ],
    )
    most = base.mark_tick(thickness=3, size=18, color="#888").encode(alt.X("most:Q"))
    return _spec(bars + most, 26 * len(rows))


def _data(values: Any) -> alt.InlineData:
    return alt.InlineData(values=values)


def _spec(chart: alt.Chart | alt.LayerChart, height: int) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    spec["background"] = None
    return spec
