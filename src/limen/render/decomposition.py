"""`limen protocol --decompose` for people: the sets of the proof, level by level, and the pair."""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from limen.adversary.decompose import DecomposeReport
    from limen.adversary.strategies.decomposition import Fixing, LevelEnd


def lines_of(report: DecomposeReport) -> list[str]:
    """All of it."""
    lines = [f"{report.task} by {report.architecture}, in {report.arithmetic}"]
    for level in report.levels:
        steps = [step for step in report.steps if step.level == level.level]
        lines += ["", *_level(level, steps, last=level is report.levels[-1])]
    if report.pair is None:
        rounds = "all tables were seen" if report.levels[-1].exhaustive else f"{report.rounds} rounds"
        none = f"no pair found ({rounds}, {report.seconds:.0f} s): this says nothing about the model"
        return [*lines, "", none]
    left, right = report.pair
    answers = f"{left.answer} and {right.answer}"
    return [
        *lines,
        "",
        f"two inputs with different answers, {answers}, and identical messages:",
        *f"  {left.text}".split("\n"),
        *f"  {right.text}".split("\n"),
        *_information(report),
    ]


def _information(report: DecomposeReport) -> list[str]:
    """X_i of everybody below z_L after each epoch."""
    lines = []
    for epoch in dict.fromkeys(x.epoch for x in report.information):
        parts = [(x.player, x.same) for x in report.information if x.epoch == epoch]
        same, other = ([name for name, alike in parts if alike is wanted] for wanted in (True, False))
        differs = f"; another one of {', '.join(other)}" if other else ""
        lines.append(
            f"after epoch {epoch} the same information state X_i of {', '.join(same) or 'nobody'}{differs}"
        )
    return lines


def _level(level: LevelEnd, steps: list[Fixing], last: bool) -> list[str]:
    seen = "all there are" if level.exhaustive else "random ones"
    l, part = level.level, "base case" if level.level == 1 else "step"
    lines = [f"level {l}, {part}: {level.tables:,} tables z_{l}, {seen}; |Z_<{l}| = {level.below:,} below"]
    for step in steps:
        some = f"so one has {-(-step.before // step.classes):,} or more"
        classes = "1 class" if step.classes == 1 else f"{step.classes:,} classes, {some}"
        alike = f"{step.after:,} of {step.before:,} get identical messages"
        lost = f"{log2(step.before / step.after):.1f} bits, at most {step.bits:,}"
        least = f"their number alone promises {step.guaranteed:,}"
        lines.append(f"  layer {step.layer}, {step.what}: {classes}; {alike}: {lost}; {least}")
    what = "entries can be asked for" if last else f"values i_{l} are reached"
    R, Z = f"|R_≥{l}| = {level.left:,}", f"|Z_{l}| = {level.chosen}"
    return [*lines, f"  {R} left, {Z} chosen; Θ_{l} = {level.reached} {what}"]
