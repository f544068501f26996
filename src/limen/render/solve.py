"""`limen solve` for people: the weights, what their run showed, and how little precision they need."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from limen.core.quantities import plural

if TYPE_CHECKING:
    from limen.solutions import Least, LeastReport, RangeReport, SolveReport

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
        f"{tried}: {said.wrong} wrong; least margin {margin:.6g} seen, {_certified(said)}",
        _MEANS[said.standing],
    ]


def _certified(said: SolveReport) -> str:
    if said.certified is not None:
        return f"at least {said.certified:.6g} on every input, derived from the weights"
    if said.predicted is not None:
        return f"at least {said.predicted:.6g} on every input is argued, not checked"
    return "none certified"


def least_lines(said: LeastReport) -> list[str]:
    """A line a size."""
    return [
        f"{said.construction}: fewest {_UNITS[said.smallest]} from which on",
        "",
        f"{'':32} nothing tried is wrong   every input, by proof",
        *map(_row, said.rows),
    ]


def range_lines(said: RangeReport) -> list[str]:
    """A line a format: how far, and what ends it."""
    lines = [f"{said.construction}: certified by the kernel at powers of two of {said.size}, up to", ""]
    for row in said.rows:
        far = "none" if row.log2_size is None else f"{said.size} = 2^{row.log2_size}"
        then = "no larger one was tried" if row.then is None else f"beyond: {row.then}"
        lines.append(f"{row.precision:10} {far:12} {then}")
    return lines


def _row(row: Least) -> str:
    return f"{row.task:32} {row.works or '–':>22} {row.predicted or '–':>23}"
