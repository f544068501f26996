"""`limen solve` for people: the weights, what their run showed, and how little precision they need."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.render.svg import circle, drawn, line, rect, text

if TYPE_CHECKING:
    from limen.solutions.range import RangeReport
    from limen.solutions.run import SolveReport
    from limen.solutions.smallest import FrontierReport, Least, LeastReport

_MEANS = {
    "can": "CAN: right on every input, by the kernel's derivation",
    "every input run": "right on every input: each one was run, at this size and on this machine",
    "built, sampled": "OPEN: right on every input that was tried, which proves nothing about the others",
    "wrong": "WRONG: these weights do not solve the task in this precision",
}
_STYLE = ".axis{stroke:#999}.seen{fill:#d4572b}.proof{fill:none;stroke:#4269d0;stroke-width:1.5}"
_DARK = ".axis{stroke:#777}.seen{fill:#ff9b73}.proof{stroke:#8fb3e8}"
_UNITS = {"precision": "significant bits", "width": "columns"}


def lines_of(report: SolveReport) -> list[str]:
    """All of it."""
    tried = (
        f"all {report.tried:,} inputs" if report.exhaustive else f"{report.tried:,} inputs, half of them hard"
    )
    thought = f", {report.steps} steps of chain of thought" if report.steps else ""
    margin = inf if report.margin is None else report.margin
    return [
        f"{report.task} by {report.construction}, {report.precision}",
        f"{plural(report.layers, 'layer')}, {plural(report.heads, 'head')} of size {report.head_dim}, "
        f"width {report.width}{thought}",
        f"{tried}: {report.wrong} wrong; smallest margin {margin:.6g}",
        f"every input: {_certified(report)}",
        _MEANS[report.standing],
    ]


def _certified(report: SolveReport) -> str:
    if report.certified is not None:
        return f"margin at least {report.certified:.6g}, derived from the weights"
    if report.predicted is not None:
        return f"margin at least {report.predicted:.6g}, argued but not checked"
    return "no margin is certified"


def least_lines(report: LeastReport) -> list[str]:
    """A line a size."""
    return [
        f"{report.construction}: the fewest {_UNITS[report.smallest]} that suffice",
        "",
        f"{'':32} no error on tried inputs   every input, by proof",
        *map(_row, report.rows),
    ]


def frontier_lines(report: FrontierReport) -> list[str]:
    """A line a width."""
    head = f"{report.task} by {report.construction}: fewest significant bits at each width of the code"
    rows = [f"{row.width:>6} {row.works or '–':>22} {row.predicted or '–':>23}" for row in report.rows]
    return [head, "", f"{'width':>6} {'no error in tests':>22} {'every input, by proof':>23}", *rows]


def frontier_picture(report: FrontierReport) -> str:
    """Width to the right, significant bits upwards: points where nothing tried is wrong, a line by proof."""
    left, top, w, h = 60, 70, 520, 260
    widest, bits = max(row.width for row in report.rows), 12
    body = [text(12, 22, f"{report.task} by {report.construction}", class_="title")]
    body.append(text(12, 40, "points: no error in tests; squares: every input, by proof"))
    body += [
        line(left, top + h, left + w, top + h, class_="axis"),
        line(left, top, left, top + h, class_="axis"),
    ]
    for row in report.rows:
        x = left + w * row.width / widest
        body.append(text(x, top + h + 16, row.width, text_anchor="middle"))
        if row.works:
            body.append(circle(x, top + h - h * row.works / bits, 4, class_="seen"))
        if row.predicted:
            body.append(rect(x - 4, top + h - h * row.predicted / bits - 4, 8, 8, class_="proof"))
    for t in range(2, bits + 1, 2):
        body.append(text(left - 8, top + h - h * t / bits + 4, t, text_anchor="end"))
    body += [text(left + w, top + h + 34, "width of the code", text_anchor="end"), text(12, top - 10, "bits")]
    return drawn(left + w + 30, top + h + 50, body, _STYLE, _DARK)


def range_lines(report: RangeReport) -> list[str]:
    """A line a format: how far, and what ends it."""
    lines = [
        f"{report.construction}: the largest power of two for {report.size} that the kernel certifies",
        "",
    ]
    for row in report.rows:
        far = "none" if row.log2_size is None else f"{report.size} = 2^{row.log2_size}"
        then = "no larger size was tried" if row.then is None else f"beyond: {row.then}"
        lines.append(f"{row.precision:10} {far:12} {then}")
    return lines


def _row(row: Least) -> str:
    return f"{row.task:32} {row.works or '–':>24} {row.predicted or '–':>23}"
