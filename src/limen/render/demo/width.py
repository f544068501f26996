"""`limen demo width` for people: how wide one softmax layer must be, and how wide two."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.width import Layers, WidthReport, WidthRow


def lines_of(report: WidthReport) -> list[str]:
    """All of it."""
    last = report.rows[-1]
    return [
        f"numbers of {report.p} bits that a softmax layer hands to a token, H(d+2), in the widest layer",
        "",
        f"{'n':>6} {'bits needed':>12} {'one layer':>10} {'one layer':>10} {'its bits /':>11} "
        f"{'two layers':>11}",
        f"{'':>6} {'':>12} {'at least':>10} {'CAN':>10} {'needed':>11} {'CAN':>11}",
        *(_row(row, report.p) for row in report.rows),
        "",
        f"bits needed by {last.theorem}; with fewer numbers than `at least` one layer CANNOT",
        *(_ruled(row) for row in report.rows[-1:] if row.ruled_out),
        *(f"  {line}" for line in _layers("one layer", last.one)),
        *(f"  {line}" for line in _layers("two layers", last.two)),
        "",
        *_says(report),
    ]


def _says(report: WidthReport) -> list[str]:
    """What the table shows, or which weights are not certified and why."""
    if uncertified := list(map(_why, _uncertified(report))):
        return ["NOT ALL WEIGHTS ARE CERTIFIED, so the exit code is 1:", *uncertified]
    ratios = sorted((row.n, row.factor(report.p)) for row in report.rows)
    (n, low), (N, high) = ratios[0], ratios[-1]
    if n == N:
        return ["one size does not show how they grow"]
    return [
        f"one layer grows like the bits needed: its bits are {low:.1f} times those at n = {n:,}, "
        f"{high:.1f} times at n = {N:,}",
        "two layers grow with the logarithm of n, or not at all",
    ]


def _uncertified(report: WidthReport) -> list[tuple[int, str, Layers]]:
    every = [(row.n, *of) for row in report.rows for of in (("one layer", row.one), ("two layers", row.two))]
    return [(n, name, layers) for n, name, layers in every if layers.verdict != "can"]


def _why(weights: tuple[int, str, Layers]) -> str:
    n, name, layers = weights
    return f"* n = {n:,}, {name}: {layers.verdict.upper()}, {layers.by}"


def _row(row: WidthRow, p: int) -> str:
    one, two = (
        f"{layers.numbers:,}{'' if layers.verdict == 'can' else '*'}" for layers in (row.one, row.two)
    )
    return f"{row.n:6,} {row.needs_bits:12,} {row.least:10,} {one:>10} {row.factor(p):11.1f} {two:>11}"


def _ruled(row: WidthRow) -> str:
    return f"  {row.task}: CANNOT by {row.ruled_out}"


def _layers(name: str, layers: Layers) -> list[str]:
    """Whose weights they are; why there are none is said below."""
    by = [f"  {layers.by}"] if layers.verdict == "can" else []
    return [f"{name}: {layers.verdict.upper()} by {layers.architecture}", *by]
