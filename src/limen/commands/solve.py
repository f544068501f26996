"""Build weights that solve a task, run them and check them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from limen.commands import _complete
from limen.commands._command import Shown, Tell, command
from limen.commands._words import PathLike, Seed, Task, TaskLike, note_own
from limen.core.option import Option

if TYPE_CHECKING:
    from limen.core.report import Result
    from limen.solutions.range import RangeReport
    from limen.solutions.run import Attempt, Solution
    from limen.solutions.smallest import FrontierReport, LeastReport

Check = int | str  # how many inputs of each sort, or "exhaustive"


@overload
def solve(
    task: TaskLike,
    by: str | None = None,
    precision: str = "float32",
    check: Check | None = None,
    seed: int = 0,
    *,
    save: PathLike | None = None,
    picture: PathLike | None = None,
    tell: Tell | None = None,
) -> Solution: ...


@overload
def solve(
    task: TaskLike,
    by: str | None = None,
    precision: str = "float32",
    check: Check | None = None,
    seed: int = 0,
    *,
    smallest: Literal["precision", "width"],
    over: str | None = None,
) -> LeastReport: ...


@overload
def solve(
    task: TaskLike,
    by: str | None = None,
    precision: str = "float32",
    check: Check | None = None,
    seed: int = 0,
    *,
    smallest: Literal["precision,width"],
    picture: PathLike | None = None,
) -> FrontierReport: ...


@overload
def solve(
    task: TaskLike, by: str | None = None, *, reach: Literal[True], over: str | None = None
) -> RangeReport: ...


@command(
    example='limen solve "eva(n=1000)" --precision bf16',
    answers=(
        Shown("limen.solutions.run:SolveReport", "limen.render.solve:lines_of"),
        Shown("limen.solutions.smallest:LeastReport", "limen.render.solve:least_lines"),
        Shown("limen.solutions.range:RangeReport", "limen.render.solve:range_lines"),
        Shown("limen.solutions.smallest:FrontierReport", "limen.render.solve:frontier_lines"),
    ),
)
def solve(
    task: Task,
    by: Annotated[
        str | None,
        Option(
            "The construction: its id, or the part after _by_. Default: the simplest.",
            complete=_complete.constructions,
            own=True,
        ),
    ] = None,
    precision: Annotated[
        str,
        Option("float64, float32, bf16, significand(t=5), fixed(f=8), …", complete=_complete.precisions),
    ] = "float32",
    check: Annotated[
        str | int | None,
        Option(
            "exhaustive: try every input. A number: try that many plain and that many hard inputs.",
            complete=_complete.of("exhaustive"),
        ),
    ] = None,
    seed: Seed = 0,
    *,
    smallest: Annotated[
        str | None,
        Option(
            "Find the least that works: precision, width, or precision,width (one for each width).",
            complete=_complete.of("precision", "width", "precision,width"),
        ),
    ] = None,
    over: Annotated[
        str | None,
        Option("With --smallest precision or width, or --range: the size that grows. Default: the first."),
    ] = None,
    reach: Annotated[
        bool, Option("Show how far the weights are certified in each number format.", flag="--range")
    ] = False,
    save: Annotated[
        PathLike | None, Option("Save the weights and the certificate in this folder.", local=True)
    ] = None,
    picture: Annotated[
        PathLike | None, Option("Draw the attention on one input: .svg, .png or .pdf.", local=True)
    ] = None,
    tell: Tell | None = None,
) -> Result:
    """Exit 1 if an input was answered wrongly, or if nothing that was looked for works. For transformers,
    `limen export hf` writes the same construction as a checkpoint.
    """
    from limen.solutions.run import Attempt

    drawn = None if picture is None else Path(picture)
    attempt = Attempt(task, by, precision, None if check is None else str(check), seed)
    if reach:
        from limen.render.progress import steps_line
        from limen.solutions.range import certified_range

        return certified_range(attempt.construction, over, steps_line(tell is not None))
    if smallest == "precision,width":
        return _frontier(attempt, drawn)
    if smallest is not None:
        from limen.solutions.smallest import least

        return least(attempt, smallest, over)
    return _solved(attempt, None if save is None else Path(save), drawn, watched=tell is not None)


def _frontier(attempt: Attempt, picture: Path | None) -> FrontierReport:
    """Precision against width, and its picture."""
    from limen.render.solve import frontier_picture
    from limen.render.svg import picture_ready, save_picture
    from limen.solutions.smallest import frontier

    if picture is not None:
        picture_ready(picture)
    report = frontier(attempt.construction, attempt.how, attempt.seed)
    if picture is not None:
        save_picture(picture, frontier_picture(report))
    return report


def _solved(attempt: Attempt, folder: Path | None, picture: Path | None, watched: bool) -> Solution:
    """The weights, run and saved; what cannot be written is refused before."""
    from limen.model.files import ready
    from limen.render.picture import attention_picture
    from limen.render.progress import inputs_bar
    from limen.render.svg import picture_ready, save_picture
    from limen.solutions.look import look
    from limen.solutions.run import CERTIFICATE, RUN, saved

    if folder is not None:
        ready(folder, RUN, CERTIFICATE)
    if picture is not None:
        picture_ready(picture)
        drawn = attention_picture(look(attempt.construction, attempt.seed))
    with inputs_bar(watched) as progress:
        solution, model = attempt.run(progress)
    if picture is not None:
        save_picture(picture, drawn)
    if folder is not None:
        saved(solution, model, folder, attempt.seed)
        note_own(folder, f"{solution.task} {model.frame.architecture.sized}", "`limen check` will refuse it")
    return solution
