"""`limen solve` for people: the weights, what their run showed, and how little precision they need."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limen.core.certificate import encode
from limen.core.construction import Construction, construct
from limen.core.errors import BadInput
from limen.core.folder import ready_file, write_whole
from limen.core.quantities import plural
from limen.core.task import Task
from limen.model.files import ready
from limen.model.files import save as save_model
from limen.model.model import Model
from limen.model.run import runnable
from limen.render.picture import attention_picture
from limen.solutions import Least, Solution, certificate, proved, smallest_precision, smallest_width, solve

CERTIFICATE = "certificate.json"
Shown = tuple[dict[str, Any], list[str], bool]


@dataclass(frozen=True)
class Request:
    """What the user asked for, as text."""

    task: str
    by: str | None
    precision: str
    check: str | None
    seed: int

    @property
    def construction(self) -> Construction:
        return construct(Task.parse(self.task), self.by)

    @property
    def how(self) -> int | None:
        """How many inputs to draw; None: not said, or all."""
        if self.check in (None, "exhaustive"):
            return None
        if not re.fullmatch("[0-9]{1,18}", str(self.check)):
            raise BadInput(f"--check must be exhaustive or a number of inputs, got {self.check}")
        return int(str(self.check))


def solution(request: Request, save: Path | None, picture: Path | None) -> Shown:
    """Runs the construction; writes what was asked for."""
    construction, precision = request.construction, runnable(request.precision)
    if save is not None:
        ready(save, "run.json", CERTIFICATE)
    if picture is not None:
        ready_file(picture)
    drawing = None if picture is None else _picture(construction, request.seed)  # refused before the long run
    with _progress() as progress:
        found, model = solve(
            construction,
            precision,
            request.how,
            every=request.check == "exhaustive",
            seed=request.seed,
            progress=progress,
        )
    if picture is not None and drawing is not None:
        write_whole(picture, drawing.encode())
    if save is not None:
        seen = certificate(found, model, request.seed)
        proof = proved(request.construction, found.precision) or seen
        save_model(model, save, ("run.json", encode(seen)), (CERTIFICATE, encode(proof)))
    return (
        asdict(found) | {"correct": found.correct, "standing": found.standing},
        _lines(found),
        found.correct,
    )


def _picture(construction: Construction, seed: int) -> str:
    tokens, _ = construction.task.sample(np.random.default_rng(seed), 1, hard=True)
    return attention_picture(construction, Model.of(construction), tokens[0])


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error while somebody is watching."""
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        inputs = bar.add_task("inputs", total=None)
        yield lambda more, total: bar.update(inputs, advance=more, total=total)


def _lines(found: Solution) -> list[str]:
    tried = (
        f"all {found.tried:,} inputs" if found.exhaustive else f"{found.tried:,} inputs, half of them hard"
    )
    thought = f", {found.steps} steps of chain of thought" if found.steps else ""
    if found.certified is not None:
        certified = f"at least {found.certified:.6g} on every input, derived from the weights"
    elif found.predicted is not None:
        certified = f"at least {found.predicted:.6g} on every input is argued, not checked"
    else:
        certified = "none certified"
    meaning = {
        "can": "CAN: right on every input, by the kernel's derivation",
        "every input run": "right on every input, each was run: evidence for this size and this machine",
        "built, sampled": "built, sampled: right on what was tried, which proves nothing of the rest (OPEN)",
        "wrong": "these weights do not solve the task in this precision",
    }[found.standing]
    return [
        f"{found.task} by {found.construction}, {found.precision}",
        f"{plural(found.layers, 'layer')}, {plural(found.heads, 'head')} of size {found.head_dim}, "
        f"width {found.width}{thought}",
        f"{tried}: {found.wrong} wrong; least margin {found.margin:.6g} seen, {certified}",
        meaning,
    ]


def least(request: Request, smallest: str, over: str | None) -> Shown:
    """The least precision or width that works, at the task's size and at smaller ones."""
    construction = request.construction
    if smallest == "precision":
        rows, unit = smallest_precision(construction, request.how, request.seed, over), "significant bits"
    elif smallest == "width":
        precision = runnable(request.precision)
        rows, unit = smallest_width(construction, precision, request.how, request.seed, over), "columns"
    else:
        raise BadInput(f"--smallest must be precision or width, got {smallest}")
    shown = {
        "task": str(construction.task),
        "construction": str(construction),
        "smallest": smallest,
        "rows": [asdict(row) for row in rows],
    }
    lines = [
        f"{construction}: fewest {unit} from which on",
        "",
        f"{'':32} nothing tried is wrong   every input, by proof",
    ]
    return shown, lines + [_row(row) for row in rows], all(row.works is not None for row in rows)


def _row(row: Least) -> str:
    return f"{row.task:32} {row.works or '–':>22} {row.predicted or '–':>23}"
