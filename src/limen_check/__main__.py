"""Checks a certificate, or all below a folder.

Exit 0: all hold that need no run of a model; 1: one does not; 2: one is malformed, or nothing was checked.

python -m limen_check FILE|DIR            installed
python -I -S limen_check FILE|DIR         a copy of this folder, with nothing else on the path
"""

import io
import sys
import time
from collections import Counter
from pathlib import Path

if not __package__:  # run as a folder: what stands beside it is its package
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from limen_check import ALONE, RUN, Malformed, Stopped, check
from limen_check.files import MOST_JSON, MOST_WEIGHTS, OTHERS, SCHEMA, expect, printable, read_json

_ENDS = ("valid", "NOT valid", "malformed", "stopped", "no certificate", "needs a run", "skipped")


def _read(path: Path, most: int) -> bytes:
    """A plain file, and no more of it than is allowed: a pipe may never end."""
    expect(not path.exists() or path.is_file(), "not a plain file")
    expect(path.stat().st_size <= most, f"more than {most} bytes")
    with path.open("rb") as file:
        content = file.read(most + 1)
    expect(len(content) <= most, f"more than {most} bytes")
    return content


def checked(path: Path) -> tuple[str, str]:
    """How it ended, and one line."""
    content, beside = b"", [path.parent / name for name in ("model.json", "model.safetensors")]
    try:
        content = _read(path, MOST_JSON)
        c = read_json(content, floats=True)
        schema = c.get("schema") if isinstance(c, dict) else None
        if isinstance(schema, str) and schema in OTHERS:
            return "skipped", f"{OTHERS[schema]}, no certificate"
        if schema == SCHEMA and c.get("kind") in RUN:
            return "needs a run", "a run of the model decides; `limen check` does it"
        asked = schema == SCHEMA and c.get("kind") not in ALONE and all(file.is_file() for file in beside)
        found = check(
            content, (_read(beside[0], MOST_JSON), _read(beside[1], MOST_WEIGHTS)) if asked else None
        )
        return "valid" if found.valid else "NOT valid", f"{found.kind}: {found.says}"
    except Stopped as error:
        return "stopped", str(error)
    except (Malformed, OSError) as error:
        return "malformed" if SCHEMA.encode() in content else "no certificate", " ".join(str(error).split())
    except Exception as error:  # memory, for one
        return "stopped", f"it cannot be read: {type(error).__name__}; nothing was derived"


def _below(path: Path) -> list[Path]:
    """All that a folder holds; a name that is too long is no folder's."""
    try:
        return sorted(path.rglob("*.json")) if path.is_dir() else [path]
    except OSError:
        return [path]


def main(arguments: list[str]) -> int:
    usage = "usage: python -m limen_check FILE|DIR\n"
    if len(arguments) != 1 or arguments[0].startswith("-"):
        told = arguments in (["--help"], ["-h"])
        (sys.stdout if told else sys.stderr).write(usage + (__doc__ or "") * told)
        return 0 if told else 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name may hold what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    start, ends, path = time.perf_counter(), Counter[str](), Path(arguments[0])
    for file in _below(path):
        end, line = checked(file)
        ends[end] += 1
        sys.stdout.write(f"{end}  {printable(str(file), 300)}  {printable(line)}\n")
    own = list(Path(__file__).parent.rglob("*.py"))
    lines = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in own)
    counts = ", ".join(f"{ends[end]} {end}" for end in _ENDS if ends[end]) or "no certificate found"
    trusted = f"trusted: {lines} lines in {len(own)} files, Python, and the theorems named"
    sys.stdout.write(f"{counts}; {time.perf_counter() - start:.1f} s; {trusted}\n")
    bad = ends["malformed"] + ends["stopped"] + ends["no certificate"]
    return 2 if bad or not ends["valid"] + ends["NOT valid"] else 1 if ends["NOT valid"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
