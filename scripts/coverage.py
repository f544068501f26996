"""docs/coverage.md: every statement of the sources, the command that shows it, and what the command gives
now.

Runs the commands of docs/coverage.toml, each once, and keeps what they printed in docs/coverage.json.  With
words: only the rows whose place, quote or command has one of them; the others stay as they were printed last.
The status of a row is computed from what its command printed.  Exit 1 if a row FAILS; what is missing is
counted at the head of the page.
"""

from __future__ import annotations

import json
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
from dataclasses import asdict, dataclass
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent
ROWS, PAGE, PRINTED = (HOUSE / "docs" / f"coverage.{kind}" for kind in ("toml", "md", "json"))
_WORDS, _LONGEST, _SECONDS = 10, 160, 900  # words of a quote; letters of a result; a command's time
STATUSES = {
    "works": "the command printed what the statement says",
    "differs": "the command shows another result than the source's, or only a part of it; the row says how",
    "argued": "the output says that the result is argued and not checked by the kernel",
    "trained": "measured by training, beside a control; an observation, never a proof",
    "open": "neither shown nor refuted: the verdict is OPEN, or the measurements allow no statement",
    "missing": "nothing here shows it",
    "FAILS": "the command did not print what it must",
}
_ARGUED = r"argued\b.*\bnot checked(?! \(0\))"  # a table counts its argued cells, and (0) is none
_OPEN = r"^ *OPEN\b"
_OUTCOMES = "NOT LEARNED", "LEARNED", "no statement"  # in this order: the first is in the second
_TOOK = re.compile(r" in \d+\.\d+s\b.*")  # pytest's time, which is another one each time


@dataclass(frozen=True)
class Statement:
    """One row: where it stands, what it says, the command that shows it, what must be found in its output."""

    source: str
    place: str
    quote: str
    says: str
    run: str = ""
    shows: tuple[str, ...] = ()
    missing: str = ""  # what would show it: where there is no command
    differs: str = ""  # why the result is another one than the source's
    exit: int = 0

    def __post_init__(self) -> None:
        if len(self.quote.split()) > _WORDS:
            raise SystemExit(f"{self.place}: {self.quote!r} quotes more than {_WORDS} words")
        if not bool(self.run) == bool(self.shows) != bool(self.missing):
            raise SystemExit(f"{self.place}: {self.quote!r} has neither run and shows, nor missing alone")


@dataclass(frozen=True)
class Ran:
    """What a command printed, and the code that it ended with."""

    output: str
    code: int

    def found(self, pattern: str) -> str | None:
        """The line of the output in which the pattern is found."""
        match = re.search(pattern, self.output, re.MULTILINE)
        if match is None:
            return None
        start = self.output.rfind("\n", 0, match.start()) + 1
        return self.output[start:].partition("\n")[0].strip()


@dataclass(frozen=True)
class Row:
    """A statement and what its command gave."""

    of: Statement
    ran: Ran | None

    @property
    def lacks(self) -> list[str]:
        """What was expected and not found."""
        if not self.of.run:
            return []
        if self.ran is None:
            return ["not run yet"]
        code = [] if self.ran.code == self.of.exit else [f"exit {self.of.exit}: it was {self.ran.code}"]
        return [*code, *(pattern for pattern in self.of.shows if self.ran.found(pattern) is None)]

    @property
    def lines(self) -> list[str]:
        """The lines that were to be found, in the order of `shows`."""
        return [] if self.ran is None else list(filter(None, map(self.ran.found, self.of.shows)))

    @property
    def outcomes(self) -> Counter[str]:
        """How often the lines that were to be found say LEARNED, NOT LEARNED or no statement."""
        said = (next((word for word in _OUTCOMES if word in line), None) for line in self.lines)
        return Counter(word for word in said if word)

    @property
    def status(self) -> str:
        """A key of STATUSES, from the output alone but for `missing` (no command) and `differs`."""
        if self.lacks:
            return "FAILS"
        if self.ran is None:
            return "missing"
        if self.ran.found(_ARGUED):
            return "argued"
        if self.outcomes:
            return "trained" if set(self.outcomes) - {"no statement"} else "open"
        if self.ran.found(_OPEN):
            return "open"
        return "differs" if self.of.differs else "works"

    @property
    def said(self) -> str:
        """The status in words."""
        match self.status:
            case "FAILS":
                return "**FAILS**: no " + "; no ".join(map(repr, self.lacks))
            case "missing":
                return f"**missing**: {self.of.missing}"
            case "differs":
                return f"differs, because {self.of.differs}"
            case status:
                counts = (f"{count} {word}" for word, count in sorted(self.outcomes.items()))
                return ": ".join(filter(None, (status, ", ".join(counts), self.of.differs)))

    @property
    def complaint(self) -> str:
        """Which row fails, its command, and what it lacks."""
        return "\n    no ".join([f"FAILS: {self.of.place}: “{self.of.quote}”\n  {self.of.run}", *self.lacks])

    @property
    def result(self) -> str:
        """The last line that was to be found."""
        line = (self.lines or [""])[-1]
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
    output, code = "", 0
    for command in commands.split(" && "):
        one = _ran(command)
        output, code = output + one.output, one.code
        if code:
            break
    return Ran(output, code)


def _ran(command: str) -> Ran:
    """With the house's own programs."""
    name, *arguments = shlex.split(command)
    program = Path(sys.executable).parent / name
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    try:
        done = subprocess.run(
            [program, *arguments],
            cwd=HOUSE,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return Ran(f"not done after {_SECONDS} s", -1)
    errors = done.stderr if done.returncode else ""  # else it is progress, another one each time
    return Ran(_TOOK.sub("", done.stdout) + errors, done.returncode)


def all_ran(commands: Iterable[str]) -> dict[str, Ran]:
    """Each command once, one a core, with a line of progress for each."""
    once, results = list(dict.fromkeys(commands)), dict[str, Ran]()
    (HOUSE / "build" / "coverage").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        start, running = time.monotonic(), {pool.submit(ran, command): command for command in once}
        for i, done in enumerate(as_completed(running), 1):
            results[running[done]] = done.result()
            print(f"{i}/{len(once)}  after {time.monotonic() - start:3.0f} s  {running[done]}", flush=True)
    return results


def printed() -> dict[str, Ran]:
    """What each command printed when it was run last."""
    return {command: Ran(**one) for command, one in json.loads(PRINTED.read_text()).items()}


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _code(text: str) -> str:
    return f"`{_cell(text)}`" if text else "–"


def page(sources: dict[str, str], rows: list[Row]) -> str:
    """The page: how many of each status, then a table a source."""
    counts = Counter(row.status for row in rows)
    lines = [
        "# What the sources say, and what shows it here",
        "",
        f"{len(rows)} statements: {', '.join(f'{counts[status]} {status}' for status in STATUSES)}.",
        "",
        "Made by `make coverage` from [coverage.toml](coverage.toml): every command below was run, and the",
        "status is computed from what it printed. At most ten words of a source are quoted.",
        "",
        *(f"* **{status}**: {meaning}" for status, meaning in STATUSES.items()),
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


def main(words: list[str]) -> int:
    sources, asked = statements()
    chosen = [
        row
        for row in asked
        if not words or any(word in f"{row.place} {row.quote} {row.run}" for word in words)
    ]
    results = (printed() if words else {}) | all_ran(row.run for row in chosen if row.run)
    results = {row.run: results[row.run] for row in asked if row.run in results}
    PRINTED.write_text(
        json.dumps({run: asdict(one) for run, one in results.items()}, indent=1, ensure_ascii=False) + "\n"
    )
    rows = [Row(row, results.get(row.run)) for row in asked]
    PAGE.write_text(page(sources, rows))
    for row in rows:
        if row.lacks:
            print(row.complaint)
    print(f"{PAGE}: {len(rows)} statements, {dict(Counter(row.status for row in rows))}")
    return 1 if any(row.lacks for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
