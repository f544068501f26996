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
from limen.errors import BadInput

if TYPE_CHECKING:
    from limen.adversary.report import FoolReport
    from limen.model.sampler import Draws

    Predictor = object
    SamplerLike = str | Draws
else:
    Predictor = SamplerLike = str


def _shipped() -> tuple[str, ...]:
    from limen.adversary.saved import shipped

    return shipped()


@command(
    example='limen fool benchmarks/models/gated "eva(n=16)" --budget 10s',
    answers=(
        Shown(
            "limen.adversary.report:FoolReport",
            "limen.render.fool:lines_of",
            html="limen.render.notebook:fooled",
            picture="limen.render.fool:fool_picture",
            page="limen.render.fool:page_of",
        ),
    ),
)
def fool(
    model: Annotated[
        Predictor,
        Argument(
            "A folder saved by Limen or by transformers, or FILE.py:FACTORY; or a report that is shipped: "
            "gated, linear_affine, log_linear or mamba2.",
            local=True,
            shipped=_shipped,
        ),
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
    if isinstance(model, str) and model in _shipped() and not Path(model).exists():  # no torch is loaded
        return _known(model, str(task_of(task)), claim, arithmetic, out, resume, sampler)
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


def _known(model: str, task: str, *options: object) -> FoolReport:
    """A report that is shipped, as it was made."""
    from limen.adversary.saved import report_about

    if any(one is not None for one in options):
        raise BadInput(
            f"{model}: a report that is there is shown as it is: --claim, --arithmetic, --out, --resume and "
            "--sampler are for a model"
        )
    return report_about(model, task)


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
