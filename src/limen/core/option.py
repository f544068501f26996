"""What a parameter of a command says about itself beside its type and its default: plain data."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Option(NamedTuple):
    """The metadata in `Annotated[type, Option(…)]`: for the command line, Python, the schema and a page."""

    help: str
    flag: str = ""  # on the command line, where it is not --name: "--hard/--plain"
    short: str = ""  # one letter for it: "-v"
    old: str = ""  # the flag's old spelling, which still works and is not shown
    noun: str = ""  # what an error calls one of its words: "verdict"
    parse: Callable[[str], Any] | None = None  # reads a text as people write it: 128k, 24GiB
    complete: Callable[[str], Iterable[str]] | None = None  # words that may go on from an incomplete one
    least: float | None = None
    most: float | None = None
    line: str | None = None  # the default on the command line, written as people do
    own: bool = False  # a person's text may name file.py:Name, which is then run; never one from a page
    local: bool = False  # a file of this machine, or its processes: a page has no such field
    reads: bool = (
        False  # a text that may name a file; a page may only write it down, or send the object itself
    )
    shipped: Callable[[], tuple[str, ...]] | None = None  # a page may ask for these alone, which Limen brings
    each: bool = False  # the command line takes several, and asks for each by itself
    itself: bool = False  # what a file holds: a page sends the object itself


class Argument(Option):
    """A parameter that stands on the command line without a flag."""

    __slots__ = ()
