"""How `rule.c` becomes a library: by the system's C compiler, for numbers of one type.

The installation of the package loads this file by its path (setup.py), so it imports nothing of Limen.  It
builds each library for any processor of its kind, and on x86 also for those with AVX2 and for those with
AVX-512; `runs_here` of a library tells whether this processor is one.  What is built later is for it alone.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("rule.c")
REALS = ("float", "double")

# Sums may be reordered, which is what makes them vectors; NaN and ∞ stay what they are.
_FLAGS = (
    *("-O3", "-fno-math-errno", "-fno-trapping-math", "-fno-signed-zeros", "-fassociative-math"),
    *("-shared", "-fPIC", "-Wno-psabi"),  # vectors are passed inside the library alone
)
_NATIVE = {"x86_64": ("-march=native",), "aarch64": ("-mcpu=native",), "arm64": ("-mcpu=native",)}
_X86 = ("x86_64", "AMD64")
_FAST = {
    "avx512": ("-mavx512f", "-mavx512vl", "-mavx512dq", "-mfma"),
    "avx2": ("-mavx2", "-mfma"),
}


class NotBuilt(Exception):
    """There is no library, and this is why."""


class NotCompiled(NotBuilt):
    """The compiler names an error in the source: it would the next time, too.

    What it lacks, such as a linker or room on the disk, it may have then.
    """


def shipped_kinds() -> dict[str, tuple[str, ...]]:
    """The libraries that an installation brings, by the processors that they are for, the fastest first."""
    return (_FAST if platform.machine() in _X86 else {}) | {"any": ()}


def shipped(real: str, kind: str) -> Path:
    """The place of a library that came with the package."""
    return SOURCE.with_name(f"rule_{real}_{kind}.so")


def native() -> tuple[str, ...]:
    """The flags for this processor."""
    return _NATIVE.get(platform.machine(), ())


def compiler() -> list[str]:
    """The command $CC, else the first C compiler of the system."""
    given = os.environ.get("CC", "")
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise NotBuilt(f"CC is {given}, and that is no command: {error}") from error
    if words:
        if path := shutil.which(words[0]):
            return [path, *words[1:]]
        raise NotBuilt(f"CC is {words[0]}, and there is no such command")
    for name in ("cc", "gcc", "clang"):
        if path := shutil.which(name):
            return [path]
    raise NotBuilt("there is no C compiler: neither cc nor gcc nor clang")


def origin() -> str:
    """The digest of the source and of the flags: a library knows which it was made from."""
    return hashlib.sha256(b"\0".join([SOURCE.read_bytes(), *map(str.encode, _FLAGS)])).hexdigest()


def build(cc: list[str], real: str, flags: tuple[str, ...], to: Path) -> None:
    """Writes the library, or raises with the first error of the compiler."""
    given = (*_FLAGS, *flags, f"-DREAL={real}", f'-DORIGIN="{origin()}"', str(SOURCE), "-o", str(to))
    try:
        ended = subprocess.run([*cc, *given], capture_output=True, text=True, errors="replace", check=False)
    except OSError as error:
        raise NotBuilt(f"{cc[0]} cannot be run: {error.strerror}") from error
    if ended.returncode < 0:
        raise NotBuilt(f"{cc[0]} was ended by signal {-ended.returncode}")
    if ended.returncode:
        lines = [line.strip() for line in ended.stderr.splitlines() if line.strip()]
        first = next((line for line in lines if "error" in line), lines[0] if lines else "no message")
        refusal = NotCompiled if str(SOURCE) in first else NotBuilt
        raise refusal(f"{Path(cc[0]).name} cannot build it: {first}")
    if not to.exists():
        raise NotBuilt(f"{Path(cc[0]).name} wrote no library")
