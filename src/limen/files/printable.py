"""Untrusted text made safe to print: data, never a command to the terminal."""

from __future__ import annotations

import json


def printable(text: str) -> str:
    """The text in one line: what is not printable is escaped.

    Control characters, separators of lines and marks of direction would forge lines, colours or order;
    halves of characters cannot be written at all.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def printable_json(text: str) -> str:
    """JSON in one line, the same to every reader: such characters stand in its strings alone."""
    return (
        text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)
    )
