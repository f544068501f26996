"""The libraries of `rule.c`: those that came with the package, else those of the cache, built if missing.

A record in the cache is named by a digest of all that a library depends on: the source, the flags, the
compiler and the processor.  It names the library by the digest of its content, or tells the compiler's error,
which stands for a day.  Both appear under their names when they are whole, so many processes may build at
once.  Nothing is loaded that another user could have written.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from limen.mixers.recurrence.build import (
    REALS,
    NotBuilt,
    NotCompiled,
    build,
    compiler,
    native,
    origin,
    shipped,
    shipped_kinds,
)

_STANDS = 24 * 3600  # seconds: a compiler may be repaired, and it looks the same
_SCRATCH = "building-"
_PROCESSOR = ("vendor_id", "cpu family", "model", "flags", "Features", "CPU ", "isa", "cpu\t")


class Libraries(NamedTuple):
    """One for each type of numbers; none: torch runs the rule."""

    by_real: Mapping[str, ctypes.CDLL]
    why: str  # which they are, or why there are none


@cache
def libraries() -> Libraries:
    """The libraries for this processor, looked for and built once in a process."""
    passed: dict[str, list[str]] = {}  # the kinds that are not taken, by the reason
    for kind in shipped_kinds():
        try:
            return Libraries(_shipped(kind), f"installed with the package, for {_for(kind)}{_but(passed)}")
        except NotBuilt as error:
            passed.setdefault(str(error), []).append(_for(kind))
    try:
        cc = compiler()
        folder = _own_folder()
        with ThreadPoolExecutor() as both:
            made = list(both.map(partial(_kept, folder, cc), REALS))
        return Libraries(
            dict(zip(REALS, map(_loaded, made), strict=True)),
            f"built here by {Path(cc[0]).name}, for this processor{_but(passed)}",
        )
    except NotBuilt as error:
        return Libraries({}, f"{error}{_but(passed)}")
    except OSError as error:
        return Libraries({}, f"{error.filename} cannot be used: {error.strerror}{_but(passed)}")


def _for(kind: str) -> str:
    return {"avx512": "processors with AVX-512", "avx2": "processors with AVX2"}.get(
        kind, f"any {platform.machine()}"
    )


def _but(passed: Mapping[str, list[str]]) -> str:
    """What came with the package and is not taken, and why."""
    return "".join(f"; the library for {' and '.join(kinds)} {why}" for why, kinds in passed.items())


def _shipped(kind: str) -> dict[str, ctypes.CDLL]:
    """The libraries that came with the package; raises if there are none for this processor and source."""
    paths = {real: shipped(real, kind) for real in REALS}
    if not all(path.exists() for path in paths.values()):
        raise NotBuilt("did not come with the package")
    try:
        loaded = {real: ctypes.CDLL(str(path)) for real, path in paths.items()}
    except OSError as error:
        raise NotBuilt(f"cannot be loaded: {error}") from error
    if not all(map(_current, loaded.values())):
        raise NotBuilt("was built from another rule.c")
    if not all(one.runs_here() for one in loaded.values()):
        raise NotBuilt("needs another processor")
    return loaded


def _current(library: ctypes.CDLL) -> bool:
    """Whether it was made from the source as it is: in an editable installation the source may change."""
    library.made_from.restype = ctypes.c_char_p
    return bool(library.made_from() == origin().encode())


def _loaded(path: Path) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(str(path))
        current = _current(library)
    except (OSError, AttributeError) as error:  # a file system runs nothing, or an option of $CC hides names
        raise NotBuilt(f"the library that was built cannot be loaded: {error}") from error
    if not current:
        raise NotBuilt("the library that was built is of another rule.c")
    return library


def _own_folder() -> Path:
    """The folder of the cache, made if it is missing."""
    try:
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "limen"
    except RuntimeError as error:
        raise NotBuilt("there is no home folder for a cache, and XDG_CACHE_HOME is not set") from error
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = folder.resolve()
    _refuse_foreign(folder, folder.stat())
    for parent in folder.parents:  # who may rename there could put another folder into this one's place
        if os.name == "posix" and parent.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH:
            raise NotBuilt(f"{parent} can be written to by other users: chmod o-w {parent}")
    return folder


def _refuse_foreign(path: Path, seen: os.stat_result) -> None:
    """Raises if another user owns it or may write to it."""
    if hasattr(os, "getuid") and seen.st_uid != os.getuid():
        raise NotBuilt(f"{path} belongs to another user")
    if os.name == "posix" and stat.S_IMODE(seen.st_mode) & 0o022:
        raise NotBuilt(f"{path} can be written to by other users: chmod go-w {path}")


def _content(path: Path) -> bytes | None:
    """What is in a file of this user's; None if there is none."""
    try:
        with path.open("rb") as file:
            _refuse_foreign(path, os.fstat(file.fileno()))
            return file.read()
    except FileNotFoundError:
        return None


def _kept(folder: Path, cc: list[str], real: str) -> Path:
    """The library in the cache; built if it is not there, or not as it was."""
    record = folder / f"rule_{real}-{_key(cc, real)}.json"
    if (path := _recorded(record)) is not None:
        return path
    _swept(folder)
    with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
        made, note = Path(scratch) / "rule.so", Path(scratch) / "note.json"
        try:
            build(cc, real, native(), made)
        except NotCompiled as error:
            note.write_text(json.dumps({"error": str(error)}), encoding="utf-8")
            note.chmod(0o600)
            note.replace(record)
            raise
        path = folder / f"rule_{real}-{hashlib.sha256(made.read_bytes()).hexdigest()}.so"
        note.write_text(json.dumps({"library": path.name}), encoding="utf-8")
        for new in (made, note):
            new.chmod(0o600)
        made.replace(path)
        note.replace(record)
    return path


def _swept(folder: Path) -> None:
    """Removes what builds left behind that were killed."""
    for scratch in folder.glob(f"{_SCRATCH}*"):
        with suppress(FileNotFoundError):  # its build has just ended
            if time.time() - scratch.stat().st_mtime > _STANDS:
                shutil.rmtree(scratch)


def _recorded(record: Path) -> Path | None:
    """The library that a record names; None if it is to be built.  Raises where the record tells an error."""
    content = _content(record)
    if content is None:
        return None
    try:
        note = json.loads(content)
        error, name = note.get("error"), Path(str(note.get("library"))).name
    except (ValueError, AttributeError):  # not what this module writes
        return None
    if error is not None:
        if time.time() - record.stat().st_mtime > _STANDS:
            return None
        raise NotBuilt(f"{error} (tried before: {record})")
    path = record.with_name(name)
    whole = _content(path)
    return path if whole is not None and hashlib.sha256(whole).hexdigest() in name else None


def _key(cc: list[str], real: str) -> str:
    program = Path(cc[0]).resolve()
    seen = program.stat()
    parts = [origin(), real, *cc, *native(), str(program), seen.st_size, seen.st_mtime_ns, _processor()]
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def _processor() -> str:
    """What the system says about the processors, each kind once."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join([platform.machine(), *sorted({line for line in lines if line.startswith(_PROCESSOR)})])
