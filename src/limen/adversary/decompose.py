"""Runs the lower bound's proof for composition on one model; continues an earlier search from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from limen.adversary.strategies.decomposition import Decomposition, Fixing, LevelEnd
from limen.conversation.information import epochs
from limen.conversation.play import ProtocolRequest, model_of
from limen.conversation.transcript import transcript
from limen.core.certificate import Collision, encode
from limen.core.report import Report
from limen.core.task import Task
from limen.errors import BadInput
from limen.files.folder import content_of
from limen.files.strict_json import read_object
from limen.model.files import ready, save
from limen.model.model import Model
from limen.model.target import Target

CERTIFICATE, PROGRESS = "certificate.json", "progress.json"


class Told(msgspec.Struct, frozen=True):
    """An input as people read it, and its right answer."""

    text: str
    answer: str


class SameState(msgspec.Struct, frozen=True):
    """Whether a player's information state X_i after an epoch is the same on both inputs."""

    epoch: int
    player: str
    same: bool


class DecomposeReport(Report, frozen=True, kw_only=True, tag="limen/protocol/1"):
    """The sets of the proof, level by level, and the pair of inputs if one was found."""

    task: str
    architecture: str
    arithmetic: str
    found: bool
    levels: tuple[LevelEnd, ...]
    steps: tuple[Fixing, ...]
    certificate: Collision | None
    pair: tuple[Told, Told] | None
    information: tuple[SameState, ...]  # of all players below z_L, on the two inputs
    rounds: int
    seconds: float

    @property
    def headline(self) -> str:
        outcome = "a pair with identical messages" if self.found else "no pair found"
        return f"{self.task} by {self.architecture}: {outcome} after {self.rounds} rounds"

    @property
    def exit_code(self) -> int:
        return 0 if self.found else 1


def decompose(request: ProtocolRequest, rows: int, seconds: float, folder: Path | None) -> DecomposeReport:
    """The report; the model, the certificate and the progress are written to the folder, if one is given."""
    task = Task.parse(request.task)
    if folder is not None:
        ready(folder, CERTIFICATE)
    model = model_of(request, task)
    how = Decomposition.arithmetic if request.arithmetic == "integers" else request.arithmetic
    first = 0 if folder is None else _rounds_done(folder / PROGRESS, request, how)
    searched = Decomposition(rows, seconds, request.seed, how, first).search(Target(task, model))
    if folder is not None:
        done = msgspec.json.encode(_key(request, how) | {"rounds": searched.rounds})
        pair = [] if searched.witness is None else [(CERTIFICATE, encode(searched.witness))]
        save(model, folder, *pair, (PROGRESS, done))
    return DecomposeReport(
        task=str(task),
        architecture=str(model.frame.architecture),
        arithmetic=how,
        found=searched.witness is not None,
        levels=searched.levels,
        steps=searched.steps,
        certificate=searched.witness,
        pair=_told(task, searched.witness) if searched.witness else None,
        information=_alike(task, model, searched.witness) if searched.witness else (),
        rounds=searched.rounds,
        seconds=searched.seconds,
    )


def _told(task: Task, pair: Collision) -> tuple[Told, Told]:
    left, right = (np.array([*side, *pair.suffix]) for side in (pair.left, pair.right))
    first, second = (Told(task.render(side), task.render_answer(side)) for side in (left, right))
    return first, second


def _alike(task: Task, model: Model, pair: Collision) -> tuple[SameState, ...]:
    """For each epoch and each player below z_L: whether its information state is the same on both inputs."""
    players, by_side = task.players(), []
    for side in (pair.left, pair.right):
        tokens = np.array([*side, *pair.suffix])
        spoken, _ = transcript(model, task, tokens, players, pair.arithmetic)
        by_side.append(epochs(spoken, task, players))
    return tuple(
        SameState(left.epoch, x.player, x.digest == y.digest)
        for left, right in zip(*by_side, strict=True)
        for x, y in list(zip(left.known, right.known, strict=True))[1:]
    )


def _key(request: ProtocolRequest, how: str) -> dict[str, Any]:
    return {
        "schema": "limen/progress/1",
        "task": request.task,
        "architecture": request.architecture,
        "arithmetic": how,
        "seed": request.seed,
    }


def _rounds_done(path: Path, request: ProtocolRequest, how: str) -> int:
    if not path.is_file():
        return 0
    try:
        done = read_object(content_of(path), str(path))
        rounds = int(done.pop("rounds"))
    except (KeyError, ValueError, TypeError) as error:
        raise BadInput(f"{path} does not hold the progress of a search: {error}") from error
    if done != _key(request, how):
        raise BadInput(f"{path} belongs to another search: {done}")
    return rounds
