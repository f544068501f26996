"""`limen solve` for people: the weights, what their run showed, and how little precision they need."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.solutions import Least, LeastReport, SolveReport

_MEANS = {
    "can": "CAN: right on every input, by the kernel's derivation",
    "every input run": "right on every input: each one was run, at this size and on this machine",
    "built, sampled": "OPEN: right on every input that was tried, which proves nothing about the others",
    "wrong": "WRONG: these weights do not solve the task in this precision",
}
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


def _row(row: Least) -> str:
    return f"{row.task:32} {row.works or '–':>24} {row.predicted or '–':>23}"
