"""Many runs: what is done already is not repeated, and each result is kept the moment it is there.

Killed anywhere and started again, a sweep goes on with what has no result: the files are all it remembers.
Who runs (processes of this machine, a Dask cluster) is a function that is given specs and hands back what
became of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from limen.files.folder import ready_folder
from limen.training.results import Failure, digests, keep
from limen.training.run import RunResult
from limen.training.spec import Spec

Deliver = Callable[[RunResult | Failure], None]
Runs = Callable[[list[Spec], Deliver], None]


class Swept(NamedTuple):
    """How many specs there are, how many have a result, how many failed."""

    specs: int
    done: int
    failed: int


def due(specs: Iterable[Spec], folder: Path, retry: bool) -> list[Spec]:
    """Each spec once that has no result; those that failed only if they are to be tried again."""
    done, failed = digests(folder)
    skipped = done if retry else done | failed
    return [spec for digest, spec in _once(specs).items() if digest not in skipped]


def sweep(specs: Iterable[Spec], folder: Path, runs: Runs, retry: bool, deliver: Deliver) -> Swept:
    """Runs what is due; `deliver` hears of each when it has been written."""
    ready_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(specs)

    def kept(ended: RunResult | Failure) -> None:
        keep(folder, ended)
        deliver(ended)

    if missing := due(wanted, folder, retry):
        runs(missing, kept)
    return counted(wanted, folder)


def counted(specs: Iterable[Spec], folder: Path) -> Swept:
    """What the files say of these specs."""
    done, failed = digests(folder)
    names = _once(specs).keys()
    return Swept(len(names), len(names & done), len(names & failed))


def _once(specs: Iterable[Spec]) -> dict[str, Spec]:
    return {spec.digest: spec for spec in specs}
