"""`limen protocol --decompose` for people: the sets of the proof, level by level, and the pair."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.adversary.decomposition import Fixing, LevelEnd
    from limen.decompositions import DecomposeReport


def lines_of(said: DecomposeReport) -> list[str]:
    """All of it."""
    lines = [f"{said.task} by {said.architecture}, in {said.arithmetic}"]
    for level in said.levels:
        steps = [step for step in said.steps if step.level == level.level]
        lines += ["", *_level(level, steps, last=level is said.levels[-1])]
    if said.pair is None:
        rounds = "all tables were seen" if said.levels[-1].exhaustive else f"{said.rounds} rounds"
        none = f"no pair found ({rounds}, {said.seconds:.0f} s): this says nothing about the model"
        return [*lines, "", none]
    left, right = said.pair
    answers = f"{left.answer} and {right.answer}"
    return [
        *lines,
        "",
        f"two inputs with different answers, {answers}, and identical messages:",
        f"  {left.text}",
        f"  {right.text}",
    ]


def _level(level: LevelEnd, steps: list[Fixing], last: bool) -> list[str]:
    seen = "all there are" if level.exhaustive else "random ones"
    lines = [f"level {level.level}: {level.tables:,} tables z_{level.level}, {seen}"]
    for step in steps:
        classes = "1 class" if step.classes == 1 else f"{step.classes:,} classes"
        alike = f"{step.after:,} of {step.before:,} get identical messages"
        lost = f"{log2(step.before / step.after):.1f} bits, at most {step.bits:,}"
        lines.append(f"  layer {step.layer}, {step.what}: {classes}; {alike}: {lost}")
    what = "of its entries can be asked for" if last else "of its values are reached"
    return [*lines, f"  {level.left:,} left, {level.chosen} chosen; {level.reached} {what}"]
