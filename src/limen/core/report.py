"""The report of a command: plain data, the JSON that `--json` prints, and all that `render/` sees.

Each kind is a frozen Struct that stands beside the code that computes it; its tag is the schema's name.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from typing import Any

import msgspec

from limen.core.renderers import html, latex
from limen.files.printable import printable


class Result:
    """A line in a console, HTML in a notebook, JSON for scripts, LaTeX for papers."""

    @property
    @abstractmethod
    def headline(self) -> str:
        """The result in one line."""

    @property
    @abstractmethod
    def report(self) -> Report:
        """The result as plain data."""

    @property
    def exit_code(self) -> int:
        """What the command line ends with: 0 if the property holds, 1 if it fails."""
        return self.report.exit_code

    def to_json(self) -> str:
        """The result as JSON, as `--json` prints it."""
        try:
            return msgspec.json.encode(self.report).decode()
        except UnicodeEncodeError:  # half a character, in the name of a file: it can only be escaped
            return json.dumps(msgspec.to_builtins(self.report), separators=(",", ":"))

    def to_latex(self) -> str:
        """A table with booktabs; verdicts, bounds and tables have one."""
        return latex(self.report)

    def __repr__(self) -> str:
        return f"<{printable(self.headline)}>"

    def _repr_html_(self) -> str | None:
        return html(self.report)


class Report(Result, msgspec.Struct, frozen=True, kw_only=True, tag_field="schema"):
    """The base of all reports; their JSON begins with the name of the schema."""

    @property
    def report(self) -> Report:
        return self

    @property
    def holds(self) -> bool:
        """Whether the property in question holds; true where no property is in question."""
        return True

    @property
    def exit_code(self) -> int:
        return 0 if self.holds else 1


def schema(*kinds: type[Report]) -> dict[str, Any]:
    """The JSON Schema of a command's answer; a command that answers in several forms has all of them."""
    forms, components = msgspec.json.schema_components(kinds)
    which = forms[0] if len(forms) == 1 else {"anyOf": list(forms)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **which, "$defs": components}
