"""CONTRIBUTING.md: its diffs, applied to a copy of the code, do what it says; its messages are there."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
BLOCK = re.compile(r"^```(diff|console)\n(.*?)^```$", re.M | re.S)


def files_of(diff: str) -> Iterator[tuple[str, list[str]]]:
    """Each file of a diff, with the lines of its hunks."""
    for part in re.split(r"^--- .*\n\+\+\+ b/", diff, flags=re.M)[1:]:
        path, _, hunks = part.partition("\n")
        yield path, re.split(r"^@@.*\n", hunks, flags=re.M)[1:]


def applied(diff: str, folder: Path) -> None:
    """Changes the files below a folder; what a hunk speaks of must stand there exactly once."""
    for path, hunks in files_of(diff):
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text() if file.exists() else ""
        for hunk in hunks:
            lines = hunk.splitlines()
            old, new = ("\n".join(line[1:] for line in lines if line[:1] != sign) for sign in "+-")
            assert text.count(old) == 1 or not (text or old), f"{path}: {old}"
            text = text.replace(old, new) if text else f"{new}\n"
        file.write_text(text)


def printed(command: str, folder: Path) -> str:
    """What a command prints with the code below the folder."""
    program, *arguments = shlex.split(command)
    assert program == "limen"
    there = os.environ | {"PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, "-m", "limen", *arguments],
        cwd=folder, env=there, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


@pytest.mark.long
def test_each_section_does_what_it_says(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tests").mkdir()
    shutil.copy(ROOT / "tests/test_task_laws.py", tmp_path / "tests")
    kinds = []
    for kind, block in BLOCK.findall(PAGE):
        kinds.append(kind)
        if kind == "diff":
            applied(block, tmp_path)
            continue
        for piece in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, output = piece.partition("\n")
            assert printed(command, tmp_path).split("\n") == output.split("\n"), command
    assert kinds.count("diff") >= 12 and kinds.count("console") >= 9


def test_every_addition_has_its_section() -> None:
    table = re.findall(r"^\| \[an? [\w ]+\]\(#([\w-]+)\)", PAGE, re.M)
    sections = [title.lower().replace(" ", "-") for title in re.findall(r"^## (.*)$", PAGE, re.M)]
    assert len(table) == 8 and set(table) <= set(sections)


def test_the_reasons_that_the_page_explains_are_those_of_the_kernel() -> None:
    kernel = "".join(path.read_text() for path in (ROOT / "src/limen_check").rglob("*.py"))
    section = PAGE.partition("as they are printed")[2]
    reasons = re.findall(r"`([^`]*)`(?= ·| \|)", section)
    assert len(reasons) > 40
    names = re.compile(r"running_max|softmax(?= with)|odd(?= becomes)|…")  # what a file fills in
    for reason in reasons:
        assert all(part.strip(" ,") in kernel for part in names.split(reason)), reason


def test_a_hunk_that_speaks_of_other_lines_is_not_applied(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    applied("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 3\n", tmp_path)
    assert (tmp_path / "a.py").read_text() == "x = 1\ny = 3\n"
    try:
        applied("--- a/a.py\n+++ b/a.py\n@@ -1,2 +1,2 @@\n x = 1\n-y = 2\n+y = 4\n", tmp_path)
    except AssertionError:
        return
    raise AssertionError("it was applied")
