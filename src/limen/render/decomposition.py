"""`limen protocol --decompose` for people: the sets of the proof, level by level, and the pair; drawn, too.

As the slides number them: the base case ℓ = 2 picks Z_1 and leaves R_≥2; the step ℓ → ℓ+1 takes a rectangle
S_≥ℓ+1 × Z_ℓ of R_≥ℓ and leaves R_≥ℓ+1.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING, Any

from limen.render.svg import drawn, line, rect, text

if TYPE_CHECKING:
    from limen.adversary.decompose import DecomposeReport
    from limen.adversary.strategies.decomposition import Fixing, LevelEnd

_SHOWN = 16  # entries of a table
_LEFT, _WIDE, _LINE = 40, 190, 22  # the rectangle, and the height of a line beside it
_COLUMNS = 16  # inputs below that are drawn as columns, at most
_TABLE = 276, 370, 460, 580, 720  # where the columns of the pigeonholes begin
_WIDTH = 960
_STYLE = ".before{fill:#dfe3e9;stroke:#8b95a5}.kept{fill:#6f8fe0}.on{fill:#fff;font-weight:600}"
_STYLE += ".grid{stroke:#c9d3ea;stroke-width:.5}"
_STYLE += ".rows{stroke:#f08a3c;stroke-width:3}.chosen,.answer{fill:#b8561b;font-weight:600}.head{fill:#777}"
_STYLE += ".left{fill:#2f54b5;font-weight:600}.tokens{font-family:ui-monospace,monospace}"
_DARK = ".before{fill:#3a414c;stroke:#8b95a5}.kept{fill:#5b7fe0}.on{fill:#fff}"
_DARK += ".chosen,.answer{fill:#f0a36b}.head{fill:#999}.left{fill:#9db6f5}"


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
    """A panel a level: the rectangle, what each message leaves of it, and the pigeonhole that says so."""
    y = 62
    body = [
        text(12, 24, f"{report.task}: the proof on one model", class_="title"),
        text(12, 42, f"{report.architecture}, in {report.arithmetic}; heights are logarithms"),
    ]
    for level in report.levels:
        steps = _steps(report, level)
        body += _panel(level, steps, y, last=level is report.levels[-1])
        y += _height(steps) + 76
    if report.pair is not None:
        both = "two inputs with identical messages and different answers"
        body.append(text(12, y + 8, both, class_="title"))
        for i, one in enumerate(report.pair):
            at = y + 30 + 20 * i
            body += [text(24, at, one.text, class_="tokens")]
            body += [text(_TABLE[-1], at, f"answer {one.answer}", class_="answer")]
        y += 60
    return drawn(_WIDTH, y + 10, body, _STYLE, _DARK)


def _height(steps: list[Fixing]) -> int:
    """The height of a rectangle: a line a pigeonhole beside it, their heads, and two lines below."""
    return _LINE * (len(steps) + 3)


def _panel(level: LevelEnd, steps: list[Fixing], y: int, last: bool) -> list[str]:
    l = level.level
    drawn_or_all = "all there are" if level.exhaustive else "drawn at random"
    title = f"{_part(l)}: player {l} holds one of {level.tables:,} tables z_{l}, {drawn_or_all}"
    top = y + 46
    return [
        text(12, y + 12, title, class_="title"),
        *_rectangle(level, steps, top),
        *_pigeonholes(level, steps, top + 8, last),
    ]


def _rectangle(level: LevelEnd, steps: list[Fixing], top: int) -> list[str]:
    """S_≥l × Z_<l: upwards the tables of player l, across the inputs below; R_≥l and Z_l within."""
    l, height = level.level, _height(steps)
    scale, middle = height / log2(max(level.tables, 2)), top + height / 2
    columns = min(level.below, _COLUMNS)
    some = "" if columns == level.below else f", {columns} drawn"
    parts = [
        text(_LEFT + _WIDE / 2, top - 8, f"Z_<{l}: {level.below:,} inputs below{some}", text_anchor="middle"),
        text(
            _LEFT - 10,
            middle,
            f"S_≥{l}: {level.tables:,}",
            text_anchor="middle",
            transform=f"rotate(-90 {_LEFT - 10} {middle:g})",
        ),
    ]
    left = [level.tables, *(step.after for step in steps)]
    for i, count in enumerate(left):
        high = max(scale * log2(max(count, 1)), 3.0)
        kind = "kept" if i == len(left) - 1 else "before"
        parts.append(rect(_LEFT, top + height - high, _WIDE, high, class_=kind))
    across = (_LEFT + _WIDE * i / columns for i in range(1, columns))
    parts += [line(x, top, x, top + height, class_="grid") for x in across]
    for i in range(level.chosen):  # within R, which is the lowest of all
        at = top + height - 6 - 6 * i
        parts.append(line(_LEFT, at, _LEFT + _WIDE, at, class_="rows"))
    if level.Z:
        parts.append(text(_LEFT + _WIDE + 5, top + height - 5, f"Z_{l}", class_="chosen"))
    if high > 2 * _LINE:
        inside = top + height - high / 2
        parts.append(text(_LEFT + _WIDE / 2, inside, f"R_≥{l}", class_="on", text_anchor="middle"))
    return parts


def _pigeonholes(level: LevelEnd, steps: list[Fixing], top: int, last: bool) -> list[str]:
    """A line a message: what is found, what that promises, and what the number of messages alone does."""
    l, y = level.level, top
    heads = "fixed", "different ones", "so one is sent by", "kept", "by counting alone"
    parts = [text(x, y, head, class_="head") for x, head in zip(_TABLE, heads, strict=True)]
    for step in steps:
        y += _LINE
        cells = (
            f"layer {step.layer}, {step.what}",
            f"{step.classes:,}",
            f"≥ {_least(step):,}",
            f"{step.after:,} of {step.before:,}",
            f"2^{step.bits:,} messages at most: ≥ {step.guaranteed:,}",
        )
        parts += [text(x, y, cell) for x, cell in zip(_TABLE, cells, strict=True)]
    reached = f"Θ_{l} = {level.reached:,} " + (
        "entries can be asked for" if last else f"values i_{l} reached"
    )
    y += _LINE + 6
    parts.append(
        text(_TABLE[0], y, f"|R_≥{l}| = {level.left:,} tables with the same messages", class_="left")
    )
    parts.append(text(_TABLE[3], y, f"|Z_<{l}| = {level.below:,};  {reached}"))
    if level.Z:
        chosen = f"|Z_{l}| = {level.chosen}:  Z_{l} = {_tables(level)}"
        parts.append(text(_TABLE[0], y + _LINE, chosen, class_="chosen"))
    return parts
