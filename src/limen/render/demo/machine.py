"""`limen demo machine` for people: the running time by length, and what the weights did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.commands.demo.machine import MachineReport


def lines_of(said: MachineReport) -> list[str]:
    """All of it."""
    margin = "none" if said.margin is None else f"{said.margin:.6g}"
    verdict = (
        "right on every word; all of them were run"
        if said.right
        else "WRONG: on some words the model ends on a different symbol"
    )
    return [
        f"{said.machine}: {said.states} states",
        f"{'digits':>6} {'steps':>7} {'cells':>7}   (maximum over all words of that length)",
        *(f"{row.digits:6} {row.time:7,} {row.space:7,}" for row in said.times),
        "",
        f"by {said.architecture}, width {said.width}, {said.steps} steps of chain of thought, "
        f"{said.precision}",
        f"{said.tried:,} words: {said.wrong} wrong; margin of every token, argued but not checked: {margin}",
        verdict,
    ]
