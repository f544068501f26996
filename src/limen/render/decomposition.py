"""`limen protocol --decompose` for people: the sets of the proof, level by level, and the pair."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from limen.adversary.decomposition import Decomposition, Found, Level, Step
from limen.core.certificate import encode
from limen.core.errors import BadInput
from limen.core.folder import content_of
from limen.core.strict_json import read_object
from limen.core.task import Task
from limen.model.files import ready
from limen.model.files import save as save_model
from limen.render.protocol import Request, model_of


def decomposed(
    request: Request, rows: int, seconds: float, save: Path | None
) -> tuple[dict[str, Any], list[str], bool]:
    """Runs the decomposition; with a folder it goes on where an earlier search stopped."""
    task = Task.parse(request.task)
    if save is not None:
        ready(save, "certificate.json")
    model = model_of(request, task)
    how = Decomposition.arithmetic if request.arithmetic == "integers" else request.arithmetic
    search = Decomposition(rows, seconds, request.seed, how)
    progress = None if save is None else save / "progress.json"
    first = 0 if progress is None else _rounds_done(progress, request, how)
    found = search.search(task, model, first)
    if save is not None and progress is not None:
        done = msgspec.json.encode(_key(request, how) | {"rounds": found.rounds})
        pair = [] if found.collision is None else [("certificate.json", encode(found.collision))]
        save_model(model, save, *pair, (progress.name, done))
    shown = {
        "task": str(task),
        "architecture": str(model.frame.architecture),
        "arithmetic": how,
        "found": found.collision is not None,
        "levels": [level._asdict() for level in found.levels],
        "steps": [step._asdict() for step in found.steps],
        "certificate": None if found.collision is None else msgspec.to_builtins(found.collision),
        "rounds": found.rounds,
        "seconds": found.seconds,
    }
    return shown, _lines(shown, task, found), found.collision is not None


def _key(request: Request, how: str) -> dict[str, Any]:
    return {
        "schema": "limen/progress/1",
        "task": request.task,
        "architecture": request.architecture,
        "arithmetic": how,
        "seed": request.seed,
    }


def _rounds_done(path: Path, request: Request, how: str) -> int:
    if not path.is_file():
        return 0
    try:
        done = read_object(content_of(path), str(path))
        rounds = int(done.pop("rounds"))
    except (KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{path} does not say how far a search came: {error}") from error
    if done != _key(request, how):
        raise BadInput(f"{path} belongs to another search: {done}")
    return rounds


def _lines(shown: dict[str, Any], task: Task, found: Found) -> list[str]:
    lines = [f"{shown['task']} by {shown['architecture']}, in {shown['arithmetic']}"]
    for level in found.levels:
        steps = [step for step in found.steps if step.level == level.level]
        lines += ["", *_level(level, steps, last=level is found.levels[-1])]
    pair = found.collision
    if pair is None:
        rounds = "all tables were seen" if found.levels[-1].exhaustive else f"{found.rounds} rounds"
        return [
            *lines,
            "",
            f"no pair found ({rounds}, {found.seconds:.0f} s): nothing is said about this model",
        ]
    left, right = (np.array([*side, *pair.suffix]) for side in (pair.left, pair.right))
    answers = f"{task.answer(left)} and {task.answer(right)}"
    return [
        *lines,
        "",
        f"two inputs with the right answers {answers} on which everybody below is told the same:",
        f"  {task.render(left)}",
        f"  {task.render(right)}",
    ]


def _level(level: Level, steps: list[Step], last: bool) -> list[str]:
    seen = "all there are" if level.exhaustive else "random ones"
    lines = [f"level {level.level}: {level.tables:,} tables z_{level.level}, {seen}"]
    for step in steps:
        classes = "1 class" if step.classes == 1 else f"{step.classes:,} classes"
        alike = f"{step.after:,} of {step.before:,} are told alike"
        lost = f"{log2(step.before / step.after):.1f} bits, at most {step.bits:,}"
        lines.append(f"  layer {step.layer}, {step.what}: {classes}; {alike}: {lost}")
    what = "entries of it are asked for" if last else "values of it are reached"
    return [*lines, f"  {level.left:,} left, {level.chosen} chosen; {level.reached} {what}"]
