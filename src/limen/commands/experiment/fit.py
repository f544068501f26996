"""Fit the law of one linear read to result files: one number a mixer, with what is left over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from limen.commands._command import Shown, command
from limen.commands._words import Experiments, PathLike
from limen.core.option import Option
from limen.errors import BadInput

if TYPE_CHECKING:
    from limen.training.fit import FitReport


@command(
    example="limen experiment fit index_length",
    answers=(Shown("limen.training.fit:FitReport", "limen.render.experiment.fit:lines_of"),),
)
def fit(
    *experiment: Experiments,
    folder: Annotated[
        PathLike | None, Option("Folder of results. Default: the results that Limen ships.", local=True)
    ] = None,
    save: Annotated[PathLike | None, Option("Save the fits in this .json file.", local=True)] = None,
) -> FitReport:
    """A heuristic that fits, no theorem: `limen audit` and `limen compare` show it beside what is proved."""
    import msgspec

    from limen.files.folder import ready_file, write_whole
    from limen.training.experiment import named
    from limen.training.fit import FitReport, fits
    from limen.training.judged import kept_in

    if save is not None:
        ready_file(Path(save))
    where = None if folder is None else Path(folder)
    runs = {digest: run for name in named(experiment) for digest, run in kept_in(where, name).items()}
    fitted = fits(runs.values())
    if not fitted:
        raise BadInput(
            f"{', '.join(experiment)}: no run that tells: index or retrieval by one layer of a matrix "
            "memory, between 6 % and 99.7 % right"
        )
    if save is not None:
        write_whole(Path(save), msgspec.json.format(msgspec.json.encode(fitted), indent=1) + b"\n")
    return FitReport(experiment=", ".join(experiment), fits=fitted)
