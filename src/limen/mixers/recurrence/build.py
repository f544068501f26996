"""C compiled once with the system's compiler; the library stays in a folder of the user's cache.

Its name is a digest of the source, the flags, the compiler and the processor, so an old one is never taken
for a new one.  It is written under another name first: who finds it finds it whole.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

# Sums may be reordered, which is what makes them vectors; NaN and ∞ stay what they are.
_FLAGS = (
    "-O3 -march=native -fno-math-errno -fno-trapping-math -fno-signed-zeros -fassociative-math -shared -fPIC"
)


def compiler() -> str | None:
    """The path of $CC or of the system's C compiler; None if there is none."""
    return next(
        (path for name in (os.environ.get("CC"), "cc", "gcc") if (path := shutil.which(name or ""))), None
    )


@cache
def library(source: Path, real: str) -> ctypes.CDLL | None:
    """The library for numbers of a type; None where there is no compiler, or it cannot build this."""
    cc = compiler()
    if cc is None:
        return None
    path = _folder() / f"{source.stem}-{real}-{_digest(source, cc, real)}.so"
    if not path.exists() and not _built(cc, source, real, path):
        return None
    return ctypes.CDLL(str(path))


def _built(cc: str, source: Path, real: str, path: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / path.name
        command = [cc, *_FLAGS.split(), f"-DREAL={real}", str(source), "-o", str(made)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return False
        made.replace(path)
    return True


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "limen"


def _digest(source: Path, cc: str, real: str) -> str:
    cpu = Path("/proc/cpuinfo")
    flags = (
        next((line for line in cpu.read_text().splitlines() if line.startswith("flags")), "")
        if cpu.exists()
        else ""
    )
    version = subprocess.run([cc, "--version"], capture_output=True, text=True, check=False).stdout
    told = "\0".join([source.read_text(), _FLAGS, real, version, platform.machine(), flags])
    return hashlib.sha256(told.encode()).hexdigest()[:16]
