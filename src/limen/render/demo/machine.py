"""`limen demo machine` for people: the running time by length, and what the weights did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.machine import MachineReport


def lines_of(report: MachineReport) -> list[str]:
    """All of it."""
    margin = "none" if report.margin is None else f"{report.margin:.6g}"
    verdict = (
        "right on every word; all of them were run"
        if report.right
        else "WRONG: on some words the model ends on a different symbol"
    )
    return [
        f"{report.machine}: {report.states} states",
        f"{'digits':>6} {'steps':>7} {'cells':>7}   (maximum over all words of that length)",
        *(f"{row.digits:6} {row.time:7,} {row.space:7,}" for row in report.times),
        "",
        f"by {report.architecture}, width {report.width}, {report.steps} steps of chain of thought, "
        f"{report.precision}",
        f"{report.tried:,} words: {report.wrong} wrong; "
        f"margin of every token, argued but not checked: {margin}",
        verdict,
    ]
