"""Files that appear whole or not at all, beside what a folder holds already, and never instead of it.

A folder's new files are first written into a staging folder, `.limen-` and 16 digits, beside them or, where
the folder is new, beside it.  Only when all are there are they renamed into place, the last one last: so who
is ended meanwhile leaves the old files or the new ones.  A staging folder whose writer was ended is cleared
away by the next one: its writer held a lock on it, which went with the process.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from limen.errors import BadInput
from limen.files.strict_json import read_object

_STAGING = re.compile(r"\.limen-[0-9a-f]{16}")


def content_of(path: Path) -> bytes:
    """The content of a file; raises with the reason if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error


def ready_file(path: Path) -> None:
    """Refuses, before any work, a path at which no file can be written."""
    try:
        if path.is_dir():
            raise BadInput(f"{path} is a folder, expected a file")
    except OSError as error:  # too long, for one
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error
    _try(path, path.parent)


def ready_folder(path: Path) -> None:
    """Refuses, before any work, a path that is no folder and cannot become one, or a read-only one."""
    if path.exists() and not path.is_dir():
        raise BadInput(f"{path} is a file, expected a folder")
    _try(path, next(p for p in (path, *path.absolute().parents) if p.exists()))


def refuse_foreign(folder: Path, marks: str, *names: str, kind: str = "limen/") -> None:
    """Refuses, before any work, to write over files of these names, unless the one that marks them is ours.

    Ours is a JSON object whose schema begins with limen/, or is of this kind.
    """
    there = next((name for name in names if (folder / name).exists()), None)
    if there is not None and not _ours(folder / marks, kind):
        raise BadInput(f"{folder / there} already exists and was not written by Limen: choose another folder")


def _ours(path: Path, kind: str) -> bool:
    try:
        return str(read_object(path.read_bytes(), str(path)).get("schema")).startswith(kind)
    except (OSError, BadInput):
        return False


def _try(path: Path, folder: Path) -> None:
    """Makes and removes an empty file, since permissions alone do not tell whether one can write."""
    probe = folder / _name()
    try:
        _create(probe, b"")
        probe.unlink()
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file that appears under its name only when it is whole."""
    part = path.with_name(_name())
    try:
        _create(part, content)
        part.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def write_folder(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Writes files that appear together once the last is made; other files of the folder stay."""
    ready_folder(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _staging(folder if folder.exists() else folder.parent) as staging:
            names = []
            for name, content in files:
                (staging / name).parent.mkdir(parents=True, exist_ok=True)
                _create(staging / name, content)
                names.append(name)
            _move(staging, folder, names)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written: {error.strerror or error}") from error


def _move(staging: Path, folder: Path, names: list[str]) -> None:
    """Moves files into place, one writer at a time, or a new folder at once; equal files are not touched."""
    if not folder.exists():
        with suppress(OSError):  # somebody else was quicker
            staging.rename(folder)
            return
    with _locked(folder, fcntl.LOCK_EX):
        for name in names:
            old = folder / name
            if not (old.is_file() and old.read_bytes() == (staging / name).read_bytes()):
                old.parent.mkdir(parents=True, exist_ok=True)
                (staging / name).replace(old)


@contextmanager
def _staging(beside: Path) -> Iterator[Path]:
    """A staging folder, removed at the end whatever happens; so are those of writers that were killed."""
    for left in beside.iterdir():
        if _STAGING.fullmatch(left.name) and left.is_dir() and not left.is_symlink():
            with suppress(OSError), _locked(left, fcntl.LOCK_EX | fcntl.LOCK_NB):
                shutil.rmtree(left)
    made = beside / _name()
    made.mkdir()
    try:
        with _locked(made, fcntl.LOCK_EX):
            yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


@contextmanager
def _locked(folder: Path, how: int) -> Iterator[None]:
    """A lock on the folder itself: no file of it is left behind, and it ends with the process."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, how)
        yield
    finally:
        os.close(handle)


def _name() -> str:
    return f".limen-{os.urandom(8).hex()}"


def _create(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
