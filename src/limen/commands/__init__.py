"""What can be asked, one file a command; a folder is a group of commands.

A file whose name begins with an underscore is no command: it is what all of them are made with.  Other rooms
use what is named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limen.commands._found import find_schema, is_group, names

if TYPE_CHECKING:
    from limen.commands._line import CommandLine

__all__ = ["answered", "drawn", "find_schema", "is_group", "line", "names"]


def line() -> CommandLine:
    """The command line of all commands; click is loaded for it alone."""
    from limen.commands import _shells
    from limen.commands._line import CommandLine

    _shells.prepare()
    return CommandLine()


def answered(name: str, body: bytes) -> bytes:
    """The JSON that a command answers to a page's JSON."""
    from limen.commands import _page

    return _page.answered(name, body)


def drawn(name: str, body: bytes) -> bytes:
    """The same, with all that a page shows of it."""
    from limen.commands import _page

    return _page.drawn(name, body)
