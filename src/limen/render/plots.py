"""Charts of experiments, as Vega-Lite and as SVG files: accuracies of cells, learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import altair as alt

from limen.core.measurement import Outcome
from limen.render.svg import save_picture

if TYPE_CHECKING:
    from limen.commands.demo.sparse import SparseReport
    from limen.commands.demo.width import WidthReport
    from limen.training.experiment import Experiment
    from limen.training.judged import JudgedCell, Section
    from limen.training.run import RunResult

_PALETTE = ["#4269d0", "#d4572b", "#2f9e77", "#b8860b", "#a463c9", "#c2438a", "#5b8ea8", "#7a6a53"]
_PALETTE += ["#111111", "#9aa53c", "#8fb3e8", "#e0a08a"]
_BY_SOME = "learned, not with every seed"
_SHAPES = {
    Outcome.LEARNED: "learned",
    Outcome.NOT_LEARNED: "not learned in this budget",
    Outcome.NO_STATEMENT: "no statement",
}
_COLORS = {"floor": "#999", "ceiling": "#c00"}
_WIDTH, _HEIGHT = 560, 300
_FAR = 64  # times the least number: an axis of powers, on which distances are ratios


def section_chart(section: Section) -> dict[str, Any]:
    """What fits the experiment: its cells, or its models on other inputs."""
    if section.experiment.shifted:
        return shifts_chart(section.cells)
    return cells_chart(section)


def capacity_chart(report: SparseReport) -> dict[str, Any]:
    """What block-sparse attention may reach: accuracy over the bits of a message, a line a block size."""
    points = [
        {
            "B": f"B = {row.B}",
            "w": row.message_bits,
            "accuracy": 1.0 if row.accuracy is None else row.accuracy,
        }
        for row in report.rows
    ]
    lines = alt.Chart(alt.InlineData(values=points)).mark_line(point=True, strokeWidth=2)
    encoded = lines.encode(
        alt.X("w:Q", title="bits of a block's message", scale=alt.Scale(type="log", base=2)),
        alt.Y("accuracy:Q", title="highest accuracy", scale=alt.Scale(domain=[0.5, 1])),
        alt.Color("B:N", sort=None, title=None, scale=alt.Scale(range=_PALETTE)),
    )
    return _spec(encoded.properties(width=_WIDTH, height=_HEIGHT))


def width_chart(report: WidthReport) -> dict[str, Any]:
    """Numbers that a layer hands to a token, over n: the lower bound of one layer, and certified weights."""
    names = "one layer: lower bound", "one layer: weights", "two layers: weights"
    points = [
        {"n": row.n, "numbers": numbers, "of": name}
        for row in report.rows
        for name, numbers in zip(
            names, (row.needs_bits / report.p, row.one.numbers, row.two.numbers), strict=True
        )
    ]
    powers = alt.Scale(type="log", base=2)
    encoded = alt.Chart(alt.InlineData(values=points)).encode(
        alt.X("n:Q", title="n", scale=powers),
        alt.Y("numbers:Q", title=f"numbers of {report.p} bits that a layer hands to a token", scale=powers),
        alt.Color("of:N", sort=None, title=None, scale=alt.Scale(range=_PALETTE)),
        alt.StrokeDash("of:N", sort=None, title=None, scale=alt.Scale(range=[[4, 4], [1, 0], [1, 0]])),
    )
    lines = encoded.mark_line(point=True, strokeWidth=2)
    return _spec(lines.properties(width=_WIDTH, height=_HEIGHT))


def cells_chart(section: Section) -> dict[str, Any]:
    """The best start of each cell, its seeds as a bar; panels side by side, others' figures in the last."""
    experiment, cells = section.experiment, section.cells
    panels = dict.fromkeys(one.cell.panel for one in cells)
    parts = {name: [_point(experiment, one) for one in cells if one.cell.panel == name] for name in panels}
    mixed = len({_numbers(points) for points in parts.values()}) > 1  # the title is that of the numbers
    charts = [
        _panel(experiment, name, points, None if mixed and not _numbers(points) else experiment.x)
        for name, points in parts.items()
    ]
    charts += _beside(section)
    width = _WIDTH if len(charts) == 1 else 320
    if len(charts) == 1:
        return _spec(charts[0].properties(width=width, height=_HEIGHT))
    sized = [chart.properties(width=width, height=_HEIGHT) for chart in charts]
    return _spec(
        alt.ConcatChart(concat=sized, columns=2).resolve_scale(color="independent", shape="independent")
    )


def _panel(
    experiment: Experiment, title: str, points: Sequence[dict[str, Any]], axis: str | None
) -> alt.LayerChart:
    proved = [point for point in points if point["ceiling"] is not None]
    numbers = _numbers(points)
    places = _places(points, axis)
    base = alt.Chart(alt.InlineData(values=points)).encode(
        *places,
        alt.Color("series:N", sort=None, title=None, scale=alt.Scale(range=_PALETTE), legend=_legend()),
    )
    words = dict.fromkeys((*_SHAPES.values(), *(point["says"] for point in points)))
    shape = alt.Shape(
        "says:N",
        title=None,
        scale=alt.Scale(domain=[*words], range=["circle", "triangle-down", "diamond", "triangle-up"]),
        legend=alt.Legend(orient="bottom", symbolFillColor="#888", columns=2),
    )
    dots = base.mark_point(size=64, filled=True, opacity=1)
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(_y(experiment, "accuracy", bool(proved)))
    layers = [
        _ticks(experiment, points, places, "floor", bool(proved)),
        *([_ticks(experiment, points, places, "ceiling", True)] if proved else []),
        *([lines] if numbers else []),  # between names there is nothing
        base.mark_rule(strokeWidth=2).encode(_y(experiment, "low", bool(proved)), alt.Y2("high:Q")),
        dots.encode(_y(experiment, "accuracy", bool(proved)), shape),
    ]
    return alt.LayerChart(layer=layers, title=title or alt.Undefined)


def _beside(section: Section) -> list[alt.LayerChart]:
    """Others' figures on a dashed line beside ours, where both are there."""
    values = [
        {"series": row.at[0], "x": row.at[1], "whose": whose, "accuracy": accuracy}
        for row in section.published
        if row.at is not None and row.ours is not None
        for whose, accuracy in (("ours", row.ours), ("published", row.theirs))
    ]
    if not values:
        return []
    base = alt.Chart(alt.InlineData(values=values)).encode(
        alt.X("x:O", title=section.experiment.beside, axis=alt.Axis(labelAngle=0)),
        alt.Y("accuracy:Q", title="right", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1.02])),
        alt.Color("series:N", sort=None, title=None, scale=alt.Scale(range=_PALETTE), legend=_legend()),
    )
    whose = ["ours", "published"]
    lines = base.mark_line(strokeWidth=1.5, opacity=0.6).encode(
        alt.StrokeDash("whose:N", scale=alt.Scale(domain=whose, range=[[1, 0], [5, 4]]), legend=None)
    )
    dots = base.mark_point(size=64, opacity=1).encode(
        alt.Shape(
            "whose:N",
            title=None,
            scale=alt.Scale(domain=whose, range=["circle", "cross"]),
            legend=alt.Legend(orient="bottom", columns=2),
        )
    )
    return [alt.LayerChart(layer=[lines, dots], title="beside published figures")]


def shifts_chart(cells: Sequence[JudgedCell]) -> dict[str, Any]:
    """Each trained model on each distribution."""
    values = [
        {"series": one.cell.name, "inputs": name, "accuracy": accuracy}
        for one in cells
        for name, accuracy in {"as trained": one.best.mean, **one.shifts}.items()
    ]
    chart = alt.Chart(alt.InlineData(values=values)).encode(
        alt.X("inputs:N", sort=None, title=None, axis=alt.Axis(labelAngle=-25)),
        alt.Y("accuracy:Q", title="right", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
        alt.Color("series:N", sort=None, title=None, scale=alt.Scale(range=_PALETTE), legend=_legend()),
    )
    both = chart.mark_line(strokeWidth=1.5) + chart.mark_point(size=56, filled=True)
    return _spec(both.properties(width=_WIDTH, height=_HEIGHT))


def curves(runs: Sequence[RunResult]) -> dict[str, Any]:
    """Accuracy by step, a line a run."""
    values = [
        {"run": name, "step": step, "accuracy": accuracy}
        for run, name in zip(runs, _called(runs), strict=True)
        for step, _, accuracy in run.curve
    ]
    chart = alt.Chart(alt.InlineData(values=values)).mark_line(point=True)
    return _spec(
        chart.encode(
            alt.X("step:Q", title="step"),
            alt.Y("accuracy:Q", title="right", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])),
            alt.Color("run:N", title=None, scale=alt.Scale(range=_PALETTE), legend=_legend()),
        ).properties(width=_WIDTH, height=_HEIGHT)
    )


def _called(runs: Sequence[RunResult]) -> list[str]:
    """Each run by its stack and start, of several by its seed and rate."""
    if len(runs) == 1:
        return [f"{run.measurement.architecture}, {run.spec.start}" for run in runs]
    return [f"seed {run.spec.seed}, rate {run.spec.rate:g}" for run in runs]


def capacity_picture(report: SparseReport) -> str:
    """The same as SVG."""
    return _svg(capacity_chart(report))


def width_picture(report: WidthReport) -> str:
    """The same as SVG."""
    return _svg(width_chart(report))


def picture(spec: dict[str, Any], path: Path) -> None:
    """As an SVG, PNG or PDF file, by its ending."""
    save_picture(path, _svg(spec))


def _svg(spec: dict[str, Any]) -> str:
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(spec)
    return drawn


def _point(experiment: Experiment, one: JudgedCell) -> dict[str, Any]:
    best, floor, ceiling = one.best, one.floor, one.limits.ceiling
    shown = [_shown(experiment, value, floor) for value in (best.mean, min(best.values), max(best.values))]
    return {
        "x": one.cell.x,
        "series": one.cell.series,
        "accuracy": shown[0],
        "low": shown[1],
        "high": shown[2],
        "floor": _shown(experiment, floor, floor),
        "ceiling": None if ceiling is None else _shown(experiment, ceiling, floor),
        "says": _BY_SOME if one.outcome is Outcome.LEARNED and one.reached.some else _SHAPES[one.outcome],
    }


def _shown(experiment: Experiment, accuracy: float, floor: float) -> float:
    return (accuracy - floor) / (1 - floor) if experiment.above_floor else accuracy


def _ticks(
    experiment: Experiment, points: Sequence[dict[str, Any]], places: list[Any], name: str, proved: bool
) -> alt.Chart:
    """A tick at each cell: in grey what counting tokens reaches, in red what no weights exceed."""
    shown = [point for point in points if point[name] is not None]
    ticks = alt.Chart(alt.InlineData(values=shown)).mark_tick(
        color=_COLORS[name], thickness=2, size=16, orient="horizontal"
    )
    placed: alt.Chart = ticks.encode(*places, _y(experiment, name, proved))
    return placed


def _numbers(points: Sequence[dict[str, Any]]) -> bool:
    return all(isinstance(point["x"], int | float) for point in points)


def _far_apart(points: Sequence[dict[str, Any]]) -> bool:
    """Numbers for an axis of powers."""
    places = [point["x"] for point in points] if _numbers(points) else [1]
    return min(places) > 0 and max(places) >= _FAR * min(places)


def _places(points: Sequence[dict[str, Any]], title: str | None) -> list[Any]:
    """Where a cell stands; cells at one place stand side by side, each with its own floor and ceiling."""
    if _far_apart(points):
        powers = alt.Axis(values=[4**k for k in range(16)], format=",", grid=False)
        scale = alt.Scale(type="log", nice=False, padding=12)
        return [alt.X("x:Q", title=title, scale=scale, axis=powers)]
    aside = [alt.XOffset("series:N", sort=None)] if len({point["series"] for point in points}) > 1 else []
    if _numbers(points):
        return [alt.X("x:O", title=title, axis=alt.Axis(labelAngle=0, labelOverlap=True)), *aside]
    names = alt.Axis(labelAngle=-25, labelLimit=220)
    return [alt.X("x:N", sort=None, title=title, axis=names), *aside]


def _y(experiment: Experiment, name: str, proved: bool) -> alt.Y:
    red = ", red: proved ceiling" if proved else ""
    title = f"above the floor{red}" if experiment.above_floor else f"right (grey: the floor{red})"
    low = -0.1 if experiment.above_floor else 0
    return alt.Y(f"{name}:Q", title=title, axis=alt.Axis(format="%"), scale=alt.Scale(domain=[low, 1.02]))


def _legend() -> alt.Legend:
    return alt.Legend(orient="bottom", columns=2, labelLimit=320)


def _spec(chart: alt.Chart | alt.LayerChart | alt.ConcatChart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.configure_view(stroke=None).configure(background="white").to_dict()
    return spec
