"""Results on disk: one file a run, named after its spec, whole or not there; failures beside them.

    FOLDER/<digest>.json            what a run gave
    FOLDER/<digest>.failed.json     why a run gave nothing; gone once it succeeded

Files are data, never code.  Several that belong together are also kept as lines of one file, as they are
shipped.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from limen.errors import BadInput
from limen.files.folder import content_of, write_whole
from limen.training.run import RunResult
from limen.training.spec import Spec

_FAILED = ".failed.json"
Kind = TypeVar("Kind")


class Failure(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="schema",
    tag="limen/failure/1",
):
    """A run that ended without a result."""

    digest: str
    spec: Spec
    error: str
    trace: str

    @property
    def told(self) -> str:
        """The error message."""
        return self.error


def keep(folder: Path, ended: RunResult | Failure) -> None:
    """Writes a result, in whose place a failure may have stood, or a failure."""
    failed = folder / f"{ended.digest}{_FAILED}"
    path = failed if isinstance(ended, Failure) else folder / f"{ended.digest}.json"
    write_whole(path, msgspec.json.format(msgspec.json.encode(ended), indent=1) + b"\n")
    if isinstance(ended, RunResult):
        failed.unlink(missing_ok=True)


def digests(folder: Path) -> tuple[set[str], set[str]]:
    """The digests of the results and of the failures in a folder; no file is read."""
    names = {path.name for path in folder.glob("*.json")}
    failed = {name.removesuffix(_FAILED) for name in names if name.endswith(_FAILED)}
    done = {name.removesuffix(".json") for name in names if not name.endswith(_FAILED)}
    return done, failed - done


def results(folder: Path, wanted: Iterable[str] | None = None) -> list[RunResult]:
    """All results of a folder, or those with these digests."""
    names = digests(folder)[0] if wanted is None else set(wanted) & digests(folder)[0]
    return [
        _read(content_of(path), str(path)) for path in (folder / f"{name}.json" for name in sorted(names))
    ]


def ended(folder: Path, wanted: Iterable[str]) -> dict[str, RunResult | Failure]:
    """What became of the runs with these digests; those that are not there yet are left out."""
    names = set(wanted)
    paths = [folder / f"{name}{_FAILED}" for name in sorted(names & digests(folder)[1])]
    failed = [_decoded(content_of(path), Failure, str(path)) for path in paths]
    both: list[RunResult | Failure] = [*results(folder, names), *failed]
    return {one.digest: one for one in both}


def read_lines(path: Path) -> list[RunResult]:
    """Results kept as lines of one file."""
    return [_read(line, f"{path}, line {i}") for i, line in enumerate(content_of(path).splitlines(), 1)]


def write_lines(path: Path, results: Iterable[RunResult]) -> None:
    """One line a result, in the order of their names, so that two files are easily compared."""
    lines = [msgspec.json.encode(result) for result in sorted(results, key=lambda result: result.digest)]
    write_whole(path, b"".join(line + b"\n" for line in lines))


def _read(content: bytes, what: str) -> RunResult:
    """The result in a file; raises if its digest is not that of its spec."""
    result = _decoded(content, RunResult, what)
    if result.digest != result.spec.digest:
        raise BadInput(f"{what}: its spec has the digest {result.spec.digest}, it says {result.digest}")
    measured = result.measurement
    if not all(
        0 <= share <= 1 for share in (measured.accuracy, measured.best, measured.chance, measured.floor)
    ):
        raise BadInput(f"{what}: accuracy, best, chance and floor are between 0 and 1")
    return result


def _decoded(content: bytes, kind: type[Kind], what: str) -> Kind:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise BadInput(f"{what}: {error}") from error
