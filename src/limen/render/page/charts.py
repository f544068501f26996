"""The charts of the report, as Vega-Lite; colours of axes and text come from the page when it is opened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import altair as alt
import msgspec

if TYPE_CHECKING:
    from limen.conversation.play import CountedMessage
    from limen.tables.curves import BitsPoint, HopsPoint, PrecisionPoint

_COLUMNS = alt.ExprRef("width < 480 ? 1 : 3")  # of a legend: on a phone one below the other
_PALETTE = ["#4269d0", "#d4572b", "#2f9e77", "#b8860b", "#a463c9", "#c2438a", "#5b8ea8", "#7a6a53"]


def bits(points: Sequence[BitsPoint]) -> dict[str, Any]:
    """What a task needs against what each architecture holds; a menu chooses the task."""
    tasks = list(dict.fromkeys(p.task for p in points))
    chosen = alt.param(name="task", value=tasks[0], bind=alt.binding_select(options=tasks, name="Task "))
    base = alt.Chart(_data(msgspec.to_builtins(points))).transform_filter("datum.task == task")
    n = alt.X(
        "n:Q",
        scale=alt.Scale(type="log", base=2),
        title="n, the length of what is asked about",
        axis=alt.Axis(
            values=[2**k for k in range(4, 26, 3)], labelExpr="'2^' + round(log(datum.value) / log(2))"
        ),
    )
    bits_ = alt.Scale(type="log")
    held = base.mark_line(strokeWidth=2).encode(
        n,
        alt.Y("has:Q", scale=bits_, title="bits", axis=alt.Axis(format="~s", tickCount=8)),
        alt.Color(
            "row:N",
            title="holds",
            scale=alt.Scale(range=_PALETTE),
            legend=alt.Legend(orient="bottom", columns=3),
        ),
        tooltip=[
            alt.Tooltip("row:N"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("has:Q", title="holds", format=","),
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
            alt.Tooltip("needs:Q", title="needed", format=","),
        ],
    )
    return _spec((needed + held).add_params(chosen), 340)


def precision(points: Sequence[PrecisionPoint]) -> dict[str, Any]:
    """How many significant bits weights need before they are right."""
    standing = {True: {"standing": "argued for every input"}, False: {"standing": "tried"}}
    base = alt.Chart(_data([msgspec.to_builtins(p) | standing[p.argued] for p in points])).encode(
        alt.X(
            "bits:Q",
            title="significant bits of every operation",
            scale=alt.Scale(domain=[1, 12], nice=False),
            axis=alt.Axis(tickCount=12),
        ),
        alt.Y("accuracy:Q", title="right", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1.02])),
        alt.Color(
            "construction:N",
            title=None,
            scale=alt.Scale(range=_PALETTE),
            legend=alt.Legend(orient="bottom", columns=2),
        ),
        tooltip=["task:N", "construction:N", "bits:Q", alt.Tooltip("accuracy:Q", format=".0%"), "standing:N"],
    )
    dots = base.mark_point(size=46, filled=True).encode(
        alt.Opacity(
            "standing:N",
            scale=alt.Scale(domain=["tried", "argued for every input"], range=[0.35, 1]),
            legend=None,
        )
    )
    return _spec(base.mark_line(strokeWidth=2, opacity=0.7) + dots, 320)


def hops(points: Sequence[HopsPoint]) -> dict[str, Any]:
    """The hierarchy as a picture: hops of one pass against layers with softmax heads."""
    order = list(dict.fromkeys(p.stack for p in points))
    base = alt.Chart(_data(msgspec.to_builtins(points))).encode(
        alt.X("full:O", title="layers with softmax heads", axis=alt.Axis(labelAngle=0)),
        alt.Y("hops:Q", title="hops in one pass", axis=alt.Axis(tickMinStep=1)),
        alt.Color(
            "stack:N",
            sort=order,
            title=None,
            scale=alt.Scale(range=_PALETTE),
            legend=alt.Legend(orient="bottom", columns=2),
        ),
        alt.XOffset("stack:N", sort=order),
        tooltip=["stack:N", "full:O", "hops:Q"],
    )
    return _spec(base.mark_bar(cornerRadiusEnd=3), 300)


def messages(said: Sequence[CountedMessage]) -> dict[str, Any]:
    """Bits of each message, and how many the theorem counts."""
    rows = [
        {
            "message": f"layer {m.layer}: {m.sender} → {m.receiver}",
            "what": m.what,
            "bits": m.bits,
            "most": m.bits_formula,
        }
        for m in said
    ]
    base = alt.Chart(_data(rows)).encode(
        alt.Y("message:N", sort=None, title=None, axis=alt.Axis(labelLimit=260)),
    )
    said = base.mark_bar(cornerRadiusEnd=3).encode(
        alt.X("bits:Q", title="bits"),
        alt.Color(
            "what:N",
            title=None,
            scale=alt.Scale(range=_PALETTE),
            legend=alt.Legend(orient="bottom", columns=_COLUMNS),
        ),
        tooltip=[
            "message:N",
            "what:N",
            alt.Tooltip("bits:Q", title="said"),
            alt.Tooltip("most:Q", title="allowed"),
        ],
    )
    most = base.mark_tick(thickness=3, size=18, color="#888").encode(alt.X("most:Q"))
    return _spec(said + most, 26 * len(rows))


def _data(values: Any) -> alt.InlineData:
    return alt.InlineData(values=values)


def _spec(chart: alt.Chart | alt.LayerChart, height: int) -> dict[str, Any]:
    spec: dict[str, Any] = chart.properties(width="container", height=height).to_dict()
    spec["background"] = None
    return spec
