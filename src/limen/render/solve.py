"""`limen solve` for people: the weights, what their run showed, and how little precision they need."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from limen.core.quantities import plural
from limen.render.svg import circle, drawn, line, rect, text

if TYPE_CHECKING:
    from limen.solutions import FrontierReport, Least, LeastReport, RangeReport, SolveReport

_MEANS = {
    "can": "CAN: right on every input, by the kernel's derivation",
    "every input run": "right on every input: each one was run, at this size and on this machine",
    "built, sampled": "OPEN: right on every input that was tried, which proves nothing about the others",
    "wrong": "WRONG: these weights do not solve the task in this precision",
}
_STYLE = ".axis{stroke:#999}.seen{fill:#d4572b}.proof{fill:none;stroke:#4269d0;stroke-width:1.5}"
_DARK = ".axis{stroke:#777}.seen{fill:#ff9b73}.proof{stroke:#8fb3e8}"
_UNITS = {"precision": "significant bits", "width": "columns"}


def lines_of(said: SolveReport) -> list[str]:
    """All of it."""
    tried = f"all {said.tried:,} inputs" if said.exhaustive else f"{said.tried:,} inputs, half of them hard"
    thought = f", {said.steps} steps of chain of thought" if said.steps else ""
    margin = inf if said.margin is None else said.margin
    return [
        f"{said.task} by {said.construction}, {said.precision}",
        f"{plural(said.layers, 'layer')}, {plural(said.heads, 'head')} of size {said.head_dim}, "
        f"width {said.width}{thought}",
        f"{tried}: {said.wrong} wrong; smallest margin {margin:.6g}",
        f"every input: {_certified(said)}",
        _MEANS[said.standing],
    ]


def _certified(said: SolveReport) -> str:
    if said.certified is not None:
        return f"margin at least {said.certified:.6g}, derived from the weights"
    if said.predicted is not None:
        return f"margin at least {said.predicted:.6g}, argued but not checked"
    return "no margin is certified"


def least_lines(said: LeastReport) -> list[str]:
    """A line a size."""
    return [
        f"{said.construction}: the fewest {_UNITS[said.smallest]} that suffice",
        "",
        f"{'':32} no error on tried inputs   every input, by proof",
        *map(_row, said.rows),
    ]


def frontier_lines(said: FrontierReport) -> list[str]:
    """A line a width."""
    head = f"{said.task} by {said.construction}: fewest significant bits at each width of the code"
    rows = [f"{row.width:>6} {row.works or '–':>22} {row.predicted or '–':>23}" for row in said.rows]
    return [head, "", f"{'width':>6} {'no error in tests':>22} {'every input, by proof':>23}", *rows]


def frontier_picture(said: FrontierReport) -> str:
    """Width to the right, significant bits upwards: points where nothing tried is wrong, a line by proof."""
    left, top, w, h = 60, 70, 520, 260
    widest, bits = max(row.width for row in said.rows), 12
    body = [text(12, 22, f"{said.task} by {said.construction}", class_="title")]
    body.append(text(12, 40, "points: no error in tests; squares: every input, by proof"))
    body += [
        line(left, top + h, left + w, top + h, class_="axis"),
        line(left, top, left, top + h, class_="axis"),
    ]
    for row in said.rows:
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


def range_lines(said: RangeReport) -> list[str]:
    """A line a format: how far, and what ends it."""
    lines = [f"{said.construction}: the largest power of two for {said.size} that the kernel certifies", ""]
    for row in said.rows:
        far = "none" if row.log2_size is None else f"{said.size} = 2^{row.log2_size}"
        then = "no larger size was tried" if row.then is None else f"beyond: {row.then}"
        lines.append(f"{row.precision:10} {far:12} {then}")
    return lines


def _row(row: Least) -> str:
    return f"{row.task:32} {row.works or '–':>24} {row.predicted or '–':>23}"
