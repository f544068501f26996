"""Many runs: finished ones are not repeated, and each result is written at once.

Killed at any time and started again, a sweep continues with the specs that have no result file.  A runner
(processes of this computer, a Dask cluster) is a function from specs to their results or failures.
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
    """The numbers of specs, of results and of failures."""

    specs: int
    done: int
    failed: int


def due(specs: Iterable[Spec], folder: Path, retry: bool) -> list[Spec]:
    """The specs without a result, each once; failed ones only with `retry`."""
    done, failed = digests(folder)
    skipped = done if retry else done | failed
    return [spec for digest, spec in _once(specs).items() if digest not in skipped]


def sweep(specs: Iterable[Spec], folder: Path, runs: Runs, retry: bool, deliver: Deliver) -> Swept:
    """Runs the specs that are due; `deliver` is called after each result has been written."""
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
    """The numbers of results and failures of these specs, from the files."""
    done, failed = digests(folder)
    names = _once(specs).keys()
    return Swept(len(names), len(names & done), len(names & failed))


def _once(specs: Iterable[Spec]) -> dict[str, Spec]:
    return {spec.digest: spec for spec in specs}
