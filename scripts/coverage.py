"""docs/coverage.md: every statement of the sources, the command that shows it, and what the command gives
now.

Runs the commands of docs/coverage.toml, each once.  A row works if its command ends with the code that is
expected and prints all that must be found; nothing else says so.  Exit 1 if a row does not, or is missing.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
ROWS, PAGE = HOUSE / "docs" / "coverage.toml", HOUSE / "docs" / "coverage.md"
_WORDS, _LONGEST, _SECONDS = 10, 160, 300  # words of a quote; letters of a result; a command's time
WORKS, DIFFERS, TRAINED = "works", "differs", "belongs to training"
MISSING, FAILS = "missing", "FAILS"


@dataclass(frozen=True)
class Statement:
    """One row: where it stands, what it says, the command that shows it, what must be found in its output."""

    source: str
    place: str
    quote: str
    says: str
    run: str = ""
    shows: tuple[str, ...] = ()
    differs: str = ""  # why the result is another one than the source's
    training: str = ""  # what of training or practice shows it
    exit: int = 0

    def __post_init__(self) -> None:
        if len(self.quote.split()) > _WORDS:
            raise SystemExit(f"{self.place}: {self.quote!r} quotes more than {_WORDS} words")
        if self.run and not self.shows:
            raise SystemExit(f"{self.place}: {self.quote!r} says not what its command must show")


@dataclass(frozen=True)
class Ran:
    """What a command printed, and the code that it ended with."""

    output: str
    code: int
    seconds: float

    def found(self, pattern: str) -> str | None:
        """The line of the output in which the pattern is found."""
        match = re.search(pattern, self.output, re.MULTILINE)
        return (
            match
            and self.output[
                self.output.rfind("\n", 0, match.start() + 1) + 1 : _end(self.output, match.start() + 1)
            ].strip()
        )


def _end(text: str, at: int) -> int:
    return text.find("\n", at) if "\n" in text[at:] else len(text)


@dataclass(frozen=True)
class Row:
    """A statement and what its command gave."""

    of: Statement
    ran: Ran | None

    @property
    def lacks(self) -> list[str]:
        """What was expected and not found."""
        if self.ran is None:
            return []
        code = [] if self.ran.code == self.of.exit else [f"exit {self.ran.code}, not {self.of.exit}"]
        return [*code, *(pattern for pattern in self.of.shows if self.ran.found(pattern) is None)]

    @property
    def status(self) -> str:
        if self.lacks:
            return FAILS
        if self.of.training:
            return TRAINED
        if self.ran is None:
            return MISSING
        return DIFFERS if self.of.differs else WORKS

    @property
    def said(self) -> str:
        """The status in words."""
        match self.status:
            case "FAILS":
                return "**FAILS**: " + "; ".join(f"no {lack!r}" for lack in self.lacks)
            case "differs":
                return f"differs, because {self.of.differs}"
            case "belongs to training":
                return f"belongs to training: {self.of.training}"
            case status:
                return status

    @property
    def result(self) -> str:
        """The first line that was to be found."""
        if self.ran is None or not self.of.shows:
            return "–"
        line = next(filter(None, map(self.ran.found, reversed(self.of.shows))), "–")
        return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def statements() -> tuple[dict[str, str], list[Statement]]:
    """The sources by name, and all rows."""
    read = tomllib.loads(ROWS.read_text())
    rows = [Statement(**row | {"shows": tuple(row.get("shows", ()))}) for row in read["statement"]]
    if unknown := {row.source for row in rows} - set(read["sources"]):
        raise SystemExit(f"{ROWS}: unknown sources {unknown}")
    return read["sources"], rows


def ran(commands: str) -> Ran:
    """Runs commands one after the other, as long as they end with 0; `&&` stands between them."""
    output, code, seconds = "", 0, 0.0
    for command in commands.split(" && "):
        one = _ran(command)
        output, code, seconds = output + one.output, one.code, seconds + one.seconds
        if code:
            break
    return Ran(output, code, seconds)


def _ran(command: str) -> Ran:
    """With the house's own programs."""
    name, *arguments = shlex.split(command)
    program = Path(sys.executable).parent / name
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    start = time.monotonic()
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=HOUSE,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Ran(f"not done after {_SECONDS} s", -1, _SECONDS)
    return Ran(done.stdout, done.returncode, time.monotonic() - start)


def all_ran(commands: Iterable[str]) -> dict[str, Ran]:
    """Each command once, one a core, with a line of progress for each."""
    once, results = list(dict.fromkeys(commands)), dict[str, Ran]()
    (HOUSE / "build" / "coverage").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        running = {pool.submit(ran, command): command for command in once}
        for i, done in enumerate(as_completed(running), 1):
            command = running[done]
            results[command] = done.result()
            print(f"{i}/{len(once)}  {results[command].seconds:5.1f} s  {command}", flush=True)
    return results


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else "–"


def page(sources: dict[str, str], rows: list[Row]) -> str:
    """The page: how many of each status, then a table a source."""
    counts = Counter(row.status for row in rows)
    kinds = ", ".join(f"{counts[kind]} {kind}" for kind in (WORKS, DIFFERS, TRAINED, MISSING, FAILS))
    lines = [
        "# What the sources say, and what shows it here",
        "",
        "Made by `make coverage` from [coverage.toml](coverage.toml): every command below was run, "
        "and a row works only if",
        "its command printed what it must. At most ten words of a source are quoted.",
        "",
        f"{len(rows)} statements: {kinds}.",
    ]
    for name, title in sources.items():
        lines += [
            "",
            f"## {title}",
            "",
            "| where | statement | command | result | status |",
            "|---|---|---|---|---|",
        ]
        for row in (row for row in rows if row.of.source == name):
            said = f"“{_cell(row.of.quote)}” {_cell(row.of.says)}"
            cells = row.of.place, said, _code(row.of.run), _code(row.result), _cell(row.said)
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    sources, asked = statements()
    results = all_ran(row.run for row in asked if row.run)
    rows = [Row(row, results.get(row.run)) for row in asked]
    PAGE.write_text(page(sources, rows))
    short = [row for row in rows if row.status in (MISSING, FAILS)]
    for row in short:
        print(f"{row.status}: {row.of.place}: “{row.of.quote}” {'; '.join(row.lacks)}")
    print(f"{PAGE}: {len(rows)} statements, {len(rows) - len(short)} shown")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main())
