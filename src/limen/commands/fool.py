"""Search for an input that fools a model.

>>> import limen
>>> report = limen.fool(lambda tokens: tokens[:, 0], "eva(n=4)", budget=5.0)
>>> report.claim, report.random_failures > 0
('wrong_answer', True)
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from limen.commands._command import Shown, Tell, command
from limen.commands._words import PathLike, Seed, Task, note_own, task_of
from limen.core import quantities
from limen.core.option import Argument, Option

if TYPE_CHECKING:
    from limen.adversary.report import FoolReport
    from limen.model.sampler import Draws

    Predictor = object
    SamplerLike = str | Draws
else:
    Predictor = SamplerLike = str


@command(
    example='limen fool benchmarks/models/gated "eva(n=16)" --budget 10s',
    answers=(
        Shown(
            "limen.adversary.report:FoolReport",
            "limen.render.fool:lines_of",
            picture="limen.render.fool:fool_picture",
        ),
    ),
)
def fool(
    model: Annotated[
        Predictor, Argument("A folder saved by Limen or by transformers, or FILE.py:FACTORY.", local=True)
    ],
    task: Task,
    budget: Annotated[
        float, Option("How long to search: 60s, 5m.", parse=quantities.seconds, line="60s")
    ] = 60.0,
    *,
    claim: Annotated[
        str | None,
        Option("wrong_answer, same_answer or state_collision. Default: the first one found."),
    ] = None,
    arithmetic: Annotated[
        str | None,
        Option("For a Limen model: bf16, fixed(f=4), … Default: the precision of its weights."),
    ] = None,
    out: Annotated[PathLike | None, Option("Save the certificate in this file.", local=True)] = None,
    resume: Annotated[
        PathLike | None, Option("Save the search in this file. The same command continues it.", local=True)
    ] = None,
    sampler: Annotated[
        SamplerLike | None,
        Option("FILE.py:FUNCTION that draws your own inputs. Default: the task's sampler.", local=True),
    ] = None,
    seed: Seed = 0,
    tell: Tell | None = None,
) -> FoolReport:
    """What is found is written as a certificate that anyone can check.

    Exit 0: fooled, or proved right on every input; 1: neither, which proves nothing.

    From Python the model may also be a limen Model, an `nn.Module` or a function that takes tokens (batch,
    length) and returns logits, or its answers alone; and the sampler a function (rng, count) -> tokens, whose
    `support(tokens)`, if it has one, tells which inputs it can draw.
    """
    from limen.adversary.schedule import fool, report
    from limen.model.opening import opened
    from limen.model.run import runnable
    from limen.model.sampler import Sampler
    from limen.model.target import Target
    from limen.render.fool import progress

    sized, precision = task_of(task), None if arithmetic is None else runnable(arithmetic)
    sized.drawable()
    file, kept = (None if path is None else Path(path) for path in (out, resume))
    _ready(file, kept)
    name = model if isinstance(model, str) else type(model).__name__
    drawn = None if sampler is None else Sampler.of(sampler)
    target = Target(sized, opened(model) if isinstance(model, str) else model, precision, seed, sampler=drawn)
    told = progress() if tell else progress(watched=False)
    answer = report(fool(target, budget, claim, name, told, kept))
    return answer if file is None or answer.certificate is None else _saved(answer, file, str(task), name)


def _ready(out: Path | None, resume: Path | None) -> None:
    """Refuses, before any work, what cannot be written."""
    from limen.files.folder import ready_file, refuse_foreign

    for file in (out, resume):
        if file is not None:
            ready_file(file)
    if out is not None:
        refuse_foreign(out.parent, out.name, out.name, kind="limen/certificate/")


def _saved(answer: FoolReport, file: Path, task: str, model: str) -> FoolReport:
    """The report, which names the file of its certificate and the command that checks it."""
    from msgspec.structs import replace

    from limen.adversary.report import kept
    from limen.files.folder import write_whole
    from limen.files.own import named

    write_whole(file, kept(answer))
    note_own(file, task, "`limen check` will refuse it")
    return replace(answer, file=str(file), check=None if named(task) else checking(file, model))


def checking(file: Path, model: str) -> str | None:
    """The command that checks it, as a shell reads it; None if it holds what cannot be printed as it is."""
    plain = f"./{file}" if str(file).startswith("-") else str(file)  # a name, not an option
    command = shlex.join(["limen", "check", plain, "--model", model])
    return command if command.isprintable() else None
