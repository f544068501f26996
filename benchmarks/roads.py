"""The road of a command through the house: which files of limen it enters, in the order of first entry.

    python benchmarks/roads.py [--source BEFORE/src]      decide, solve, audit, and a table of 2 × 2
    python benchmarks/roads.py [--source …] decide "eva(n=488)" "linear(h=1,d=16,p=16)"

A file is entered when a function of it is called; loading it does not count.  `--source` traces another
commit, as `git worktree add BEFORE COMMIT` lays it out.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

ROOT = Path(__file__).resolve().parents[1]
ROADS = (
    ("decide", "eva(n=488)", "linear(h=1,d=16,p=16)"),
    ("solve", "eva(n=16)"),
    ("audit", str(ROOT / "examples/configs/gpt_oss_120b.json")),
    (
        "table",
        "--row",
        "linear",
        "--row",
        "hybrid",
        "--column",
        "eva",
        "--column",
        "composition",
        "--out",
        "OUT",
    ),
)
_NOT_CALLED = ("<module>", "<lambda>", "<listcomp>", "<dictcomp>", "<genexpr>", "<setcomp>")


def entered(command: list[str]) -> list[str]:
    """The files whose functions a command calls; this process must not have called any of them before."""
    import limen.cli

    found: dict[str, None] = {}
    root = Path(limen.cli.__file__).parents[1]
    inside: dict[str, str | None] = {}  # what is entered, by the file name of a frame

    def seen(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code.co_name in _NOT_CALLED:
            return
        name = code.co_filename
        if name not in inside:
            path = Path(name)
            inside[name] = str(path.relative_to(root)) if path.is_relative_to(root) else None
        if (short := inside[name]) is not None and not _defines(frame):
            found.setdefault(short)

    sys.argv = ["limen", *command]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        sys.setprofile(seen)
        try:
            limen.cli.main()
        finally:
            sys.setprofile(None)
    return list(found)


def _defines(frame: FrameType) -> bool:
    """Whether the frame is the body of a class, run while its file is loaded."""
    return frame.f_back is not None and frame.f_back.f_code.co_name == "<module>"


def traced(source: Path, command: list[str]) -> list[str]:
    """The same in a fresh process, with the code of `source`."""
    with tempfile.TemporaryDirectory() as out:
        call = [sys.executable, __file__, "--here", *(out if a == "OUT" else a for a in command)]
        done = subprocess.run(
            call, env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True
        )
    found: list[str] = json.loads(done.stdout)
    return found


def main() -> None:
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(entered(sys.argv[2:])))
        return
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--source", type=Path, default=ROOT / "src")
    words.add_argument("command", nargs=argparse.REMAINDER)
    asked = words.parse_args()
    for command in [tuple(asked.command)] if asked.command else ROADS:
        files = traced(asked.source.resolve(), list(command))
        print(f"{' '.join(command)}: {len(files)} files")
        print(*(f"  {file}" for file in files), sep="\n")


if __name__ == "__main__":
    main()
