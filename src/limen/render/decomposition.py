"""`limen protocol --decompose` for people: the sets of the proof, level by level, and the pair; drawn, too.

As the slides number them: the base case ℓ = 2 picks Z_1 and leaves R_≥2; the step ℓ → ℓ+1 takes a rectangle
S_≥ℓ+1 × Z_ℓ of R_≥ℓ and leaves R_≥ℓ+1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING, Any

from limen.render.svg import drawn, rect, text

if TYPE_CHECKING:
    from limen.adversary.decompose import DecomposeReport
    from limen.adversary.strategies.decomposition import Fixing, LevelEnd

_SHOWN = 16  # entries of a table
_LEFT, _LONGEST, _RIGHT, _BAR = 130, 300, 760, 22
_STYLE = ".before{fill:#c9ced6}.kept{fill:#4269d0}.chosen,.answer{fill:#b8561b;font-weight:600}"
_STYLE += ".tokens{font-family:ui-monospace,monospace}"
_DARK = ".before{fill:#4a525e}.kept{fill:#7d9bea}.chosen,.answer{fill:#f0a36b}"


def lines_of(report: DecomposeReport) -> list[str]:
    """All of it."""
    lines = [f"{report.task} by {report.architecture}, in {report.arithmetic}"]
    for level in report.levels:
        lines += ["", *_level(level, _steps(report, level), last=level is report.levels[-1])]
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


def page_of(report: DecomposeReport) -> dict[str, Any]:
    """What is left of all tables after each layer of the last level, in words; and what the pair shows."""
    level = report.levels[-1]
    steps = [
        f"layer {step.layer}, {step.what}: {step.classes} different messages are possible; "
        "those tables are kept that get the commonest"
        for step in _steps(report, level)
    ]
    none = "No pair was found: this says nothing about the model."
    end = "Everybody below is told the same, bit for bit. The right answers differ."
    first = f"all tables z_{level.level}, before anybody speaks"
    return {"says": {"first": first, "steps": steps, "end": end if report.pair else none}}


def _steps(report: DecomposeReport, level: LevelEnd) -> list[Fixing]:
    return [step for step in report.steps if step.level == level.level]


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
    l, tables, below = level.level, f"{level.tables:,}", f"{level.below:,}"
    lines = [f"level {l}, {_part(l)}: {tables} tables z_{l}, {seen}; |Z_<{l}| = {below} below"]
    if l > 1:
        lines.append(f"  the rectangle S_≥{l} × Z_<{l}: {tables} tables for each of {below} inputs below")
    for step in steps:
        some = f"so one has {_least(step):,} or more"
        classes = "1 class" if step.classes == 1 else f"{step.classes:,} classes, {some}"
        alike = f"{step.after:,} of {step.before:,} get identical messages"
        lost = f"{log2(step.before / step.after):.1f} bits, at most {step.bits:,}"
        least = f"their number alone promises {step.guaranteed:,}"
        lines.append(f"  layer {step.layer}, {step.what}: {classes}; {alike}: {lost}; {least}")
    what = "entries can be asked for" if last else f"values i_{l} are reached"
    R, Z = f"|R_≥{l}| = {level.left:,}", f"|Z_{l}| = {level.chosen}"
    lines.append(f"  {R} left, {Z} chosen; Θ_{l} = {level.reached} {what}")
    return [*lines, f"  Z_{l} = {_tables(level)}"] if level.Z else lines


def _part(l: int) -> str:
    """Which part of the slides' induction a level is."""
    return "base case" if l <= 2 else f"step {l - 1} → {l}"


def _least(step: Fixing) -> int:
    """How many tables one of the messages has at least, by the pigeonhole."""
    return -(-step.before // step.classes)


def _tables(level: LevelEnd) -> str:
    return f"{{{', '.join(f'({_digits(table)})' for table in level.Z)}}}"


def _digits(table: Sequence[int]) -> str:
    shown = " ".join(map(str, table[:_SHOWN]))
    return shown if len(table) <= _SHOWN else f"{shown} …"


def decomposition_picture(report: DecomposeReport) -> str:
    """A panel a level: how many tables are left after each message is fixed, and the ones chosen."""
    y = 64
    body = [
        text(12, 24, f"{report.task}: the proof on one model", class_="title"),
        text(12, 42, f"{report.architecture}, in {report.arithmetic}"),
    ]
    for level in report.levels:
        steps = _steps(report, level)
        body += _panel(level, steps, y + 8)
        y += 62 + _BAR * (1 + len(steps))
    if report.pair is not None:
        both = "two inputs with identical messages and different answers"
        body.append(text(12, y + 8, both, class_="title"))
        for i, one in enumerate(report.pair):
            at = y + 30 + 20 * i
            body += [text(24, at, one.text, class_="tokens")]
            body += [text(_RIGHT, at, f"answer {one.answer}", class_="answer")]
        y += 60
    return drawn(_RIGHT + 140, y + 10, body, _STYLE, _DARK)


def _panel(level: LevelEnd, steps: list[Fixing], y: int) -> list[str]:
    """Bars as long as the logarithms of the numbers of tables; beside each the pigeonhole that it is from."""
    l, scale = level.level, _LONGEST / log2(max(level.tables, 2))
    holds = f"{_part(l)}: player {l} holds one of {level.tables:,} tables z_{l}"
    parts = [text(12, y, holds, class_="title")]
    bars = [("all" if level.exhaustive else "drawn", level.tables, "")]
    for step in steps:
        some = f"{step.classes:,} different messages, so one is sent by {_least(step):,} or more"
        why = "all send the same message" if step.classes == 1 else some
        bars.append((f"layer {step.layer}, {step.what}", step.after, f"   ({why})"))
    for i, (name, count, why) in enumerate(bars):
        at, width = y + 10 + _BAR * i, max(3.0, scale * log2(max(count, 1)))
        kept = "kept" if i == len(bars) - 1 else "before"
        parts += [
            text(24, at + 14, name),
            rect(_LEFT, at, width, _BAR - 6, rx=3, class_=kept),
            text(_LEFT + width + 6, at + 14, f"{count:,}{why}"),
        ]
    below = y + 26 + _BAR * len(bars)
    parts.append(text(24, below, f"R_≥{l}: {level.left:,} tables, the same messages to all players below"))
    if level.Z:
        parts.append(text(_LEFT + 240, below, f"Z_{l} = {_tables(level)}", class_="chosen"))
    return parts
