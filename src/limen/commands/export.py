"""Write for other programs: tasks as text for a harness, or a construction as a transformers checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from limen.commands import _complete
from limen.commands._command import Shown, command
from limen.commands._words import LARGEST_SEED, PathLike
from limen.core import quantities
from limen.core.option import Argument, Option
from limen.errors import BadInput

if TYPE_CHECKING:
    from limen.checkpoints.folder import CheckpointReport
    from limen.probes.export import ExportReport


@overload
def export(
    harness: Literal["lm-eval", "inspect"],
    folder: PathLike,
    *,
    tasks: Sequence[str] | None = None,
    n: Sequence[int] | None = None,
    hops: Sequence[int] | None = None,
    contexts: int | None = None,
    wording: Literal["completion", "question"] | None = None,
    seed: int = 0,
) -> ExportReport: ...


@overload
def export(
    harness: Literal["hf"],
    folder: PathLike,
    *,
    tasks: Sequence[str],
    by: str | None = None,
    seed: int = 0,
) -> CheckpointReport: ...


@command(
    example='limen export hf limen-checkpoint --task "composition(m=3)"',
    answers=(
        Shown("limen.probes.export:ExportReport", "limen.render.export:lines_of"),
        Shown("limen.checkpoints.folder:CheckpointReport", "limen.render.export:checkpoint_lines"),
    ),
)
def export(
    harness: Annotated[
        Literal["lm-eval", "inspect", "hf"],
        Argument("lm-eval or inspect; hf: a construction as a checkpoint of transformers.", noun="harness"),
    ],
    folder: Annotated[PathLike, Argument("A folder for the files.", local=True)],
    *,
    tasks: Annotated[
        Sequence[str] | None,
        Option(
            'A task, such as recall; with hf one with its sizes: "eva(n=4)". May be repeated. Default: all.',
            flag="--task",
            complete=_complete.told,
        ),
    ] = None,
    by: Annotated[
        str | None,
        Option(
            "With hf: the construction, its id or the part after _by_. Default: the simplest.",
            complete=_complete.constructions,
            own=True,
        ),
    ] = None,
    n: Annotated[
        Sequence[int] | None,
        Option("Sizes: 4,8,16. Default: some of each task.", parse=quantities.numbers, least=2, most=512),
    ] = None,
    hops: Annotated[
        Sequence[int] | None,
        Option("Hops of facts. Default: 1..3.", parse=quantities.ranges, least=1, most=12),
    ] = None,
    contexts: Annotated[int | None, Option("Passages of each task. Default: 20.", least=1)] = None,
    wording: Annotated[
        Literal["completion", "question"] | None,
        Option("How questions are put. Default: completion.", noun="wording"),
    ] = None,
    seed: Annotated[int, Option("Seed of the texts.", least=0, most=LARGEST_SEED)] = 0,
) -> ExportReport | CheckpointReport:
    """The folder works without Limen. The texts are those that `limen probe` asks with the same seed; a
    checkpoint has explicit weights, and a check of every input, or of some where there are many.
    """
    options = {"--n": n, "--hops": hops, "--contexts": contexts, "--wording": wording}
    if harness == "hf":
        return _checkpoint(
            Path(folder), tasks or (), by, [name for name, value in options.items() if value], seed
        )
    if by is not None:
        raise BadInput(f"--by names a construction, which hf writes; {harness} has texts alone")
    return _texts(
        harness, Path(folder), tasks, n, hops or (1, 2, 3), contexts or 20, wording or "completion", seed
    )


def _checkpoint(
    folder: Path, tasks: Sequence[str], by: str | None, others: list[str], seed: int
) -> CheckpointReport:
    """A construction as transformers loads it."""
    from limen.checkpoints.folder import exported
    from limen.core.construction import construct
    from limen.core.task import Task

    if len(tasks) != 1:
        raise BadInput(f"hf: one --task is expected, such as composition(m=3); got {len(tasks)}")
    if others:
        raise BadInput(f"{others[0]} is for texts; hf takes --task, --by and --seed")
    return exported(construct(Task.parse(tasks[0]), by), folder, seed)


def _texts(
    harness: str,
    path: Path,
    tasks: Sequence[str] | None,
    n: Sequence[int] | None,
    hops: Sequence[int],
    contexts: int,
    wording: str,
    seed: int,
) -> ExportReport:
    """The tasks as text, with what the harness needs to ask them."""
    from limen.files.folder import ready_folder, write_folder
    from limen.probes.asking import SIZES, asks
    from limen.probes.export import ExportReport, exported, folder_files

    ready_folder(path)
    made = list(exported(asks(tasks or SIZES, n, hops), contexts, seed, wording))
    write_folder(path, folder_files(harness, made, contexts, seed, wording))
    return ExportReport(
        harness=harness,
        folder=str(path),
        tasks=tuple(task.name for task in made),
        questions=sum(len(task.docs) for task in made),
        seed=seed,
    )
