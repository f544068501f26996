"""`limen machine` for people: the running time by length, and what the weights did."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.simulations import MachineReport


def lines_of(said: MachineReport) -> list[str]:
    """All of it."""
    margin = "none" if said.margin is None else f"{said.margin:.6g}"
    verdict = "right on every word: each was run" if said.right else "WRONG: the weights end elsewhere"
    return [
        f"{said.machine}: {said.states} states",
        f"{'digits':>6} {'steps':>7} {'cells':>7}   (the most of all words of that length)",
        *(f"{row.digits:6} {row.time:7,} {row.space:7,}" for row in said.times),
        "",
        f"by {said.architecture}, width {said.width}, {said.steps} steps of chain of thought, "
        f"{said.precision}",
        f"{said.tried:,} words: {said.wrong} wrong; margin of every token, argued: {margin}",
        verdict,
    ]
