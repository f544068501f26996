"""Checks a certificate, or all below a folder.  Exit 0: all hold; 1: one does not; 2: one is malformed.

python -m limen_check FILE|DIR            installed
python -I -S limen_check FILE|DIR         a copy of this folder, with nothing else on the path
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

if not __package__:  # run as a folder: what stands beside it is its package
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from limen_check import RUN, Malformed, check
from limen_check.files import SCHEMA, kind_of

_MODEL = ("model.json", "model.safetensors")


def certificates(path: Path) -> Iterator[Path]:
    """A file, or all JSON files below a folder but the models' own and the report's."""
    if path.is_dir():
        yield from sorted(p for p in path.rglob("*.json") if p.name not in ("model.json", "report.json"))
    else:
        yield path


def checked(path: Path) -> tuple[str, str]:
    """How it ended, and one line."""
    content = b""
    try:
        content = path.read_bytes()
        if kind_of(content) in RUN:
            return "needs a run", "a run of the model decides; `limen check` does it"
        files = [path.parent / name for name in _MODEL]
        found = check(content, (files[0].read_bytes(), files[1].read_bytes()) if _beside(files) else None)
        return "valid" if found.valid else "NOT valid", f"{found.kind}: {found.says}"
    except (Malformed, OSError) as error:
        end = "malformed" if SCHEMA.encode() in content else "no certificate"
        return end, " ".join(str(error).split())


def _beside(files: list[Path]) -> bool:
    return all(file.is_file() for file in files)


def main(arguments: list[str]) -> int:
    usage = "usage: python -m limen_check FILE|DIR\n"
    if arguments in (["--help"], ["-h"]):
        sys.stdout.write(usage + (__doc__ or ""))
        return 0
    if len(arguments) != 1 or arguments[0].startswith("-"):
        sys.stderr.write(usage)
        return 2
    start, ends = time.perf_counter(), Counter[str]()
    for path in certificates(Path(arguments[0])):
        end, line = checked(path)
        ends[end] += 1
        sys.stdout.write(f"{end}  {path}  {line}\n")
    own = list(Path(__file__).parent.glob("*.py"))
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in own)
    order = ("valid", "NOT valid", "malformed", "no certificate", "needs a run")
    counts = ", ".join(f"{ends[end]} {end}" for end in order if ends[end]) or "no certificate found"
    sys.stdout.write(
        f"{counts}; {time.perf_counter() - start:.1f} s; trusted: {lines} lines in {len(own)} files, Python, "
        "and the theorems named\n"
    )
    bad = ends["malformed"] or ends["no certificate"] or not ends
    return 2 if bad else 1 if ends["NOT valid"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
