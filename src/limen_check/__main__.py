"""Checks a certificate, or all below a folder; -v names the rules, files and lines behind each answer.

Exit 0: all hold that need no run of a model; 1: one does not; 2: one is malformed, or nothing was checked.

python -m limen_check [-v] FILE|DIR       installed
python -I -S limen_check [-v] FILE|DIR    a copy of this folder, with nothing else on the path
"""

import io
import sys
import time
from collections import Counter
from pathlib import Path

if not __package__:  # run as a folder: what stands beside it is its package
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from limen_check import ALONE, RUN, Checked, Malformed, Stopped, check, trusted
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


def _claims(content: bytes) -> tuple[str, str]:
    """The schema and the kind that a file names; the rest of it is not kept."""
    c = read_json(content, floats=True)
    return (str(c.get("schema")), str(c.get("kind"))) if isinstance(c, dict) else ("", "")


def checked(path: Path, watch: bool = False) -> tuple[str, str, Checked | None]:
    """How it ended, one line, and the kernel's answer where there is one."""
    content, beside = b"", [path.parent / name for name in ("model.json", "model.safetensors")]
    try:
        content = _read(path, MOST_JSON)
        schema, kind = _claims(content)
        if schema in OTHERS:
            return "skipped", f"{OTHERS[schema]}, no certificate", None
        if schema == SCHEMA and kind in RUN:
            return "needs a run", "a run of the model decides; `limen check` does it", None
        weighs = schema == SCHEMA and kind not in ALONE and all(file.is_file() for file in beside)
        files = (_read(beside[0], MOST_JSON), _read(beside[1], MOST_WEIGHTS)) if weighs else None
        answer = check(content, files, watch)
        return "valid" if answer.valid else "NOT valid", f"{answer.kind}: {answer.says}", answer
    except Stopped as error:
        return "stopped", str(error), None
    except (Malformed, OSError) as error:
        end = "malformed" if SCHEMA.encode() in content else "no certificate"
        return end, " ".join(str(error).split()), None
    except Exception as error:  # memory, for one
        return "stopped", f"it cannot be read: {type(error).__name__}; nothing was derived", None


def _below(path: Path) -> list[Path]:
    """All that a folder holds; a name that is too long is no folder's."""
    try:
        return sorted(path.rglob("*.json")) if path.is_dir() else [path]
    except OSError:
        return [path]


def main(arguments: list[str]) -> int:
    usage, watch = "usage: python -m limen_check [-v] FILE|DIR\n", arguments[:1] == ["-v"]
    names = arguments[watch:]
    if len(names) != 1 or names[0].startswith("-"):
        helps = arguments in (["--help"], ["-h"])
        (sys.stdout if helps else sys.stderr).write(usage + (__doc__ or "") * helps)
        return 0 if helps else 2
    if isinstance(sys.stdout, io.TextIOWrapper):  # a name may hold what the terminal cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    start, ends, behind = time.perf_counter(), Counter[str](), trusted.files(["limen_check.__main__"])
    for file in _below(Path(names[0])):
        end, line, answer = checked(file, watch)
        ends[end] += 1
        sys.stdout.write(f"{end}  {printable(str(file), 300)}  {printable(line)}\n")
        if answer is not None:
            behind |= answer.files
            more = trusted.told(answer.rules, answer.files) if watch else []
            sys.stdout.write("".join(f"    {line}\n" for line in more))
    counts = ", ".join(f"{ends[end]} {end}" for end in _ENDS if ends[end]) or "no certificate found"
    base = f"trusted: {sum(behind.values())} lines in {len(behind)} files, Python, and the theorems named"
    sys.stdout.write(f"{counts}; {time.perf_counter() - start:.1f} s; {base}\n")
    bad = ends["malformed"] + ends["stopped"] + ends["no certificate"]
    return 2 if bad or not ends["valid"] + ends["NOT valid"] else 1 if ends["NOT valid"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
