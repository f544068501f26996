"""How far a long run has come, on standard error, while somebody is watching."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from limen.render.table import SIGN

if TYPE_CHECKING:
    from limen.core.verdict import Answer

_QUIET = 2.0  # seconds without a word


@contextmanager
def inputs_bar(watched: bool) -> Iterator[Callable[[int, int], None]]:
    """Told how many inputs were just run, and how many there are."""
    from rich.console import Console
    from rich.progress import Progress

    shown = watched and sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=not shown) as bar:
        inputs = bar.add_task("inputs", total=None)
        yield lambda more, total: bar.update(inputs, advance=more, total=total)


@contextmanager
def cells_bar(watched: bool) -> Iterator[Callable[[str, Answer, int, int], None]]:
    """Told which cell was just made, how many are done and how many there are; else a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    terminal = watched and sys.stderr.isatty()
    columns = TextColumn("{task.description:44}"), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not terminal) as bar:
        cells = bar.add_task("cells", total=None)

        def told(name: str, answer: Answer, done: int, total: int) -> None:
            bar.update(cells, completed=done, total=total, description=f"{name} {SIGN[answer]}")
            if watched and not terminal and done % 13 == 0:
                sys.stderr.write(f"{done}/{total} cells\n")

        yield told


def steps_line(watched: bool) -> Callable[[str], None]:
    """A function that prints a line on a terminal, at most one in two seconds."""
    start = spoke = time.monotonic()
    shown = watched and sys.stderr.isatty()  # a log, or a page of the docs, is the same on a slow machine

    def told(text: str) -> None:
        nonlocal spoke
        now = time.monotonic()
        if shown and now - spoke >= _QUIET:
            sys.stderr.write(f"{now - start:.0f} s: {text}\n")
            sys.stderr.flush()
            spoke = now

    return told
